// The tape: every call with an input that needs a gradient leaves a node; `backward` walks the nodes in reverse.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "attribute_copy.h"
#include "dispatch.h"
#include "op.h"
#include "recompute.h"
#include "tensor.h"

namespace dougong {

class Node;

// Called with a gradient on its way; may return another one in its place, or an empty tensor to leave it.
using Hook = std::function<Tensor(const Tensor &)>;

// Where a gradient goes: input `index` of a node.
struct Edge {
  Ref<Node> node;
  int index = 0;
};

struct AutogradMeta {
  ~AutogradMeta();
  TensorImpl *owner = nullptr;
  bool requires_grad = false;
  bool retain_grad = false;
  int output_index = 0;
  Ref<Node> grad_fn;     // null for a leaf
  Ref<Node> accumulate;  // a leaf's sink, made on first use
  Tensor grad;
  std::vector<Hook> hooks;
  int64_t view_version = -1;  // of a view: the storage's version when it was made
};

// A tensor kept for the backward pass, with a check that nobody has written to it meanwhile. Within a call that is to
// be made again, the value is left out, and only its history is kept.
class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(const Tensor &tensor, bool is_output);
  // `owner` made it, if it is an output of that node; `user` is named by an error.
  Tensor unpack(const char *user, const Ref<Node> &owner, int output_index) const;
  void release() { tensor_ = Tensor(), slot_ = nullptr; }

 private:
  Tensor tensor_;
  uint64_t version_ = 0;
  bool is_output_ = false;
  std::shared_ptr<RecomputeSlot> slot_;  // in place of tensor_
  bool needs_gradient_ = false;          // of a value that was left out
  Ref<Node> made_by_;
  int output_index_ = 0;
};

struct TensorMeta {
  Shape shape;
  dg_dtype_t dtype = DG_DTYPE_NONE;
  Device *device = nullptr;
};

class Node : public RefCounted {
 public:
  Node();
  ~Node() override;
  // Gradients of the inputs from the gradients of the outputs; empty tensors for "none".
  virtual std::vector<Tensor> apply(std::vector<Tensor> gradients) = 0;
  virtual std::string name() const = 0;
  virtual void release_saved() {}

  std::vector<Edge> edges;              // one an input; a null node where no gradient is wanted
  std::vector<TensorMeta> input_metas;  // what the gradients must look like
  std::vector<TensorMeta> output_metas;
  std::vector<std::vector<Hook>> output_hooks;  // of tensors made by this node
  std::vector<TensorImpl *> retained;           // outputs that keep their gradient; not owned
  uint64_t sequence;                            // later nodes go first
};

// The node of an op call.
class OpNode : public Node {
 public:
  explicit OpNode(const OpDef &op) : op(op) {}
  std::vector<Tensor> apply(std::vector<Tensor> gradients) override;
  std::string name() const override { return op.name; }
  void release_saved() override;

  const OpDef &op;
  std::vector<SavedTensor> inputs, outputs;
  AttributeCopy attributes;
  int input_count = 0;
  bool released = false;
};

// What a generated gradient function sees.
class GradCall {
 public:
  GradCall(OpNode &node, std::vector<Tensor> &gradients) : node(node), gradients(gradients) {
    results.resize(size_t(node.input_count));
  }
  bool needs(int input) const { return bool(node.edges[size_t(input)].node); }
  Tensor input(int i) const { return node.inputs[size_t(i)].unpack(node.op.name, nullptr, 0); }
  Tensor output(int i) const { return node.outputs[size_t(i)].unpack(node.op.name, Ref<Node>(&node), i); }
  const TensorMeta &meta(int i) const { return node.input_metas[size_t(i)]; }
  Tensor gradient(int output) const;  // of an output; zeros if none came
  bool came(int output) const { return gradients[size_t(output)].defined(); }
  // Of an output that callers do not see: undefined if none came, as it is unless a gradient is differentiated.
  Tensor hidden_gradient(int output) {
    taken |= 1u << output;
    return gradients[size_t(output)];
  }
  void set(int input, const Tensor &gradient) { results[size_t(input)] = gradient; }
  template <class Attributes>
  const Attributes &attributes() const {
    return *static_cast<const Attributes *>(node.attributes.data());
  }

  OpNode &node;
  std::vector<Tensor> &gradients;
  std::vector<Tensor> results;
  unsigned taken = 0;  // the hidden outputs whose gradients were asked for
};

// A node for what is not an op of the table: views, copies between devices.
class FunctionNode : public Node {
 public:
  using Function = std::function<Tensor(const Tensor &)>;
  FunctionNode(std::string name, Function function) : name_(std::move(name)), function_(std::move(function)) {}
  std::vector<Tensor> apply(std::vector<Tensor> gradients) override {
    return {gradients[0].defined() ? function_(gradients[0]) : Tensor()};
  }
  std::string name() const override { return name_; }

 private:
  std::string name_;
  Function function_;
};

bool grad_enabled();
void set_grad_enabled(bool enabled);
class NoGrad {
 public:
  explicit NoGrad(bool enabled = false) : before_(grad_enabled()) { set_grad_enabled(enabled); }
  ~NoGrad() { set_grad_enabled(before_); }

 private:
  bool before_;
};

AutogradMeta &autograd_meta(const Tensor &tensor);  // made on first use
Edge gradient_edge(const Tensor &tensor);           // where the tensor's gradient goes; null node if it needs none
bool any_requires_grad(const Tensor *tensors, int count);

// Bits of the inputs whose values the gradient of such a call needs.
unsigned inputs_to_save(const OpDef &op, const Tensor *inputs, int input_count);
// Records an op call whose outputs are done. `attributes` is normalised. `values` are the inputs as they were before
// the call, which may have written to them.
void record_op(const OpDef &op, const Tensor *inputs, const Tensor *values, int input_count, const void *attributes,
               Tensor *outputs);
// Gives `output` a history of one input, if that one needs a gradient and the tape runs.
void record_function(const char *name, const Tensor &input, const Tensor &output, FunctionNode::Function backward);
// Makes `node` the history of outputs[i], as its output number i.
void set_history(const Ref<Node> &node, const Tensor *outputs, int count);
// Throws unless the tensor may be written in place now, by a call that leaves a history or not.
void check_in_place(const Tensor &tensor, const char *what, bool recorded);
// Tells everybody who saved the tensor that it was written.
void bump_version(const Tensor &tensor);

// Adds the gradients of the roots into the leaves' grad. With `inputs`, returns their gradients instead and leaves
// every grad as it is.
std::vector<Tensor> backward(const std::vector<Tensor> &roots, std::vector<Tensor> gradients, bool retain_graph,
                             bool create_graph, const std::vector<Tensor> &inputs = {});

}  // namespace dougong
