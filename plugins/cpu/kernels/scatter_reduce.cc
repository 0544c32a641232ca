// SPDX-License-Identifier: Apache-2.0
#include "dense.h"
#include "indices.h"

namespace dougong::cpu {

// Whether a takes b's place: it is greater (or less), or NaN.
template <class T>
static bool wins(T a, T b, bool greatest) {
  if constexpr (std::is_same_v<T, Bool>) {
    return greatest ? a.byte > b.byte : a.byte < b.byte;
  } else {
    const auto x = value(a), y = value(b);
    return x != x || (greatest ? x > y : x < y);
  }
}

template <class T>
static void scatter_best(const dg_tensor_t &y, const dg_tensor_t &source, int32_t axis, const int64_t *index,
                         bool greatest) {
  IndexedNest(source, y, axis).each(address(source), address(y), index, [&](const char *from, char *to) {
    T item, best;
    std::memcpy(&item, from, sizeof item);
    std::memcpy(&best, to, sizeof best);
    if constexpr (std::is_same_v<T, Bool>) item.byte = item.byte != 0;
    if (wins(item, best, greatest)) std::memcpy(to, &item, sizeof item);
  });
}

static dg_status_t scatter_reduce_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_scatter_reduce_attributes_t>(call);
  const dg_tensor_t &x = *call->inputs[0], &source = *call->inputs[2], &y = *call->outputs[0];
  int32_t axis = int32_t(a.axis);
  Indices index(*call->inputs[1]);
  dg_status_t status = index.normalise(x.ndim > 0 ? x.shape[axis] : 1, "scatter_reduce");
  if (status != DG_STATUS_OK) return status;
  copy_tensor(y, x);
  return with_dtype(dtype_of(y.dtype), [&](auto type) {
    scatter_best<decltype(type)>(y, source, axis, index.data, a.reduce == DG_SCATTER_REDUCE_REDUCE_MAX);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_scatter_reduce =
    kernel(DG_OP_SCATTER_REDUCE, any_layout, guarded<scatter_reduce_launch>);

}  // namespace dougong::cpu
