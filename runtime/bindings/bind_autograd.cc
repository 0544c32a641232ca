// Autograd for Python: backward, modes, hooks, and functions with a gradient of their own.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "../src/autograd.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

// A Python object that C++ may drop from any thread.
std::shared_ptr<py::object> shared(py::object object) {
  return {new py::object(std::move(object)), [](py::object *held) {
            if (!Py_IsInitialized()) return;
            py::gil_scoped_acquire lock;
            delete held;
          }};
}

Hook python_hook(py::object function) {
  auto held = shared(std::move(function));
  return [held](const Tensor &gradient) {
    py::gil_scoped_acquire lock;
    return py::cast<Tensor>((*held)(gradient));
  };
}

void register_hook(const Tensor &tensor, py::object function) {
  if (!tensor.requires_grad())
    fail(DG_STATUS_INVALID_ARGUMENT, "a hook can only be put on a tensor that needs a gradient");
  AutogradMeta &meta = *tensor->autograd;
  if (meta.grad_fn)
    meta.grad_fn->output_hooks[size_t(meta.output_index)].push_back(python_hook(std::move(function)));
  else
    meta.hooks.push_back(python_hook(std::move(function)));
}

void retain_grad(const Tensor &tensor) {
  if (!tensor.requires_grad()) fail(DG_STATUS_INVALID_ARGUMENT, "retain_grad: the tensor needs no gradient");
  AutogradMeta &meta = *tensor->autograd;
  if (!meta.grad_fn) return;
  meta.retain_grad = true;
  meta.grad_fn->retained[size_t(meta.output_index)] = tensor.get();
}

// A node whose backward is a Python function of the output gradients.
class PythonNode : public Node {
 public:
  PythonNode(std::string name, py::object function) : name_(std::move(name)), function_(shared(std::move(function))) {}
  std::string name() const override { return name_; }
  std::vector<Tensor> apply(std::vector<Tensor> gradients) override {
    py::gil_scoped_acquire lock;
    py::object result = (*function_)(gradients);
    if (is_tensor(result.ptr()) || result.is_none()) result = py::make_tuple(result);
    auto found = result.cast<std::vector<Tensor>>();
    if (found.size() != edges.size())
      fail(DG_STATUS_INVALID_ARGUMENT, "%s: backward returned %zu gradients for %zu inputs", name_.c_str(),
           found.size(), edges.size());
    return found;
  }

 private:
  std::string name_;
  std::shared_ptr<py::object> function_;
};

void record_python(const std::string &name, const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs,
                   py::object backward_function) {
  if (!grad_enabled() || !any_requires_grad(inputs.data(), int(inputs.size()))) return;
  Ref<Node> node(new PythonNode(name, std::move(backward_function)));
  for (const Tensor &input : inputs) {
    node->edges.push_back(gradient_edge(input));
    node->input_metas.push_back(input.defined() ? TensorMeta{input.shape(), input.dtype(), &input.device()}
                                                : TensorMeta{});
  }
  set_history(node, outputs.data(), int(outputs.size()));
}

// `with _Recomputation(again):` around the first run of a call that saves nothing.
class PyRecomputation {
 public:
  explicit PyRecomputation(py::object again)
      : call_(std::make_shared<Recomputation>([function = shared(std::move(again))] {
          const py::gil_scoped_acquire lock;
          (*function)();
        })) {}
  void enter() { scope_ = std::make_unique<Recomputation::Scope>(*call_, false); }
  void exit(const py::args &) { scope_ = nullptr; }

 private:
  std::shared_ptr<Recomputation> call_;
  std::unique_ptr<Recomputation::Scope> scope_;
};

void bind_saved(py::module_ &module) {
  py::class_<SavedTensor>(module, "_SavedTensor", "A tensor kept for the backward pass.")
      .def(py::init([](const Tensor &tensor) { return SavedTensor(tensor, false); }))
      .def(
          "unpack", [](const SavedTensor &saved, const char *user) { return saved.unpack(user, nullptr, 0); },
          "The tensor; raises if it was written since. `user` is named by the error.");
  py::class_<PyRecomputation>(module, "_Recomputation")
      .def(py::init<py::object>())
      .def("__enter__", &PyRecomputation::enter)
      .def("__exit__", &PyRecomputation::exit);
}

}  // namespace

void bind_autograd(py::module_ &module) {
  bind_saved(module);
  module.def("is_grad_enabled", &grad_enabled);
  module.def("_set_grad_enabled", &set_grad_enabled);
  module.def("_backward", [](const std::vector<Tensor> &roots, std::vector<Tensor> gradients, bool retain_graph,
                             bool create_graph, const std::vector<Tensor> &inputs) {
    return backward(roots, std::move(gradients), retain_graph, create_graph, inputs);
  });
  module.def("_register_hook", &register_hook);
  module.def("_retain_grad", &retain_grad);
  module.def("_record_python", &record_python);
  module.def(
      "_grad_fn",
      [](const Tensor &tensor) -> py::object {
        if (!tensor->autograd || !tensor->autograd->grad_fn) return py::none();
        return py::str(tensor->autograd->grad_fn->name());
      },
      "The name of the call that made the tensor, or None for a leaf.");
}

}  // namespace dougong
