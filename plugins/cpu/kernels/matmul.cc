// SPDX-License-Identifier: Apache-2.0
#include "../gemm.h"
#include "nest.h"
#include "scratch.h"
#include "strided.h"

namespace dougong::cpu {

// Batches of matrices: the batch axes of the three tensors, broadcast, and the matrices below them.
struct Batches {
  int64_t m, n, k;
  Nest<3> nest;  // of y, a, b
  char *base[3];

  explicit Batches(const dg_kernel_call_t *call) {
    const dg_tensor_t &a = *call->inputs[0], &b = *call->inputs[1], &y = *call->outputs[0];
    m = y.shape[y.ndim - 2], n = y.shape[y.ndim - 1], k = a.shape[a.ndim - 1];
    for (int32_t axis = 0; axis < y.ndim - 2; ++axis) {
      int32_t from_end = y.ndim - axis;
      nest.add_axis(y.shape[axis],
                    {y.strides[axis] * item_size(y), batch_stride(a, from_end), batch_stride(b, from_end)});
    }
    nest.finish();
    base[0] = address(y), base[1] = address(a), base[2] = address(b);
  }

  // f(y, a, b) for each matrix.
  template <class F>
  void each(F &&f) const {
    nest.each_row(base, [&](char *const(&pointer)[3]) {
      for (int64_t i = 0; i < nest.row_size(); ++i)
        f(pointer[0] + i * nest.row_stride()[0], pointer[1] + i * nest.row_stride()[1],
          pointer[2] + i * nest.row_stride()[2]);
    });
  }

 private:
  static int64_t batch_stride(const dg_tensor_t &tensor, int32_t from_end) {
    int32_t axis = tensor.ndim - from_end;
    return axis < 0 || tensor.shape[axis] == 1 ? 0 : tensor.strides[axis] * item_size(tensor);
  }
};

// The last two axes at `data`.
template <class T>
static Matrix<T> matrix(const dg_tensor_t &tensor, char *data) {
  return {reinterpret_cast<T *>(data), tensor.strides[tensor.ndim - 2], tensor.strides[tensor.ndim - 1]};
}

template <class T>
static void multiply_integers(int64_t m, int64_t n, int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  using U = Wrapping<T>;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      U sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += U(a.data[i * a.row + p * a.column]) * U(b.data[p * b.row + j * b.column]);
      c.data[i * c.row + j * c.column] = T(sum);
    }
  }
}

template <class T>
static void multiply(const dg_kernel_call_t *call) {
  const dg_tensor_t &ta = *call->inputs[0], &tb = *call->inputs[1], &ty = *call->outputs[0];
  Batches batches(call);
  batches.each([&](char *y, char *a, char *b) {
    auto left = matrix<const T>(ta, a), right = matrix<const T>(tb, b);
    if constexpr (std::is_integral_v<T>)
      multiply_integers(batches.m, batches.n, batches.k, left, right, matrix<T>(ty, y));
    else
      gemm(batches.m, batches.n, batches.k, left, right, matrix<T>(ty, y), false);
  });
}

// 16-bit floats: the operands widened to float, products summed in float, the result rounded once.
static void multiply_halves(const dg_kernel_call_t *call) {
  Batches batches(call);
  int64_t m = batches.m, n = batches.n, k = batches.k;
  Scratch<float> a(m * k), b(k * n), y(m * n);
  auto plane = [](const dg_tensor_t &tensor, char *data) {
    dg_tensor_t matrix = tensor;
    matrix.data = data, matrix.byte_offset = 0, matrix.ndim = 2;
    matrix.shape += tensor.ndim - 2, matrix.strides += tensor.ndim - 2;
    return matrix;
  };
  const char *last_a = nullptr, *last_b = nullptr;
  batches.each([&](char *out, char *left, char *right) {
    if (left != last_a) load_tensor(a.data(), plane(*call->inputs[0], left), true);
    if (right != last_b) load_tensor(b.data(), plane(*call->inputs[1], right), true);
    last_a = left, last_b = right;
    gemm(m, n, k, Matrix<const float>{a.data(), k, 1}, Matrix<const float>{b.data(), n, 1},
         Matrix<float>{y.data(), n, 1}, false);
    store_tensor(plane(*call->outputs[0], out), y.data(), true);
  });
}

static dg_status_t matmul_launch(const dg_kernel_call_t *call) {
  switch (dtype_of(call->inputs[0]->dtype)) {
    case F32:
      multiply<float>(call);
      return DG_STATUS_OK;
    case F64:
      multiply<double>(call);
      return DG_STATUS_OK;
    case I32:
      multiply<int32_t>(call);
      return DG_STATUS_OK;
    case I64:
      multiply<int64_t>(call);
      return DG_STATUS_OK;
    case F16:
    case BF16:
      multiply_halves(call);
      return DG_STATUS_OK;
    default:
      return fail(DG_STATUS_UNSUPPORTED, "matmul does not allow dtype 0x%08x", call->inputs[0]->dtype);
  }
}

extern const dg_kernel_t dg_kernel_matmul = kernel(DG_OP_MATMUL, any_layout, guarded<matmul_launch>);

}  // namespace dougong::cpu
