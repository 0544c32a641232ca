// Matrix products over BLAS.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <cstdint>

namespace dougong::cpu {

// DOUGONG_NUM_THREADS sets how many threads a call uses; the default is what OpenBLAS chooses, one a core.
// INVALID_ARGUMENT if it is not a positive number. Called once, by initialize.
dg_status_t configure_threads();
int32_t thread_count();

// A matrix in memory: element (i, j) is data[i * row + j * column].
template <class T>
struct Matrix {
  T *data;
  int64_t row, column;

  Matrix transposed() const { return {data, column, row}; }
};

// c = a b, or c += a b where `add` holds: a is m x k, b is k x n. No element of c is read unless `add` holds.
// Memory may be taken, so bad_alloc may be thrown, for operands without a unit stride.
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool add);
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool add);

}  // namespace dougong::cpu
