// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"
#include "strided.h"

namespace dougong::cpu {

// NaN comes last.
template <class V>
static bool before(V a, V b) {
  return a < b || (b != b && a == a);
}

template <class T>
static int64_t place_of(const T *sequence, int64_t size, T item, bool right) {
  int64_t first = 0;
  while (size > 0) {
    int64_t half = size / 2;
    auto middle = value(sequence[first + half]), wanted = value(item);
    bool behind = right ? !before(wanted, middle) : before(middle, wanted);
    first = behind ? first + half + 1 : first;
    size = behind ? size - half - 1 : half;
  }
  return first;
}

template <class T>
static void search(const dg_tensor_t &sequence, const dg_tensor_t &values, int64_t *places, bool right) {
  int64_t count = element_count(values), size = sequence.shape[sequence.ndim - 1];
  Scratch<T> elements(element_count(sequence)), items(count);
  load_tensor(elements.data(), sequence, false);
  load_tensor(items.data(), values, false);
  int64_t row = sequence.ndim == 1 ? 0 : values.shape[values.ndim - 1];  // values of one sequence; 0: all of them
  for (int64_t i = 0; i < count; ++i)
    places[i] = place_of(elements.data() + (row ? i / row * size : 0), size, items[i], right);
}

static dg_status_t searchsorted_launch(const dg_kernel_call_t *call) {
  const dg_tensor_t &sequence = *call->inputs[0], &values = *call->inputs[1], &y = *call->outputs[0];
  Scratch<int64_t> places(element_count(y));
  const bool right = attributes<dg_searchsorted_attributes_t>(call).right != 0;
  return with_dtype(dtype_of(sequence.dtype), [&](auto type) {
    search<decltype(type)>(sequence, values, places.data(), right);
    store_tensor(y, places.data(), false);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_searchsorted = kernel(DG_OP_SEARCHSORTED, any_layout, guarded<searchsorted_launch>);

}  // namespace dougong::cpu
