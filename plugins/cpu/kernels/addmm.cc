// SPDX-License-Identifier: Apache-2.0
#include "../gemm.h"
#include "dense.h"

namespace dougong::cpu {

// A matrix where it lies, whatever its strides; 16-bit floats widened into dense memory.
template <class C>
struct Factor {
  Scratch<C> wide;
  Matrix<const C> matrix;

  explicit Factor(const dg_tensor_t &tensor)
      : matrix{reinterpret_cast<const C *>(address(tensor)), tensor.strides[0], tensor.strides[1]} {
    if (item_size(tensor) == int64_t(sizeof(C))) return;
    wide.allocate(element_count(tensor));
    load_tensor(wide.data(), tensor, true);
    matrix = {wide.data(), tensor.shape[1], 1};
  }
};

// `x`, which broadcasts to a matrix, times beta.
template <class C>
static void begin(C *y, int64_t m, int64_t n, const dg_tensor_t &x, const C *values, C beta) {
  int64_t width = x.ndim > 0 ? x.shape[x.ndim - 1] : 1, height = x.ndim > 1 ? x.shape[x.ndim - 2] : 1;
  int64_t column = width == 1 ? 0 : 1, row = height == 1 ? 0 : width;
  for (int64_t i = 0; i < m; ++i) {
    const C *from = values + i * row;
    C *to = y + i * n;
    for (int64_t j = 0; j < n; ++j) to[j] = beta * from[j * column];
  }
}

// y = a b + beta x, or the product by itself times alpha and then added: two roundings, whatever alpha is.
template <class C>
static void add_product(const dg_kernel_call_t *call, C beta, C alpha) {
  DenseInput<C> x(beta != 0 ? call->inputs[0] : nullptr);
  Factor<C> a(*call->inputs[1]), b(*call->inputs[2]);
  DenseOutput<C> y(*call->outputs[0]);
  int64_t m = call->outputs[0]->shape[0], n = call->outputs[0]->shape[1], k = call->inputs[1]->shape[1];
  Scratch<C> product(alpha == 1 ? 0 : m * n);
  if (x.data()) begin(y.data(), m, n, *call->inputs[0], x.data(), beta);
  if (alpha == 1) {
    gemm(m, n, k, a.matrix, b.matrix, Matrix<C>{y.data(), n, 1}, x.data() != nullptr);
  } else {
    if (alpha != 0) gemm(m, n, k, a.matrix, b.matrix, Matrix<C>{product.data(), n, 1}, false);
    for (int64_t i = 0; i < m * n; ++i) {
      C scaled = alpha != 0 ? alpha * product[i] : C(0);
      y.data()[i] = x.data() ? y.data()[i] + scaled : scaled;
    }
  }
  y.finish();
}

static dg_status_t addmm_launch(const dg_kernel_call_t *call) {
  const auto &a = attributes<dg_addmm_attributes_t>(call);
  return with_float(dtype_of(call->inputs[1]->dtype), [&](auto type) {
    using C = Compute<decltype(type)>;
    add_product<C>(call, C(a.beta), C(a.alpha));
    return DG_STATUS_OK;
  });
}

extern const dg_kernel_t dg_kernel_addmm = kernel(DG_OP_ADDMM, any_layout, guarded<addmm_launch>);

}  // namespace dougong::cpu
