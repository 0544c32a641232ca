// SPDX-License-Identifier: Apache-2.0
#include "autograd.h"

#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "gradients.h"
#include "profiler.h"
#include "recording.h"

namespace dougong {

namespace {

thread_local bool enabled = true;
std::atomic<uint64_t> next_sequence{0};

TensorMeta meta_of(const Tensor &tensor) {
  if (!tensor.defined()) return {};
  return {tensor.shape(), tensor.dtype(), &tensor.device()};
}

// The sink of a leaf: adds what arrives into its grad. It does not keep the leaf alive.
class AccumulateNode : public Node {
 public:
  explicit AccumulateNode(TensorImpl *leaf) : leaf(leaf) {
    sequence = UINT64_MAX;
    input_metas = {};
  }
  std::vector<Tensor> apply(std::vector<Tensor> gradients) override;
  std::string name() const override { return "accumulate"; }
  TensorImpl *leaf;  // null once the leaf is gone
};

std::vector<Tensor> AccumulateNode::apply(std::vector<Tensor> gradients) {
  if (!leaf || !gradients[0].defined()) return {};
  AutogradMeta &meta = *leaf->autograd;
  Tensor gradient = gradients[0];
  for (const Hook &hook : meta.hooks) {
    Tensor replaced = hook(gradient);
    if (replaced.defined()) gradient = replaced;
  }
  if (Recorder *now = recorder()) now->note_grad(*leaf, false);
  if (meta.grad.defined() && recorder() && !enabled && meta.grad.is_contiguous()) {
    Arg terms[] = {meta.grad, gradient};  // a replay finds it in the same memory
    call_op(op_def(OpId::add), terms, 2, nullptr, nullptr, &meta.grad);
  } else if (meta.grad.defined()) {
    meta.grad = meta.grad + gradient;
  } else {
    // Somebody else may hold the same tensor: a gradient of its own, unless nobody does.
    const bool own = gradient->use_count() == 2 && gradient->storage->use_count() == 1 && gradient.is_contiguous();
    meta.grad = own || enabled ? gradient : ops::copy(gradient);
  }
  return {};
}

}  // namespace

bool grad_enabled() { return enabled; }
void set_grad_enabled(bool value) { enabled = value; }

Node::Node() : sequence(next_sequence.fetch_add(1, std::memory_order_relaxed)) {}

// A long chain of nodes is taken apart in a loop: recursion would overflow the stack.
Node::~Node() {
  thread_local std::vector<Ref<Node>> *pending = nullptr;
  std::vector<Ref<Node>> mine;
  const bool outermost = pending == nullptr;
  if (outermost) pending = &mine;
  for (Edge &edge : edges)
    if (edge.node) pending->push_back(std::move(edge.node));
  if (!outermost) return;
  while (!mine.empty()) {
    Ref<Node> node = std::move(mine.back());
    mine.pop_back();
  }
  pending = nullptr;
}

AutogradMeta::~AutogradMeta() {
  if (accumulate) static_cast<AccumulateNode &>(*accumulate).leaf = nullptr;
  if (grad_fn && retain_grad && owner) {
    auto &kept = grad_fn->retained;
    for (TensorImpl *&impl : kept)
      if (impl == owner) impl = nullptr;
  }
}

AutogradMeta &autograd_meta(const Tensor &tensor) {
  if (!tensor->autograd) {
    tensor->autograd = std::make_unique<AutogradMeta>();
    tensor->autograd->owner = tensor.get();
  }
  return *tensor->autograd;
}

Edge gradient_edge(const Tensor &tensor) {
  if (!tensor.defined() || !tensor.requires_grad()) return {};
  AutogradMeta &meta = *tensor->autograd;
  if (meta.view_version >= 0 && tensor->storage->recorded_write.load() > meta.view_version)
    fail(
        DG_STATUS_INVALID_ARGUMENT,
        "a view was used after its base had been written in place with a gradient: its history is no longer true; take "
        "the view again, or clone it before the write");
  if (meta.grad_fn) return {meta.grad_fn, meta.output_index};
  if (!meta.accumulate) meta.accumulate = make_ref<AccumulateNode>(tensor.get());
  return {meta.accumulate, 0};
}

bool any_requires_grad(const Tensor *tensors, int count) {
  for (int i = 0; i < count; ++i)
    if (tensors[i].defined() && tensors[i]->autograd && tensors[i]->autograd->requires_grad) return true;
  return false;
}

SavedTensor::SavedTensor(const Tensor &tensor, bool is_output)
    : version_(tensor->storage->version.load()), is_output_(is_output) {
  Recomputation *call = Recomputation::current();
  const bool leaf = tensor.requires_grad() && !tensor->autograd->grad_fn;  // it is there anyway
  if (!call || (leaf && !is_output)) {
    tensor_ = is_output ? tensor.detach() : tensor;
    return;
  }
  slot_ = call->take(tensor);
  needs_gradient_ = !is_output && tensor.requires_grad();
  if (!needs_gradient_) return;
  made_by_ = tensor->autograd->grad_fn;
  output_index_ = tensor->autograd->output_index;
}

Tensor SavedTensor::unpack(const char *user, const Ref<Node> &owner, int output_index) const {
  if (!slot_ && !tensor_.defined()) return {};
  const Tensor value = slot_ ? slot_->call->value(*slot_) : tensor_;
  const uint64_t version = slot_ ? slot_->version : version_;
  if (value->storage->version.load() != version)
    fail(DG_STATUS_INVALID_ARGUMENT,
         "a tensor of shape %s that the gradient of %s needs was written in place after it had been used (%llu writes "
         "since); clone it before the write",
         value.shape().text().c_str(), user, (unsigned long long)(value->storage->version.load() - version));
  if (!enabled || !(is_output_ || needs_gradient_)) return slot_ ? value.detach() : value;
  Tensor result = value.detach();
  AutogradMeta &meta = autograd_meta(result);
  meta.requires_grad = true;
  meta.grad_fn = is_output_ ? owner : made_by_;
  meta.output_index = is_output_ ? output_index : output_index_;
  return result;
}

Tensor GradCall::gradient(int output) const {
  const Tensor &found = gradients[size_t(output)];
  return found.defined() ? found : ops::zeros_like(node.output_metas[size_t(output)]);
}

std::vector<Tensor> OpNode::apply(std::vector<Tensor> gradients) {
  if (!op.gradient)
    fail(DG_STATUS_UNIMPLEMENTED, "%s has no gradient: detach its inputs, or call it under no_grad", op.name);
  if (released)
    fail(DG_STATUS_INVALID_ARGUMENT,
         "backward through %s a second time: its saved values were freed; call the first backward with "
         "retain_graph=True",
         op.name);
  GradCall call(*this, gradients);
  op.gradient(call);
  for (int i = op.return_count; i < op.output_count; ++i)
    if (gradients[size_t(i)].defined() && !(call.taken >> i & 1))
      fail(DG_STATUS_UNIMPLEMENTED, "%s: the gradient of its gradient is not there: nothing is known of %s", op.name,
           op.outputs[i].name);
  return std::move(call.results);
}

void OpNode::release_saved() {
  inputs.clear(), outputs.clear();
  released = true;
}

void set_history(const Ref<Node> &node, const Tensor *outputs, int count) {
  node->output_metas.resize(size_t(count));
  node->output_hooks.resize(size_t(count));
  node->retained.resize(size_t(count), nullptr);
  for (int i = 0; i < count; ++i) {
    if (!outputs[i].defined()) continue;
    node->output_metas[size_t(i)] = meta_of(outputs[i]);
    if (!is_differentiable(outputs[i].dtype())) continue;
    AutogradMeta &meta = autograd_meta(outputs[i]);
    meta.requires_grad = true;
    meta.grad_fn = node;
    meta.output_index = i;
  }
}

static bool needs_gradient(const OpDef &op, const Tensor &input, int i) {
  return (!op.differentiable || op.differentiable[op.variadic ? 0 : i]) && input.defined() && input.requires_grad();
}

unsigned inputs_to_save(const OpDef &op, const Tensor *inputs, int input_count) {
  unsigned bits = 0;
  for (int i = 0; op.gradient && i < input_count; ++i)
    if (needs_gradient(op, inputs[i], i)) bits |= op.saves_inputs[op.variadic ? 0 : i];
  return bits;
}

static unsigned outputs_to_save(const OpDef &op, const OpNode &node) {
  unsigned bits = 0;
  for (int i = 0; op.gradient && i < node.input_count; ++i)
    if (node.edges[size_t(i)].node) bits |= op.saves_outputs[op.variadic ? 0 : i];
  return bits;
}

void record_op(const OpDef &op, const Tensor *inputs, const Tensor *values, int input_count, const void *attributes,
               Tensor *outputs) {
  auto node = make_ref<OpNode>(op);
  node->input_count = input_count;
  node->edges.resize(size_t(input_count));
  node->input_metas.resize(size_t(input_count));
  const unsigned save_inputs = inputs_to_save(op, inputs, input_count);
  for (int i = 0; i < input_count; ++i) {
    node->input_metas[size_t(i)] = meta_of(inputs[i]);
    if (needs_gradient(op, inputs[i], i)) node->edges[size_t(i)] = gradient_edge(inputs[i]);
  }
  node->attributes.assign(op, attributes);
  set_history(node, outputs, op.output_count);
  node->inputs.resize(size_t(input_count));
  node->outputs.resize(op.output_count);
  for (int i = 0; i < input_count; ++i)
    if ((save_inputs >> i & 1) && values[i].defined()) node->inputs[size_t(i)] = SavedTensor(values[i], false);
  const unsigned save_outputs = outputs_to_save(op, *node);
  for (int i = 0; i < op.output_count; ++i)
    if ((save_outputs >> i & 1) && outputs[i].defined()) node->outputs[size_t(i)] = SavedTensor(outputs[i], true);
}

void record_function(const char *name, const Tensor &input, const Tensor &output, FunctionNode::Function backward) {
  if (!enabled || !input.requires_grad()) return;
  Ref<Node> node(new FunctionNode(name, std::move(backward)));
  node->edges = {gradient_edge(input)};
  node->input_metas = {meta_of(input)};
  set_history(node, &output, 1);
}

void check_in_place(const Tensor &tensor, const char *what, bool recorded) {
  if (tensor->storage->read_only)
    fail(DG_STATUS_INVALID_ARGUMENT, "%s: the tensor's memory is read-only; clone it first", what);
  if (overlaps_itself(tensor.descriptor()))
    fail(DG_STATUS_INVALID_ARGUMENT,
         "%s: several elements of the tensor of shape %s, strides %s are the same memory; clone it first", what,
         tensor.shape().text().c_str(), tensor.strides().text().c_str());
  if (!enabled || !(recorded || tensor.requires_grad())) return;
  if (tensor.requires_grad() && !tensor->autograd->grad_fn)
    fail(DG_STATUS_INVALID_ARGUMENT,
         "%s: a leaf that needs a gradient may not be written in place; use no_grad, or detach() or clone() it", what);
  if (!(tensor->autograd ? tensor->autograd->view_version >= 0 : tensor->is_view)) return;
  if (!tensor->base || tensor->base->is_view || !tensor->base->contiguous)
    fail(DG_STATUS_UNIMPLEMENTED,
         "%s: writing into a view that was made under no_grad, or of a tensor that is not contiguous, is not recorded; "
         "write into a clone, or use where, cat or scatter",
         what);
  const TensorImpl &base = *tensor->base;
  if (base.autograd && base.autograd->requires_grad && !base.autograd->grad_fn)
    fail(DG_STATUS_INVALID_ARGUMENT,
         "%s: a view of a leaf that needs a gradient may not be written in place; use no_grad, or clone() the leaf",
         what);
}

void bump_version(const Tensor &tensor) { tensor->storage->version.fetch_add(1, std::memory_order_relaxed); }

// ---- The engine ------------------------------------------------------------------------------------------------

namespace {

struct Later {
  bool operator()(const Ref<Node> &a, const Ref<Node> &b) const { return a->sequence < b->sequence; }
};

class Engine {
 public:
  Engine(bool retain_graph, const std::vector<Tensor> &inputs) : retain_graph_(retain_graph) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Edge edge = gradient_edge(inputs[i]);
      if (!edge.node) fail(DG_STATUS_INVALID_ARGUMENT, "grad: input %zu does not need a gradient", i);
      wanted_[edge.node.get()].push_back({edge.index, i});
    }
    captured.resize(inputs.size());
    capture_only_ = !inputs.empty();
  }

  void add_root(const Tensor &root, const Tensor &gradient) {
    const Edge edge = gradient_edge(root);
    count_dependencies(edge.node);
    roots_.push_back(edge.node);
    deliver(edge, gradient);
  }

  void run() {
    std::priority_queue<Ref<Node>, std::vector<Ref<Node>>, Later> ready;
    std::unordered_set<Node *> queued;
    for (const Ref<Node> &root : roots_)
      if (dependencies_[root.get()] == 0 && queued.insert(root.get()).second) ready.push(root);
    while (!ready.empty()) {
      Ref<Node> node = ready.top();
      ready.pop();
      for (const Ref<Node> &next : step(node))
        if (queued.insert(next.get()).second) ready.push(next);
    }
  }

  std::vector<Tensor> captured;

 private:
  void count_dependencies(const Ref<Node> &root) {
    std::vector<Node *> stack;
    if (seen_.insert(root.get()).second) stack.push_back(root.get());
    while (!stack.empty()) {
      Node *node = stack.back();
      stack.pop_back();
      for (const Edge &edge : node->edges) {
        if (!edge.node) continue;
        ++dependencies_[edge.node.get()];
        if (seen_.insert(edge.node.get()).second) stack.push_back(edge.node.get());
      }
    }
  }

  void deliver(const Edge &edge, const Tensor &gradient) {
    auto &slots = buffers_[edge.node.get()];
    if (slots.empty()) slots.resize(std::max<size_t>(edge.node->output_metas.size(), 1));
    Tensor &slot = slots[size_t(edge.index)];
    slot = slot.defined() ? slot + gradient : gradient;
  }

  void run_hooks(Node &node, std::vector<Tensor> &gradients) {
    for (size_t i = 0; i < node.output_hooks.size() && i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      for (const Hook &hook : node.output_hooks[i]) {
        Tensor replaced = hook(gradients[i]);
        if (replaced.defined()) gradients[i] = replaced;
      }
      if (node.retained[i]) node.retained[i]->autograd->grad = gradients[i];
    }
  }

  // Runs one node, and returns the nodes that are ready now.
  std::vector<Ref<Node>> step(const Ref<Node> &node) {
    std::vector<Tensor> gradients = std::move(buffers_[node.get()]);
    buffers_.erase(node.get());
    if (gradients.empty()) gradients.resize(std::max<size_t>(node->output_metas.size(), 1));
    run_hooks(*node, gradients);
    const auto wanted = wanted_.find(node.get());
    if (wanted != wanted_.end())
      for (const auto &[index, position] : wanted->second) captured[position] = gradients[size_t(index)];
    const bool any = std::any_of(gradients.begin(), gradients.end(), [](const Tensor &t) { return t.defined(); });
    std::vector<Tensor> results;
    const bool sink = node->edges.empty();
    if (any && !(sink && capture_only_)) {
      const HostSpan span(SpanKind::backward, [&node] { return node->name() + " backward"; });
      results = node->apply(std::move(gradients));
    }
    if (!retain_graph_) node->release_saved();
    return pass_on(*node, results);
  }

  std::vector<Ref<Node>> pass_on(Node &node, std::vector<Tensor> &results) {
    std::vector<Ref<Node>> ready;
    for (size_t i = 0; i < node.edges.size(); ++i) {
      const Edge &edge = node.edges[i];
      if (!edge.node) continue;
      if (i < results.size() && results[i].defined()) deliver(edge, fit(results[i], node, i));
      if (--dependencies_[edge.node.get()] == 0) ready.push_back(edge.node);
    }
    return ready;
  }

  // A gradient has the shape, dtype and device of what it belongs to.
  static Tensor fit(const Tensor &gradient, const Node &node, size_t i) {
    const TensorMeta &meta = node.input_metas[i];
    Tensor result = gradient.shape() == meta.shape ? gradient : ops::sum_to(gradient, meta.shape);
    if (result.dtype() != meta.dtype) result = ops::cast(result, meta.dtype);
    return &result.device() == meta.device ? result : to_device(result, *meta.device);
  }

  bool retain_graph_, capture_only_ = false;
  std::vector<Ref<Node>> roots_;
  std::unordered_set<Node *> seen_;
  std::unordered_map<Node *, int> dependencies_;
  std::unordered_map<Node *, std::vector<Tensor>> buffers_;
  std::unordered_map<Node *, std::vector<std::pair<int, size_t>>> wanted_;
};

Tensor root_gradient(const Tensor &root, const Tensor &given) {
  if (!root.requires_grad())
    fail(DG_STATUS_INVALID_ARGUMENT, "backward: the tensor needs no gradient and has no history");
  if (given.defined()) {
    if (given.shape() != root.shape())
      fail(DG_STATUS_INVALID_ARGUMENT, "backward: the gradient has shape %s, the tensor %s",
           given.shape().text().c_str(), root.shape().text().c_str());
    return given;
  }
  if (root.numel() != 1)
    fail(DG_STATUS_INVALID_ARGUMENT,
         "backward: a gradient must be given for a tensor of shape %s; only a single element has 1 by itself",
         root.shape().text().c_str());
  return ops::full(root.shape(), Scalar(1), root.dtype(), root.device());
}

}  // namespace

std::vector<Tensor> backward(const std::vector<Tensor> &roots, std::vector<Tensor> gradients, bool retain_graph,
                             bool create_graph, const std::vector<Tensor> &inputs) {
  NoGrad mode(create_graph);
  if (Recorder *now = recorder()) now->note_backward();
  gradients.resize(roots.size());
  Engine engine(retain_graph, inputs);
  for (size_t i = 0; i < roots.size(); ++i) engine.add_root(roots[i], root_gradient(roots[i], gradients[i]));
  engine.run();
  return std::move(engine.captured);
}

}  // namespace dougong
