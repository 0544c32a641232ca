// Convolution as matrix products, one a group and image: columns = im2col(x), y = weight * columns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../gemm.h"
#include "strided.h"

namespace dougong::cpu {

// The sizes of a convolution. x, weight and y stand for the tensors of these shapes, gradients included.
struct ConvShape {
  int64_t batch, channels, height, width;    // x
  int64_t out_channels, kernel_h, kernel_w;  // weight
  int64_t out_h, out_w;                      // y
  int64_t groups, stride[2], padding[2], dilation[2];

  template <class Attributes>
  ConvShape(const Attributes &a, const int64_t *x, const int64_t *weight, const int64_t *y)
      : batch(x[0]),
        channels(x[1]),
        height(x[2]),
        width(x[3]),
        out_channels(weight[0]),
        kernel_h(weight[2]),
        kernel_w(weight[3]),
        out_h(y[2]),
        out_w(y[3]),
        groups(a.groups),
        stride{a.stride[0], a.stride[1]},
        padding{a.padding[0], a.padding[1]},
        dilation{a.dilation[0], a.dilation[1]} {}

  int64_t group_channels() const { return channels / groups; }
  int64_t group_outputs() const { return out_channels / groups; }
  int64_t image() const { return height * width; }
  int64_t places() const { return out_h * out_w; }
  int64_t patch() const { return group_channels() * kernel_h * kernel_w; }  // rows of the columns
  // The image itself is the matrix of columns.
  bool pointwise() const {
    return kernel_h == 1 && kernel_w == 1 && stride[0] == 1 && stride[1] == 1 && padding[0] == 0 && padding[1] == 0;
  }
};

// Memory that is handed out piece by piece; with a null beginning it only counts.
class Arena {
 public:
  explicit Arena(char *begin = nullptr) : next_(reinterpret_cast<uintptr_t>(begin)), begin_(next_) {}
  template <class C>
  C *take(int64_t count) {
    C *piece = reinterpret_cast<C *>(next_);
    next_ += (uintptr_t(count) * sizeof(C) + 63) & ~uintptr_t(63);
    return piece;
  }
  uint64_t used() const { return next_ - begin_; }

 private:
  uintptr_t next_, begin_;
};

// A tensor as dense C: itself, or a copy in the arena.
template <class C>
struct ConvTensor {
  const dg_tensor_t &tensor;
  C *data;
  bool copied;

  ConvTensor(const dg_tensor_t &tensor, Arena &arena)
      : tensor(tensor), copied(item_size(tensor) != int64_t(sizeof(C)) || !is_dense(tensor)) {
    data = copied ? arena.take<C>(element_count(tensor)) : reinterpret_cast<C *>(address(tensor));
  }
  const C *read() const {
    if (copied) load_tensor(data, tensor, true);
    return data;
  }
  void write() const {
    if (copied) store_tensor(tensor, data, true);
  }
};

// The range of output places o for which 0 <= o * stride + shift < size.
struct Range {
  int64_t begin, end;
};
inline Range inside(int64_t size, int64_t count, int64_t stride, int64_t shift) {
  int64_t begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  int64_t end = size - 1 - shift < 0 ? 0 : (size - 1 - shift) / stride + 1;
  end = end < count ? end : count;
  return {begin < end ? begin : end, end};
}

// f(row of an image, row of columns, range, stride, shift): columns[o] belongs to image[o * stride + shift] for o in
// the range, and to padding elsewhere. A null image row is all padding.
template <class Image, class Columns, class F>
void each_patch_row(const ConvShape &s, Image *image, Columns *columns, F &&f) {
  for (int64_t c = 0; c < s.group_channels(); ++c) {
    for (int64_t i = 0; i < s.kernel_h; ++i) {
      for (int64_t j = 0; j < s.kernel_w; ++j) {
        int64_t shift_h = i * s.dilation[0] - s.padding[0], shift_w = j * s.dilation[1] - s.padding[1];
        Range rows = inside(s.height, s.out_h, s.stride[0], shift_h);
        Range range = inside(s.width, s.out_w, s.stride[1], shift_w);
        for (int64_t o = 0; o < s.out_h; ++o, columns += s.out_w) {
          bool padding = o < rows.begin || o >= rows.end;
          Image *row = padding ? nullptr : image + (c * s.height + o * s.stride[0] + shift_h) * s.width;
          f(row, columns, range, s.stride[1], shift_w);
        }
      }
    }
  }
}

// columns (patch, places) of one group of an image.
template <class C>
void im2col(const ConvShape &s, const C *image, C *columns) {
  each_patch_row(s, image, columns, [&](const C *row, C *out, Range range, int64_t stride, int64_t shift) {
    if (!row) range = {s.out_w, s.out_w};
    for (int64_t o = 0; o < range.begin; ++o) out[o] = C(0);
    if (stride == 1 && range.begin < range.end)
      std::memcpy(out + range.begin, row + range.begin + shift, size_t(range.end - range.begin) * sizeof(C));
    else
      for (int64_t o = range.begin; o < range.end; ++o) out[o] = row[o * stride + shift];
    for (int64_t o = range.end; o < s.out_w; ++o) out[o] = C(0);
  });
}

// Adds the columns back into the image.
template <class C>
void col2im(const ConvShape &s, const C *columns, C *image) {
  each_patch_row(s, image, columns, [&](C *row, const C *in, Range range, int64_t stride, int64_t shift) {
    if (!row) return;
    for (int64_t o = range.begin; o < range.end; ++o) row[o * stride + shift] += in[o];
  });
}

// The plan of a convolution: how much workspace Run<C>(call, arena) takes.
template <template <class> class Run>
dg_status_t conv_plan(const dg_kernel_call_t *call, uint64_t *out_workspace_size, void **out_plan) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    Arena arena;
    Run<Compute<decltype(type)>> run(call, arena);
    *out_workspace_size = arena.used();
    *out_plan = nullptr;
    return DG_STATUS_OK;
  });
}

template <template <class> class Run>
dg_status_t conv_launch(const dg_kernel_call_t *call) {
  return with_float(dtype_of(call->inputs[0]->dtype), [&](auto type) {
    Arena arena(static_cast<char *>(call->workspace) + call->workspace_offset);
    Run<Compute<decltype(type)>> run(call, arena);
    if (arena.used() > call->workspace_size)
      return fail(DG_STATUS_INVALID_ARGUMENT, "a convolution needs %llu bytes of workspace, as its plan said; got %llu",
                  static_cast<unsigned long long>(arena.used()), static_cast<unsigned long long>(call->workspace_size));
    run();
    return dg_status_t(DG_STATUS_OK);
  });
}

}  // namespace dougong::cpu
