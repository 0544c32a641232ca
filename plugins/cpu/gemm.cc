// SPDX-License-Identifier: Apache-2.0
#include "gemm.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "error.h"
#include "isa.h"
#include "kernels/scratch.h"
#include "kernels/simd.h"

// The C interface of BLAS in the names of the package scipy-openblas32; integers have 32 bits.
extern "C" {
enum { row_major = 101, no_transpose = 111, transpose = 112 };
void scipy_cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha, const float *a,
                       int lda, const float *b, int ldb, float beta, float *c, int ldc);
void scipy_cblas_dgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, double alpha, const double *a,
                       int lda, const double *b, int ldb, double beta, double *c, int ldc);
void scipy_openblas_set_num_threads(int count);
int scipy_openblas_get_num_threads(void);
}

namespace dougong::cpu {

// How many threads there are, and how many BLAS was last told to use.
static int32_t threads = 1;
static std::atomic<int32_t> threads_in_use{1};

dg_status_t configure_threads() {
  threads = scipy_openblas_get_num_threads();
  const char *text = std::getenv("DOUGONG_NUM_THREADS");
  if (text && *text) {
    char *end;
    errno = 0;
    long count = std::strtol(text, &end, 10);
    if (*end || errno || count < 1 || count > 4096)
      return fail(DG_STATUS_INVALID_ARGUMENT, "cpu: DOUGONG_NUM_THREADS must be a number from 1 to 4096, found '%.32s'",
                  text);
    threads = int32_t(count);
    scipy_openblas_set_num_threads(int(threads));
  }
  threads_in_use = threads;
  return DG_STATUS_OK;
}

int32_t thread_count() { return threads; }

namespace {

void blas(int ta, int tb, int m, int n, int k, const float *a, int lda, const float *b, int ldb, float beta, float *c,
          int ldc) {
  scipy_cblas_sgemm(row_major, ta, tb, m, n, k, 1.0f, a, lda, b, ldb, beta, c, ldc);
}
void blas(int ta, int tb, int m, int n, int k, const double *a, int lda, const double *b, int ldb, double beta,
          double *c, int ldc) {
  scipy_cblas_dgemm(row_major, ta, tb, m, n, k, 1.0, a, lda, b, ldb, beta, c, ldc);
}

// Waking threads costs more than a small product, and far more where other programs use the cores. The number is
// BLAS's own for the whole process, so two threads may take each other's; that changes the time, not the result.
void choose_threads(int64_t m, int64_t n, int64_t k) {
  constexpr double small = 1 << 24;
  int32_t wanted = double(m) * double(n) * double(k) < small ? 1 : threads;
  if (threads_in_use.load(std::memory_order_relaxed) == wanted) return;
  threads_in_use.store(wanted, std::memory_order_relaxed);
  scipy_openblas_set_num_threads(wanted);
}

// For sizes where BLAS would spend more time on preparing than on computing. Each element is summed in order of k.
template <class T>
void small_gemm(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool add) {
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T sum = add ? c.data[i * c.row + j * c.column] : T(0);
      const T *left = a.data + i * a.row, *right = b.data + j * b.column;
      for (int64_t p = 0; p < k; ++p) sum += left[p * a.column] * right[p * b.row];
      c.data[i * c.row + j * c.column] = sum;
    }
  }
}

template <class T>
void pack(Scratch<T> *packed, Matrix<const T> matrix, int64_t rows, int64_t columns) {
  packed->allocate(rows * columns);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) (*packed)[i * columns + j] = matrix.data[i * matrix.row + j * matrix.column];
  }
}

// c (1 x n) = a (1 x k) b: BLAS would sum all of k in one accumulator, whose error grows with k where the terms are
// alike. Here rows of b are added up in blocks, and columns of b are summed in lanes.
template <class T>
void row_times_rows(int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool add) {
  constexpr int64_t tile = 256, block = 64;
  alignas(64) T total[tile], partial[tile];
  for (int64_t first = 0; first < n; first += tile) {
    int64_t width = n - first < tile ? n - first : tile;
    for (int64_t j = 0; j < width; ++j) total[j] = add ? c.data[(first + j) * c.column] : T(0);
    for (int64_t p = 0; p < k; p += block) {
      int64_t end = p + block < k ? p + block : k;
      T *sum = partial, *into = total;
      vectorised([=] {
        for (int64_t j = 0; j < width; ++j) sum[j] = 0;
        for (int64_t q = p; q < end; ++q) {
          const T *row = b.data + q * b.row + first, factor = a.data[q * a.column];
          for (int64_t j = 0; j < width; ++j) sum[j] += factor * row[j];
        }
        for (int64_t j = 0; j < width; ++j) into[j] += sum[j];
      });
    }
    for (int64_t j = 0; j < width; ++j) c.data[(first + j) * c.column] = total[j];
  }
}

template <class T>
void row_times_columns(int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool add) {
  Scratch<T> packed;
  if (a.column != 1) pack(&packed, a, 1, k);
  const T *left = a.column != 1 ? packed.data() : a.data;
  for (int64_t j = 0; j < n; ++j) {
    const T *column = b.data + j * b.column;
    T *element = c.data + j * c.column;
    vectorised([=] {
      auto term = [=](int64_t p) { return left[p] * column[p]; };
      T sum = fold(k, T(0), term, [](T x, T y) { return x + y; });
      *element = add ? *element + sum : sum;
    });
  }
}

// A leading dimension for BLAS, or 0 if the matrix is neither row-major nor column-major as BLAS wants it.
template <class T>
int64_t leading(const Matrix<T> &matrix, int64_t rows, int64_t columns) {
  if (columns > 1 && matrix.column != 1) return 0;
  int64_t least = columns > 1 ? columns : 1;
  if (rows <= 1) return least;
  return matrix.row >= least && matrix.row <= INT_MAX ? matrix.row : 0;
}

template <class T>
void row_times_matrix(int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool add) {
  if (b.row == 1 && k > 1) return row_times_columns(n, k, a, b, c, add);
  if (b.column == 1 || n == 1) return row_times_rows(n, k, a, b, c, add);
  Scratch<T> packed;
  pack(&packed, b, k, n);
  row_times_rows(n, k, a, Matrix<const T>{packed.data(), n, 1}, c, add);
}

// An operand as BLAS takes it; packed where its strides do not allow that.
template <class T>
struct Operand {
  const T *data;
  int64_t ld;
  int transposed = no_transpose;
  Scratch<T> packed;

  Operand(Matrix<const T> matrix, int64_t rows, int64_t columns) : data(matrix.data) {
    if ((ld = leading(matrix, rows, columns))) return;
    if ((ld = leading(matrix.transposed(), columns, rows))) {
      transposed = transpose;
      return;
    }
    pack(&packed, matrix, rows, columns);
    data = packed.data();
    ld = columns;
  }
};

template <class T>
void packed_result(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool add);

template <class T>
void any_gemm(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool add) {
  constexpr int64_t limit = INT_MAX;
  constexpr double small = 64;
  if (m == 0 || n == 0) return;
  if (k == 0 || double(m) * double(n) * double(k) <= small || m > limit || n > limit || k > limit)
    return small_gemm(m, n, k, a, b, c, add);
  if (m == 1) return row_times_matrix(n, k, a, b, c, add);
  if (n == 1) return row_times_matrix(m, k, b.transposed(), a.transposed(), c.transposed(), add);
  int64_t ldc = leading(c, m, n);
  if (!ldc) {
    if (leading(c.transposed(), n, m)) return any_gemm(n, m, k, b.transposed(), a.transposed(), c.transposed(), add);
    return packed_result(m, n, k, a, b, c, add);
  }
  Operand<T> left(a, m, k), right(b, k, n);
  choose_threads(m, n, k);
  blas(left.transposed, right.transposed, int(m), int(n), int(k), left.data, int(left.ld), right.data, int(right.ld),
       add ? T(1) : T(0), c.data, int(ldc));
}

template <class T>
void packed_result(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c, bool add) {
  Scratch<T> result(m * n);
  any_gemm(m, n, k, a, b, Matrix<T>{result.data(), n, 1}, false);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      T &element = c.data[i * c.row + j * c.column];
      element = add ? element + result[i * n + j] : result[i * n + j];
    }
  }
}

}  // namespace

void gemm(int64_t m, int64_t n, int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c, bool add) {
  any_gemm(m, n, k, a, b, c, add);
}
void gemm(int64_t m, int64_t n, int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c, bool add) {
  any_gemm(m, n, k, a, b, c, add);
}

}  // namespace dougong::cpu
