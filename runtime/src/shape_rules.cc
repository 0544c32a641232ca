// SPDX-License-Identifier: Apache-2.0
#include "shape_rules.h"

namespace dougong {

std::string describe_inputs(const OpDef &op, const OpCall &call) {
  std::string text;
  for (int i = 0; i < call.input_count; ++i) {
    if (!call.inputs[i].defined()) continue;
    const InputDef &input = op.inputs[op.variadic ? 0 : i];
    text += (text.empty() ? "" : ", ") + std::string(input.name) + (op.variadic ? "[" + std::to_string(i) + "]" : "") +
            " " + call.inputs[i].shape().text();
  }
  return text;
}

void reject(const OpDef &op, const OpCall &call, const std::string &wanted) {
  const std::string found = describe_inputs(op, call);
  fail(DG_STATUS_INVALID_ARGUMENT, "%s: %s%s%s", op.name, wanted.c_str(), found.empty() ? "" : "; found ",
       found.c_str());
}

static bool broadcast_onto(Shape &result, const Shape &other) {
  const auto shift = int64_t(result.size()) - int64_t(other.size());
  for (size_t i = 0; i < other.size(); ++i) {
    int64_t &n = result.data()[int64_t(i) + shift];
    const int64_t m = other.data()[i];
    if (n == m || m == 1) continue;
    if (n != 1) return false;
    n = m;
  }
  return true;
}

Shape broadcast(const Shape &a, const Shape &b) {
  Shape result = a.size() >= b.size() ? a : b;
  if (!broadcast_onto(result, a.size() >= b.size() ? b : a))
    fail(DG_STATUS_INVALID_ARGUMENT, "shapes %s and %s do not broadcast: an axis has two sizes and neither is 1",
         a.text().c_str(), b.text().c_str());
  return result;
}

bool broadcasts_to(const Shape &from, const Shape &to) {
  if (from.size() > to.size()) return false;
  Shape result = to;
  return broadcast_onto(result, from) && result == to;
}

namespace ops {

Shape reduced(const Shape &shape, IntList axes, bool keepdim) {
  Shape result;
  size_t next = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool gone = next < axes.size() && axes[next] == int64_t(i);
    if (gone) ++next;
    if (!gone || keepdim) result.push_back(gone ? 1 : shape.data()[i]);
  }
  return result;
}

bool not_empty(const Shape &shape, IntList axes) {
  return std::all_of(axes.begin(), axes.end(), [&](int64_t axis) { return shape[axis] > 0; });
}

Shape concatenated(const OpCall &call, int64_t axis) {
  Shape result = call.inputs[0].shape();
  for (int i = 1; i < call.input_count; ++i) {
    const Shape shape = call.inputs[i].shape();
    bool fits = shape.size() == result.size();
    for (size_t k = 0; fits && k < shape.size(); ++k) fits = int64_t(k) == axis || shape.data()[k] == result.data()[k];
    if (!fits)
      fail(DG_STATUS_INVALID_ARGUMENT, "cat: shapes must be equal but on axis %lld; found %s and %s", (long long)axis,
           call.inputs[0].shape().text().c_str(), shape.text().c_str());
    result[axis] += shape[axis];
  }
  return result;
}

bool gather_fits(const Shape &shape, const Shape &index, int64_t axis) {
  if (shape.size() != index.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (int64_t(i) != axis && index.data()[i] > shape.data()[i]) return false;
  return true;
}

bool pad_fits(const Shape &shape, IntList padding) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape.data()[i] + std::min<int64_t>(padding[2 * i], 0) + std::min<int64_t>(padding[2 * i + 1], 0) < 0)
      return false;
  return true;
}

Shape padded(const Shape &shape, IntList padding) {
  Shape result = shape;
  for (size_t i = 0; i < shape.size(); ++i) result.data()[i] += padding[2 * i] + padding[2 * i + 1];
  return result;
}

Shape matmul_shape(const Shape &a, const Shape &b) {
  Shape result = broadcast(leading(a, 2), leading(b, 2));
  result.push_back(a[-2]);
  result.push_back(b[-1]);
  return result;
}

bool bias_fits(const Tensor &bias, int64_t size) { return !bias.defined() || bias.shape() == Shape{size}; }

int64_t window_count(int64_t size, int64_t window, int64_t stride, int64_t padding, int64_t dilation) {
  return (size + 2 * padding - dilation * (window - 1) - 1) / stride + 1;
}

bool window_fits(const Shape &image, int64_t height, int64_t width, IntList stride, IntList padding, IntList dilation) {
  const int64_t window[] = {height, width};
  for (size_t i = 0; i < 2; ++i) {
    if (stride[i] < 1 || dilation[i] < 1 || padding[i] < 0 || window[i] < 1) return false;
    if (image[int64_t(i) + 2] + 2 * padding[i] < dilation[i] * (window[i] - 1) + 1) return false;
  }
  return true;
}

bool pool_padding_fits(IntList window, IntList padding) {
  for (size_t i = 0; i < window.size(); ++i)
    if (padding[i] * 2 > window[i]) return false;
  return true;
}

bool ends_with(const Shape &shape, const Tensor &tensor, int64_t axes) {
  return !tensor.defined() || tensor.shape() == trailing(shape, axes);
}

Shape joined(const Shape &a, const Shape &b) {
  Shape result = a;
  for (int64_t n : b) result.push_back(n);
  return result;
}

}  // namespace ops
}  // namespace dougong
