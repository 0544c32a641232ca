// SPDX-License-Identifier: Apache-2.0
#include "kernels/strided.h"

#include <utility>

#include "kernels/nest.h"
#include "kernels/scalar.h"

namespace dougong::cpu {
namespace {

template <class T>
void gather(T *destination, const char *source, int64_t stride, int64_t count) {
  if (stride == int64_t(sizeof(T))) {
    std::memcpy(destination, source, size_t(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(destination + i, source + i * stride, sizeof(T));
}

template <class T>
void scatter(char *destination, int64_t stride, const T *source, int64_t count) {
  if (stride == int64_t(sizeof(T))) {
    std::memcpy(destination, source, size_t(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(destination + i * stride, source + i, sizeof(T));
}

template <class T>
void widen_dense(float *destination, const T *source, int64_t count) {
  vectorised([=] {
    for (int64_t i = 0; i < count; ++i) destination[i] = value(source[i]);
  });
}

template <class T>
void narrow_dense(T *destination, const float *source, int64_t count) {
  vectorised([=] {
    for (int64_t i = 0; i < count; ++i) destination[i] = Store<T>::from(source[i]);
  });
}

template <class T>
void load_wide(float *destination, const char *source, int64_t stride, int64_t count) {
  if (stride == int64_t(sizeof(T))) return widen_dense(destination, reinterpret_cast<const T *>(source), count);
  T narrow[chunk_size];
  for (int64_t first = 0; first < count; first += chunk_size) {
    int64_t n = count - first < chunk_size ? count - first : chunk_size;
    gather(narrow, source + first * stride, stride, n);
    widen_dense(destination + first, narrow, n);
  }
}

template <class T>
void store_wide(char *destination, int64_t stride, const float *source, int64_t count) {
  if (stride == int64_t(sizeof(T))) return narrow_dense(reinterpret_cast<T *>(destination), source, count);
  T narrow[chunk_size];
  for (int64_t first = 0; first < count; first += chunk_size) {
    int64_t n = count - first < chunk_size ? count - first : chunk_size;
    narrow_dense(narrow, source + first, n);
    scatter(destination + first * stride, stride, narrow, n);
  }
}

}  // namespace

void load(void *destination, const char *source, int64_t stride, int64_t count, Dtype dtype, bool widen) {
  if (widen && dtype == F16) return load_wide<Half>(static_cast<float *>(destination), source, stride, count);
  if (widen && dtype == BF16) return load_wide<BFloat16>(static_cast<float *>(destination), source, stride, count);
  switch (item_sizes[dtype]) {
    case 1:
      return gather(static_cast<uint8_t *>(destination), source, stride, count);
    case 2:
      return gather(static_cast<uint16_t *>(destination), source, stride, count);
    case 4:
      return gather(static_cast<uint32_t *>(destination), source, stride, count);
    default:
      return gather(static_cast<uint64_t *>(destination), source, stride, count);
  }
}

void store(char *destination, int64_t stride, const void *source, int64_t count, Dtype dtype, bool widen) {
  if (widen && dtype == F16) return store_wide<Half>(destination, stride, static_cast<const float *>(source), count);
  if (widen && dtype == BF16)
    return store_wide<BFloat16>(destination, stride, static_cast<const float *>(source), count);
  switch (item_sizes[dtype]) {
    case 1:
      return scatter(destination, stride, static_cast<const uint8_t *>(source), count);
    case 2:
      return scatter(destination, stride, static_cast<const uint16_t *>(source), count);
    case 4:
      return scatter(destination, stride, static_cast<const uint32_t *>(source), count);
    default:
      return scatter(destination, stride, static_cast<const uint64_t *>(source), count);
  }
}

static Nest<1> nest_of(const dg_tensor_t &tensor) {
  Nest<1> nest;
  int64_t size = item_size(tensor);
  for (int32_t axis = 0; axis < tensor.ndim; ++axis) nest.add_axis(tensor.shape[axis], {tensor.strides[axis] * size});
  nest.finish();
  return nest;
}

void load_tensor(void *destination, const dg_tensor_t &source, bool widen) {
  Dtype dtype = dtype_of(source.dtype);
  Nest<1> nest = nest_of(source);
  int64_t row_bytes = nest.row_size() * (widen && is_half(dtype) ? 4 : item_sizes[dtype]);
  char *out = static_cast<char *>(destination);
  nest.each_row({address(source)}, [&](char *const(&pointer)[1]) {
    load(out, pointer[0], nest.row_stride()[0], nest.row_size(), dtype, widen);
    out += row_bytes;
  });
}

void store_tensor(const dg_tensor_t &destination, const void *source, bool widen) {
  Dtype dtype = dtype_of(destination.dtype);
  Nest<1> nest = nest_of(destination);
  int64_t row_bytes = nest.row_size() * (widen && is_half(dtype) ? 4 : item_sizes[dtype]);
  const char *in = static_cast<const char *>(source);
  nest.each_row({address(destination)}, [&](char *const(&pointer)[1]) {
    store(pointer[0], nest.row_stride()[0], in, nest.row_size(), dtype, widen);
    in += row_bytes;
  });
}

// Rows of a tile stay in the first-level cache while its columns are read.
template <class T>
static void copy_tiles(char *out, int64_t out_outer, const char *in, int64_t in_outer, int64_t in_inner, int64_t rows,
                       int64_t columns) {
  constexpr int64_t tile = 32;
  for (int64_t row = 0; row < rows; row += tile) {
    int64_t row_end = row + tile < rows ? row + tile : rows;
    for (int64_t column = 0; column < columns; column += tile) {
      int64_t column_end = column + tile < columns ? column + tile : columns;
      for (int64_t r = row; r < row_end; ++r) {
        T *destination = reinterpret_cast<T *>(out + r * out_outer);
        for (int64_t c = column; c < column_end; ++c)
          std::memcpy(destination + c, in + r * in_outer + c * in_inner, sizeof(T));
      }
    }
  }
}

// Makes an axis along which `out` is dense the innermost, so that writing goes in order.
static void put_dense_axis_last(Nest<2> *nest, int64_t size) {
  if (nest->ndim < 2 || nest->row_stride()[0] == size || nest->stride[nest->ndim - 2][0] != size) return;
  std::swap(nest->shape[nest->ndim - 2], nest->shape[nest->ndim - 1]);
  std::swap(nest->stride[nest->ndim - 2], nest->stride[nest->ndim - 1]);
}

template <class T>
static void copy_nest(const Nest<2> &nest, char *out, char *in, bool normalise) {
  bool transposed = nest.ndim >= 2 && !normalise && nest.row_stride()[0] == int64_t(sizeof(T)) &&
                    nest.stride[nest.ndim - 2][1] == int64_t(sizeof(T)) && nest.row_stride()[1] != int64_t(sizeof(T));
  if (transposed) {
    Nest<2> outer = nest;
    int64_t rows = nest.shape[nest.ndim - 2];
    outer.shape[nest.ndim - 2] = 1;
    outer.each_row({out, in}, [&](char *const(&pointer)[2]) {
      copy_tiles<T>(pointer[0], nest.stride[nest.ndim - 2][0], pointer[1], nest.stride[nest.ndim - 2][1],
                    nest.row_stride()[1], rows, nest.row_size());
    });
    return;
  }
  nest.each_row({out, in}, [&](char *const(&pointer)[2]) {
    auto [out_stride, in_stride] = nest.row_stride();
    bool dense = out_stride == int64_t(sizeof(T)) && in_stride == out_stride;
    if (dense && !normalise) {
      std::memmove(pointer[0], pointer[1], size_t(nest.row_size()) * sizeof(T));
      return;
    }
    for (int64_t i = 0; i < nest.row_size(); ++i) {
      T item;
      std::memcpy(&item, pointer[1] + i * in_stride, sizeof item);
      if (normalise) item = item != 0;
      std::memcpy(pointer[0] + i * out_stride, &item, sizeof item);
    }
  });
}

void copy_tensor(const dg_tensor_t &destination, const dg_tensor_t &source) {
  Nest<2> nest;
  int64_t size = item_size(source);
  for (int32_t axis = 0; axis < source.ndim; ++axis)
    nest.add_axis(source.shape[axis], {destination.strides[axis] * size, source.strides[axis] * size});
  nest.finish();
  put_dense_axis_last(&nest, size);
  char *out = address(destination), *in = address(source);
  switch (size) {
    case 1:
      return copy_nest<uint8_t>(nest, out, in, source.dtype == DG_DTYPE_BOOL);
    case 2:
      return copy_nest<uint16_t>(nest, out, in, false);
    case 4:
      return copy_nest<uint32_t>(nest, out, in, false);
    default:
      return copy_nest<uint64_t>(nest, out, in, false);
  }
}

template <class T>
static void fill_row(char *out, int64_t stride, int64_t count, const Element &element) {
  T item;
  std::memcpy(&item, element.bytes, sizeof item);
  if (stride == int64_t(sizeof(T))) {
    T *dense = reinterpret_cast<T *>(out);
    for (int64_t i = 0; i < count; ++i) dense[i] = item;
    return;
  }
  for (int64_t i = 0; i < count; ++i) std::memcpy(out + i * stride, &item, sizeof item);
}

void fill_tensor(const dg_tensor_t &destination, const dg_scalar_t &scalar) {
  Dtype dtype = dtype_of(destination.dtype);
  Element element = element_of(dtype, scalar);
  Nest<1> nest = nest_of(destination);
  int64_t stride = nest.row_stride()[0], count = nest.row_size();
  nest.each_row({address(destination)}, [&](char *const(&pointer)[1]) {
    switch (item_sizes[dtype]) {
      case 1:
        return fill_row<uint8_t>(pointer[0], stride, count, element);
      case 2:
        return fill_row<uint16_t>(pointer[0], stride, count, element);
      case 4:
        return fill_row<uint32_t>(pointer[0], stride, count, element);
      default:
        return fill_row<uint64_t>(pointer[0], stride, count, element);
    }
  });
}

}  // namespace dougong::cpu
