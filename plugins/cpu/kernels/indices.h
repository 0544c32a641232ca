// Tensors of indices: read in any layout, checked before anything is written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nest.h"
#include "scratch.h"
#include "strided.h"

namespace dougong::cpu {

// The indices as int64 in row-major order, negative ones counted from the end. Throws bad_alloc.
struct Indices {
  Scratch<int64_t> owned;
  const int64_t *data = nullptr;
  int64_t count;

  explicit Indices(const dg_tensor_t &index) : count(element_count(index)) {
    owned.allocate(count);
    load_tensor(owned.data(), index, false);
    if (index.dtype == DG_DTYPE_INT32) {
      // From the last to the first: the wide element lies where only later narrow ones lay.
      for (int64_t i = count; i-- > 0;) {
        int32_t narrow;
        std::memcpy(&narrow, reinterpret_cast<const char *>(owned.data()) + i * 4, sizeof narrow);
        owned[i] = narrow;
      }
    }
    data = owned.data();
  }

  // OUT_OF_RANGE unless -size <= index < size for all; then none is negative.
  dg_status_t normalise(int64_t size, const char *op) {
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = owned[i];
      if (index < -size || index >= size)
        return fail(DG_STATUS_OUT_OF_RANGE,
                    "%s: index %lld at position %lld (in row-major order) is outside the axis of size %lld; nothing "
                    "was written",
                    op, static_cast<long long>(index), static_cast<long long>(i), static_cast<long long>(size));
      owned[i] = index < 0 ? index + size : index;
    }
    return DG_STATUS_OK;
  }
};

// One element of `size` bytes; a bool becomes 0 or 1.
inline void move_item(char *to, const char *from, int64_t size, bool is_bool) {
  switch (size) {
    case 1:
      *to = is_bool ? char(*from != 0) : *from;
      break;
    case 2:
      std::memcpy(to, from, 2);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    default:
      std::memcpy(to, from, 8);
      break;
  }
}

// The loops of gather and scatter. `a` has the shape of the indices, `b` is indexed along `axis`.
struct IndexedNest {
  Nest<2> nest;
  int64_t axis_stride;  // bytes of b

  IndexedNest(const dg_tensor_t &a, const dg_tensor_t &b, int32_t axis) {
    int64_t size = item_size(a);
    for (int32_t i = 0; i < a.ndim; ++i)
      nest.add_axis(a.shape[i], {a.strides[i] * size, i == axis ? 0 : b.strides[i] * size});
    nest.finish();
    axis_stride = b.ndim > 0 && b.shape[axis] > 1 ? b.strides[axis] * size : 0;
  }

  // f(a element, b element) for each index, in row-major order.
  template <class F>
  void each(char *a, char *b, const int64_t *index, F &&f) const {
    auto [a_stride, b_stride] = nest.row_stride();
    nest.each_row({a, b}, [&, a_stride = a_stride, b_stride = b_stride](char *const(&pointer)[2]) {
      for (int64_t i = 0; i < nest.row_size(); ++i)
        f(pointer[0] + i * a_stride, pointer[1] + i * b_stride + *index++ * axis_stride);
    });
  }
};

}  // namespace dougong::cpu
