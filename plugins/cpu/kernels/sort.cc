// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "nest.h"
#include "scratch.h"
#include "strided.h"

namespace dougong::cpu {

// Both orders put NaN where the greatest is.
template <class V>
static bool less(V a, V b) {
  return a < b || (b != b && a == a);
}

// Merges two runs, [0, middle) and [middle, size); of equal places the one of the first run comes first.
template <class Before>
static void merge(const int64_t *from, int64_t middle, int64_t size, int64_t *to, const Before &before) {
  int64_t left = 0, right = middle;
  while (left < middle && right < size) *to++ = before(from[right], from[left]) ? from[right++] : from[left++];
  while (left < middle) *to++ = from[left++];
  while (right < size) *to++ = from[right++];
}

// The places 0 to size - 1 so that none is before its neighbour on the left; equal ones keep their order. The standard
// library's function is not used: the plugin would export parts of it.
template <class Before>
static const int64_t *merge_sort(int64_t *order, int64_t *other, int64_t size, const Before &before) {
  for (int64_t i = 0; i < size; ++i) order[i] = i;
  for (int64_t run = 1; run < size; run *= 2) {
    for (int64_t first = 0; first < size; first += 2 * run) {
      int64_t rest = size - first, middle = run < rest ? run : rest;
      merge(order + first, middle, 2 * run < rest ? 2 * run : rest, other + first, before);
    }
    std::swap(order, other);
  }
  return order;
}

template <class C>
static const int64_t *sort_row(const C *row, int64_t *order, int64_t *other, int64_t size, bool descending) {
  if (descending)
    return merge_sort(order, other, size, [=](int64_t a, int64_t b) { return less(value(row[b]), value(row[a])); });
  return merge_sort(order, other, size, [=](int64_t a, int64_t b) { return less(value(row[a]), value(row[b])); });
}

// The loops over the axes but `axis` of the input and both outputs.
static Nest<3> other_axes(const dg_tensor_t *const (&tensor)[3], int64_t axis) {
  Nest<3> nest;
  for (int32_t i = 0; i < tensor[0]->ndim; ++i) {
    int64_t strides[3];
    for (int k = 0; k < 3; ++k) strides[k] = tensor[k]->strides[i] * item_size(*tensor[k]);
    if (i != axis) nest.add_axis(tensor[0]->shape[i], strides);
  }
  nest.finish();
  return nest;
}

template <class T>
static void sort_rows(const dg_tensor_t *const (&tensor)[3], int64_t axis, bool descending) {
  using C = Compute<T>;
  bool scalar = tensor[0]->ndim == 0;
  int64_t size = scalar ? 1 : tensor[0]->shape[axis], along[3];
  for (int k = 0; k < 3; ++k) along[k] = scalar ? 0 : tensor[k]->strides[axis] * item_size(*tensor[k]);
  Dtype dtype = dtype_of(tensor[0]->dtype);
  Scratch<C> row(size), sorted(size);
  Scratch<int64_t> order(size), other(size);
  Nest<3> nest = other_axes(tensor, axis);
  auto one = [&](char *x, char *values, char *indices) {
    load(row.data(), x, along[0], size, dtype, true);
    const int64_t *places = sort_row(row.data(), order.data(), other.data(), size, descending);
    for (int64_t i = 0; i < size; ++i) sorted[i] = Store<C>::from(value(row[places[i]]));
    store(values, along[1], sorted.data(), size, dtype, true);
    store(indices, along[2], places, size, I64, false);
  };
  nest.each_row({address(*tensor[0]), address(*tensor[1]), address(*tensor[2])}, [&](char *const(&pointer)[3]) {
    auto [x, values, indices] = nest.row_stride();
    for (int64_t i = 0; i < nest.row_size(); ++i)
      one(pointer[0] + i * x, pointer[1] + i * values, pointer[2] + i * indices);
  });
}

static dg_status_t sort_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_sort_attributes_t>(call);
  const dg_tensor_t *const tensor[3] = {call->inputs[0], call->outputs[0], call->outputs[1]};
  return with_dtype(dtype_of(tensor[0]->dtype), [&](auto type) {
    sort_rows<decltype(type)>(tensor, a.axis, a.descending != 0);
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_sort = kernel(DG_OP_SORT, any_layout, guarded<sort_launch>);

}  // namespace dougong::cpu
