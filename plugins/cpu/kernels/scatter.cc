// SPDX-License-Identifier: Apache-2.0
#include "dense.h"
#include "indices.h"

namespace dougong::cpu {

// Duplicates: the last in row-major order stays.
static void scatter_set(const dg_tensor_t &y, const dg_tensor_t &source, int32_t axis, const int64_t *index) {
  int64_t size = item_size(y);
  bool is_bool = y.dtype == DG_DTYPE_BOOL;
  IndexedNest(source, y, axis).each(address(source), address(y), index, [&](const char *from, char *to) {
    move_item(to, from, size, is_bool);
  });
}

// Duplicates are all added; bools are or-ed, integers wrap.
template <class T>
static void scatter_add(const dg_tensor_t &y, const dg_tensor_t &source, int32_t axis, const int64_t *index) {
  IndexedNest(source, y, axis).each(address(source), address(y), index, [&](const char *from, char *to) {
    T item, sum;
    std::memcpy(&item, from, sizeof item);
    std::memcpy(&sum, to, sizeof sum);
    if constexpr (std::is_same_v<T, Bool>)
      sum.byte = sum.byte != 0 || item.byte != 0;
    else if constexpr (std::is_integral_v<T>)
      sum = T(Wrapping<T>(sum) + Wrapping<T>(item));
    else
      sum += item;
    std::memcpy(to, &sum, sizeof sum);
  });
}

// 16-bit floats: sums are kept in float and rounded once.
static void scatter_add_halves(const dg_tensor_t &y, const dg_tensor_t &source, int32_t axis, const int64_t *index) {
  DenseInput<float> items(&source);
  DenseOutput<float> sums(y);
  load_tensor(sums.data(), y, true);
  auto dense = [](const dg_tensor_t &tensor, const float *data, int64_t *strides) {
    dg_tensor_t result = tensor;
    result.data = const_cast<float *>(data), result.byte_offset = 0, result.dtype = DG_DTYPE_FLOAT32;
    result.strides = strides;
    int64_t size = 1;
    for (int32_t i = tensor.ndim; i-- > 0; size *= tensor.shape[i]) strides[i] = size;
    return result;
  };
  int64_t y_strides[DG_MAX_NDIM], source_strides[DG_MAX_NDIM];
  scatter_add<float>(dense(y, sums.data(), y_strides), dense(source, items.data(), source_strides), axis, index);
  sums.finish();
}

static dg_status_t scatter_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_scatter_attributes_t>(call);
  const dg_tensor_t &x = *call->inputs[0], &source = *call->inputs[2], &y = *call->outputs[0];
  int32_t axis = int32_t(a.axis);
  Indices index(*call->inputs[1]);
  dg_status_t status = index.normalise(x.ndim > 0 ? x.shape[axis] : 1, "scatter");
  if (status != DG_STATUS_OK) return status;
  copy_tensor(y, x);
  if (a.reduce == DG_SCATTER_REDUCE_SET) {
    scatter_set(y, source, axis, index.data);
    return DG_STATUS_OK;
  }
  return with_dtype(dtype_of(y.dtype), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      scatter_add_halves(y, source, axis, index.data);
    else
      scatter_add<T>(y, source, axis, index.data);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_scatter = kernel(DG_OP_SCATTER, any_layout, guarded<scatter_launch>);

}  // namespace dougong::cpu
