// x[...]: integers, slices, None and Ellipsis make views; a bool mask or integer tensors go through ops.
// SPDX-License-Identifier: Apache-2.0
#include "../src/autograd.h"
#include "../src/generated/ops.h"
#include "../src/shape_rules.h"
#include "../src/views.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

// One walk through the parts of an index. Axes before `axis` are done.
class Indexer {
 public:
  explicit Indexer(const Tensor &tensor) : result(tensor) {}

  // False if the index holds something that is no view.
  bool apply(PyObject *key) {
    if (!PyTuple_Check(key)) return consumes(key) <= result.ndim() ? part(key, 0) : too_many(1);
    const Py_ssize_t count = PyTuple_GET_SIZE(key);
    int64_t used = 0;
    for (Py_ssize_t i = 0; i < count; ++i) used += consumes(PyTuple_GET_ITEM(key, i));
    if (used > result.ndim()) return too_many(used);
    for (Py_ssize_t i = 0; i < count; ++i)
      if (!part(PyTuple_GET_ITEM(key, i), used)) return false;
    return true;
  }

  Tensor result;

 private:
  static int64_t consumes(PyObject *part) { return part == Py_None || part == Py_Ellipsis ? 0 : 1; }

  bool too_many(int64_t used) {
    fail(DG_STATUS_OUT_OF_RANGE, "%lld indices for a tensor of shape %s", (long long)used,
         result.shape().text().c_str());
  }

  bool part(PyObject *part, int64_t used) {
    if (PySlice_Check(part)) return take_slice(part), true;
    if (part == Py_None) return result = unsqueeze(result, axis_++), true;
    if (part == Py_Ellipsis) {
      if (std::exchange(ellipsis_seen_, true)) fail(DG_STATUS_INVALID_ARGUMENT, "an index may hold one Ellipsis only");
      axis_ += original_.ndim() - used;
      source_axis_ += original_.ndim() - used;
      return true;
    }
    if (PyBool_Check(part) || is_tensor(part) || !PyIndex_Check(part)) return false;
    take_one(integer_from_python(part, "an index"));
    return true;
  }

  void take_one(int64_t index) {
    const int64_t size = result.size(axis_);
    if (index < -size || index >= size)
      fail(DG_STATUS_OUT_OF_RANGE, "index %lld is out of range for axis %lld of a tensor of shape %s", (long long)index,
           (long long)source_axis_, original_.shape().text().c_str());
    result = select(result, axis_, index);
    ++source_axis_;
  }

  void take_slice(PyObject *part) {
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(part, &start, &stop, &step) < 0) throw py::error_already_set();
    const Py_ssize_t count = PySlice_AdjustIndices(result.size(axis_), &start, &stop, step);
    if (start != 0 || count != result.size(axis_) || step != 1) result = slice(result, axis_, start, count, step);
    ++axis_;
    ++source_axis_;
  }

  int64_t axis_ = 0;         // of the result
  int64_t source_axis_ = 0;  // of the tensor that is indexed
  bool ellipsis_seen_ = false;
  const Tensor original_ = result;
};

Tensor index_tensor(PyObject *key) {
  if (is_tensor(key)) return as_tensor(key);
  return {};
}

// x[index] with one integer tensor: rows of x, with the index's shape in place of the first axis.
Tensor take_rows(const Tensor &tensor, const Tensor &index) {
  if (tensor.ndim() == 0) fail(DG_STATUS_OUT_OF_RANGE, "a tensor without axes has no rows to index");
  const Shape row = ops::trailing(tensor.shape(), tensor.ndim() - 1);
  int64_t width = row.numel();
  const Tensor flat = reshape(tensor, Shape{tensor.size(0), width});
  return reshape(ops::embedding(flat, index), ops::joined(index.shape(), row));
}

[[noreturn]] void unsupported_index(PyObject *key) {
  fail(DG_STATUS_UNIMPLEMENTED,
       "an index of type %s is not supported yet: integers, slices, None, Ellipsis, and one integer tensor for the "
       "first axis are; gather, where and masked_fill do the rest",
       Py_TYPE(key)->tp_name);
}

}  // namespace

PyObject *tensor_getitem(PyObject *self, PyObject *key) {
  return guarded([&] {
    const Tensor tensor = as_tensor(self);
    Indexer indexer(tensor);
    if (indexer.apply(key)) {
      // x[...] is a new tensor over the same memory, never x itself.
      return wrap(indexer.result == tensor && !tensor.requires_grad() ? tensor.detach() : indexer.result);
    }
    const Tensor index = index_tensor(key);
    if (!index.defined() || is_floating(index.dtype()) || index.dtype() == DG_DTYPE_BOOL) unsupported_index(key);
    return wrap(take_rows(tensor, index));
  });
}

int tensor_setitem(PyObject *self, PyObject *key, PyObject *value) {
  return guarded(
      [&] {
        if (!value) raise_type_error("elements of a tensor cannot be deleted");
        const Tensor tensor = as_tensor(self);
        Tensor source;
        Scalar scalar(0);
        if (is_tensor(value))
          source = as_tensor(value);
        else if (scalar_from_python(value, &scalar))
          source = scalar_tensor(scalar, tensor.dtype(), tensor.device());
        else
          raise_type_error("a tensor or a number can be written to elements; found %s", Py_TYPE(value)->tp_name);
        Tensor target;
        {
          const NoGrad no_grad;
          Indexer indexer(tensor);
          if (indexer.apply(key)) target = indexer.result;
        }
        if (!target.defined()) {
          const Tensor mask = index_tensor(key);
          if (!mask.defined() || mask.dtype() != DG_DTYPE_BOOL || mask.shape() != tensor.shape())
            unsupported_index(key);
          check_in_place(tensor, "x[mask] = y", source.requires_grad());
          copy_into(tensor, ops::where(mask, source, tensor));
          return 0;
        }
        if (grad_enabled() && (tensor.requires_grad() || source.requires_grad()))
          fail(DG_STATUS_UNIMPLEMENTED,
               "x[...] = y with a gradient is not recorded; use where, cat or scatter, or no_grad");
        copy_into(target, source);
        return 0;
      },
      -1);
}

}  // namespace dougong
