// SPDX-License-Identifier: Apache-2.0
#include "fronts.h"

#include "generated/ops.h"
#include "shape_rules.h"
#include "views.h"

namespace dougong {

// A vector on the left is a row, on the right a column, and the axis that this adds is taken away again.
static Outputs matmul_front(const OpDef &op, Arg *inputs, const Tensor *out) {
  const Tensor a = inputs[0].tensor, b = inputs[1].tensor;
  if (!a.defined() || !b.defined()) fail(DG_STATUS_INVALID_ARGUMENT, "matmul: both operands must be tensors");
  if (a.ndim() == 0 || b.ndim() == 0)
    fail(DG_STATUS_INVALID_ARGUMENT, "matmul: both operands need at least one axis; found a %s, b %s",
         a.shape().text().c_str(), b.shape().text().c_str());
  const bool row = a.ndim() == 1, column = b.ndim() == 1;
  if (!row && !column) return call_op(op, inputs, 2, nullptr, nullptr, out);
  if (row) inputs[0] = Arg(unsqueeze(a, 0));
  if (column) inputs[1] = Arg(unsqueeze(b, 1));
  Outputs outputs = call_op(op, inputs, 2, nullptr);
  Shape gone;
  if (row) gone.push_back(-2 + int64_t(column));
  if (column) gone.push_back(-1);
  if (row && column) gone = Shape{-2, -1};
  outputs[0] = squeeze(outputs[0], gone);
  if (out && out[0].defined()) {
    copy_into(out[0], outputs[0]);
    outputs[0] = out[0];
  }
  return outputs;
}

// Without an axis: the index into the flattened tensor.
template <class Attributes>
static Outputs arg_best_front(const OpDef &op, Arg *inputs, const void *attributes, const Tensor *out) {
  auto at = *static_cast<const Attributes *>(attributes);
  const Tensor x = inputs[0].tensor;
  if (at.axis != no_axis || !x.defined()) return call_op(op, inputs, 1, attributes, nullptr, out);
  Shape ones;
  if (at.keepdim) ones.resize(size_t(x.ndim()), 1);
  at.axis = 0, at.keepdim = 0;
  inputs[0] = Arg(reshape(x, Shape{-1}));
  Outputs outputs = call_op(op, inputs, 1, &at, nullptr, out);
  outputs[0] = reshape(outputs[0], ones);
  return outputs;
}

Outputs call_front(const OpDef &op, Arg *inputs, int input_count, const void *attributes, const Tensor *out) {
  if (&op == &op_def(OpId::matmul) && input_count == 2) return matmul_front(op, inputs, out);
  if (&op == &op_def(OpId::argmax) && input_count == 1)
    return arg_best_front<dg_argmax_attributes_t>(op, inputs, attributes, out);
  if (&op == &op_def(OpId::argmin) && input_count == 1)
    return arg_best_front<dg_argmin_attributes_t>(op, inputs, attributes, out);
  return call_op(op, inputs, input_count, attributes, nullptr, out);
}

}  // namespace dougong
