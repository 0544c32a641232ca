// The greatest element of a row and the sum of exponentials below it: softmax, log_softmax, cross_entropy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.h"
#include "vector_math.h"

namespace dougong::cpu {

// The sum of exp(x[i] - greatest) in float64.
template <class C>
double sum_of_exps(const C *x, int64_t count, C greatest) {
  Chunk<C> exps;
  C *out = exps.items;
  double total, *result = &total;
  vectorised([=] {
    for (int64_t i = 0; i < count; ++i) out[i] = exp(x[i] - greatest);
    *result = sum_row(static_cast<const C *>(out), count);
  });
  return total;
}

template <class C>
struct RowStatistics {
  C greatest;
  double sum;  // of exp(x - greatest)
};

template <class T>
Compute<T> greatest_of(const AxisRow<T> &x, int64_t size) {
  using C = Compute<T>;
  Chunk<C> buffer;
  C greatest = Greatest::identity<C>(), *into = &greatest;
  each_chunk(size, [&](int64_t first, int64_t count) {
    const C *chunk = x.read(first, count, buffer.items);
    vectorised([=] {
      C best = best_of_row<Greatest>(chunk, count);
      *into = Greatest::better(best, *into) ? best : *into;
    });
  });
  return greatest;
}

template <class T>
RowStatistics<Compute<T>> row_statistics(const AxisRow<T> &x, int64_t size) {
  using C = Compute<T>;
  Chunk<C> buffer;
  const C greatest = greatest_of(x, size);
  double sum = 0;
  each_chunk(size, [&](int64_t first, int64_t count) {
    sum += sum_of_exps(x.read(first, count, buffer.items), count, greatest);
  });
  return {greatest, sum};
}

// Softmax of a row into dense memory: each exponential is computed once, and lies there until the sum is known.
template <class T>
void scaled_exps(const AxisRow<T> &y, const AxisRow<T> &x, int64_t size) {
  using C = Compute<T>;
  Chunk<C> in;
  const C greatest = greatest_of(x, size);
  double total = 0, *sum = &total;
  each_chunk(size, [&](int64_t first, int64_t count) {
    const C *from = x.read(first, count, in.items);
    C *to = y.place(first, in.items);
    vectorised([=] {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) to[i] = exp(from[i] - greatest);
      *sum += sum_row(static_cast<const C *>(to), count);
    });
  });
  C *row = y.place(0, nullptr);
  const C scale = C(1.0 / total);
  vectorised([=] {
    for (int64_t i = 0; i < size; ++i) row[i] *= scale;
  });
}

// y = f(x, greatest, sum) for each row: the launch of softmax and log_softmax.
template <template <class> class F, class Attributes>
dg_status_t softmax_launch(const dg_kernel_call_t *call) {
  int64_t axis = attributes<Attributes>(call).axis, size = row_length(call, axis);
  return with_float(dtype_of(call->outputs[0]->dtype), [&](auto type) {
    using T = decltype(type);
    using C = Compute<T>;
    each_axis_row<T, 2>(call, axis, [&](const AxisRow<T> &y, const AxisRow<T> &x) {
      Chunk<C> in, out;
      if constexpr (F<C>::scales_exps) {
        if (y.direct()) return scaled_exps(y, x, size);
      }
      RowStatistics<C> statistics = row_statistics(x, size);
      F<C> f(statistics);
      each_chunk(size, [&](int64_t first, int64_t count) {
        const C *from = x.read(first, count, in.items);
        C *to = y.place(first, out.items);
        vectorised([=] {
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) to[i] = f(from[i]);
        });
        y.written(first, count, to);
      });
    });
    return DG_STATUS_OK;
  });
}

// dx = f(dy, y, sum) for each row, where the sum is F's over the row: the launch of both gradients.
template <template <class> class F, class Attributes>
dg_status_t softmax_backward_launch(const dg_kernel_call_t *call) {
  int64_t axis = attributes<Attributes>(call).axis, size = row_length(call, axis);
  return with_float(dtype_of(call->outputs[0]->dtype), [&](auto type) {
    using T = decltype(type);
    using C = Compute<T>;
    each_axis_row<T, 3>(call, axis, [&](const AxisRow<T> &dx, const AxisRow<T> &dy, const AxisRow<T> &y) {
      Chunk<C> dy_buffer, y_buffer, out;
      double sum = 0, *total = &sum;
      each_chunk(size, [&](int64_t first, int64_t count) {
        const C *a = dy.read(first, count, dy_buffer.items), *b = y.read(first, count, y_buffer.items);
        vectorised([=] { *total += F<C>::sum(a, b, count); });
      });
      F<C> f{C(sum)};
      each_chunk(size, [&](int64_t first, int64_t count) {
        const C *a = dy.read(first, count, dy_buffer.items), *b = y.read(first, count, y_buffer.items);
        C *to = dx.place(first, out.items);
        vectorised([=] {
#pragma GCC ivdep
          for (int64_t i = 0; i < count; ++i) to[i] = f(a[i], b[i]);
        });
        dx.written(first, count, to);
      });
    });
    return DG_STATUS_OK;
  });
}

}  // namespace dougong::cpu
