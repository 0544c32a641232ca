// x[...]: integers, slices, None and Ellipsis make views; a bool mask or integer tensors go through indexing.h.
// SPDX-License-Identifier: Apache-2.0
#include "../src/autograd.h"
#include "../src/generated/ops.h"
#include "../src/indexing.h"
#include "../src/shape_rules.h"
#include "../src/stream.h"
#include "../src/views.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

// Whether the part of an index makes a view. An array without axes is an index too, in NumPy's eyes, not a number.
bool is_view(PyObject *part) {
  if (PySlice_Check(part) || part == Py_None || part == Py_Ellipsis) return true;
  return PyLong_CheckExact(part) ||
         (PyIndex_Check(part) && !PyBool_Check(part) && !is_tensor(part) && !PySequence_Check(part));
}

Tensor sliced(const Tensor &tensor, int64_t axis, PyObject *part) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(part, &start, &stop, &step) < 0) throw py::error_already_set();
  const Py_ssize_t count = PySlice_AdjustIndices(tensor.size(axis), &start, &stop, step);
  if (start == 0 && count == tensor.size(axis) && step == 1) return tensor;
  return slice(tensor, axis, start, count, step);
}

// One walk through the parts of an index. Axes before `axis` are done.
class Indexer {
 public:
  explicit Indexer(const Tensor &tensor) : result(tensor) {}

  // False if the index holds something that is no view.
  bool apply(PyObject *key) {
    if (!PyTuple_Check(key)) return is_view(key) && (check_count(consumes(key)), part(key, 0), true);
    const Py_ssize_t count = PyTuple_GET_SIZE(key);
    int64_t used = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!is_view(PyTuple_GET_ITEM(key, i))) return false;
      used += consumes(PyTuple_GET_ITEM(key, i));
    }
    check_count(used);
    for (Py_ssize_t i = 0; i < count; ++i) part(PyTuple_GET_ITEM(key, i), used);
    return true;
  }

  Tensor result;

 private:
  static int64_t consumes(PyObject *part) { return part == Py_None || part == Py_Ellipsis ? 0 : 1; }

  void check_count(int64_t used) {
    if (used > result.ndim())
      fail(DG_STATUS_OUT_OF_RANGE, "%lld indices for a tensor of shape %s", (long long)used,
           result.shape().text().c_str());
  }

  void part(PyObject *part, int64_t used) {
    if (PySlice_Check(part)) return take_slice(part);
    if (part == Py_None) return void(result = unsqueeze(result, axis_++));
    if (part != Py_Ellipsis) return take_one(integer_from_python(part, "an index"));
    if (std::exchange(ellipsis_seen_, true)) fail(DG_STATUS_INVALID_ARGUMENT, "an index may hold one Ellipsis only");
    axis_ += original_.ndim() - used;
    source_axis_ += original_.ndim() - used;
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
    result = sliced(result, axis_++, part);
    ++source_axis_;
  }

  int64_t axis_ = 0;         // of the result
  int64_t source_axis_ = 0;  // of the tensor that is indexed
  bool ellipsis_seen_ = false;
  const Tensor original_ = result;
};

// What is no view in an index: a tensor, or a list, array or bool that becomes one.
Tensor index_tensor(PyObject *part, Device &device) {
  Tensor result;
  if (is_tensor(part)) {
    result = to_device(as_tensor(part), device);
  } else {
    const py::object convert = py::module_::import("dougong._indexing").attr("as_index");
    result = as_tensor(convert(py::handle(part), py::reinterpret_steal<py::object>(device_to_python(device))).ptr());
  }
  if (is_floating(result.dtype()) || is_complex(result.dtype()))
    fail(DG_STATUS_OUT_OF_RANGE, "a tensor of dtype %s is no index: integers and bools are",
         dtype_name(result.dtype()).c_str());
  const bool fits =
      result.dtype() == DG_DTYPE_BOOL || result.dtype() == DG_DTYPE_INT64 || result.dtype() == DG_DTYPE_INT32;
  return fits ? result : ops::cast(result, DG_DTYPE_INT64);
}

int64_t read_count(const Tensor &mask) {
  const NoGrad no_grad;
  Shape axes;
  for (int64_t axis = 0; axis < mask.ndim(); ++axis) axes.push_back(axis);
  const Tensor count = ops::count_nonzero(mask, axes, false);
  refuse_read("the number of elements under a mask is needed");
  int64_t value = 0;
  Device &device = count.device();
  const Unlocked unlocked;
  device.copy_to_host(&value, count->storage->handle, count.descriptor().byte_offset, sizeof value,
                      device.current_stream());
  return value;
}

// An index that holds tensors, part by part. Integers beside tensors count as tensors, as NumPy has it.
class AdvancedIndexer {
 public:
  AdvancedIndexer(const Tensor &tensor, PyObject *key) : original_(tensor) {
    index_.view = tensor;
    const bool many = PyTuple_Check(key);
    const Py_ssize_t count = many ? PyTuple_GET_SIZE(key) : 1;
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject *part = many ? PyTuple_GET_ITEM(key, i) : key;
      parts_.push_back({part, is_view(part) ? Tensor() : index_tensor(part, tensor.device())});
    }
  }

  AdvancedIndex run() {
    int64_t used = 0;
    for (const Part &part : parts_) used += part.axes();
    if (used > original_.ndim())
      fail(DG_STATUS_OUT_OF_RANGE, "%lld indices for a tensor of shape %s", (long long)used,
           original_.shape().text().c_str());
    bool ellipsis = false;
    for (const Part &part : parts_) {
      if (part.object == Py_Ellipsis && std::exchange(ellipsis, true))
        fail(DG_STATUS_INVALID_ARGUMENT, "an index may hold one Ellipsis only");
      take(part, original_.ndim() - used);
    }
    return index_;
  }

 private:
  struct Part {
    PyObject *object;
    Tensor tensor;
    bool mask() const { return tensor.defined() && tensor.dtype() == DG_DTYPE_BOOL; }
    int64_t axes() const { return object == Py_None || object == Py_Ellipsis ? 0 : mask() ? tensor.ndim() : 1; }
  };

  void take(const Part &part, int64_t left_out) {
    Tensor &view = index_.view;
    if (part.object == Py_None) {
      between(), view = unsqueeze(view, axis_++);
    } else if (part.object == Py_Ellipsis) {
      between(), axis_ += left_out;
    } else if (PySlice_Check(part.object)) {
      between(), view = sliced(view, axis_++, part.object);
    } else if (part.mask()) {
      take_mask(part.tensor);
    } else if (part.tensor.defined()) {
      check_range(part.tensor);
      add(part.tensor);
    } else {
      take_integer(integer_from_python(part.object, "an index"));
    }
  }

  void take_integer(int64_t number) {
    const int64_t size = index_.view.size(axis_);
    if (number < -size || number >= size)
      fail(DG_STATUS_OUT_OF_RANGE, "index %lld is out of range for an axis of size %lld of a tensor of shape %s",
           (long long)number, (long long)size, original_.shape().text().c_str());
    add(ops::full(Shape(), number, DG_DTYPE_INT64, original_.device()));
  }

  // Nothing could be picked from an axis without elements, and no kernel would see it where others are empty as well.
  void check_range(const Tensor &index) {
    if (index.numel() > 0 && index_.view.size(axis_) == 0)
      fail(DG_STATUS_OUT_OF_RANGE, "indices for an axis of size 0 of a tensor of shape %s",
           original_.shape().text().c_str());
  }

  // A mask stands for the indices of its true elements. One without axes is a mask of a new axis of size 1.
  void take_mask(const Tensor &mask) {
    for (int64_t i = 0; i < mask.ndim(); ++i)
      if (mask.size(i) != index_.view.size(axis_ + i))
        fail(DG_STATUS_OUT_OF_RANGE, "a mask of shape %s does not fit a tensor of shape %s",
             mask.shape().text().c_str(), original_.shape().text().c_str());
    const int64_t count = read_count(mask);
    if (mask.ndim() == 0) {
      index_.view = unsqueeze(index_.view, axis_);
      return add(ops::full(Shape{count}, 0, DG_DTYPE_INT64, original_.device()));
    }
    const Tensor places = ops::nonzero(mask, count);
    for (int64_t i = 0; i < mask.ndim(); ++i) add(select(places, 1, i));
  }

  void add(const Tensor &index) {
    if (state_ == after) index_.together = false;
    state_ = inside;
    index_.axes.push_back(axis_++);
    index_.indices.push_back(index);
  }

  void between() {
    if (state_ == inside) state_ = after;
  }

  const Tensor original_;
  std::vector<Part> parts_;
  AdvancedIndex index_;
  int64_t axis_ = 0;
  enum { before, inside, after } state_ = before;
};

// What is written: a tensor, a number, or what becomes a tensor.
Tensor written_value(PyObject *value, const Tensor &tensor) {
  if (is_tensor(value)) return as_tensor(value);
  Scalar scalar(0);
  if (scalar_from_python(value, &scalar)) return scalar_tensor(scalar, tensor.dtype(), tensor.device());
  const py::object convert = py::module_::import("dougong._indexing").attr("as_value");
  return as_tensor(
      convert(py::handle(value), py::reinterpret_steal<py::object>(device_to_python(tensor.device()))).ptr());
}

// The places, in row-major order, of what the index reads.
Tensor places_of(const Tensor &tensor, PyObject *key) {
  const NoGrad no_grad;
  const Tensor all = reshape(ops::arange(0, 1, tensor.numel(), DG_DTYPE_INT64, tensor.device()), tensor.shape());
  Indexer indexer(all);
  return indexer.apply(key) ? indexer.result : read_indexed(AdvancedIndexer(all, key).run());
}

// x[mask] = number needs no count of the mask.
bool is_full_mask(PyObject *key, const Tensor &tensor) {
  return is_tensor(key) && as_tensor(key).dtype() == DG_DTYPE_BOOL && as_tensor(key).ndim() > 0 &&
         as_tensor(key).shape() == tensor.shape();
}

void assign(const Tensor &tensor, PyObject *key, const Tensor &source) {
  const bool recorded = grad_enabled() && (tensor.requires_grad() || source.requires_grad());
  check_in_place(tensor, "x[...] = y", source.requires_grad());
  if (is_full_mask(key, tensor) && source.ndim() == 0) {
    const Tensor mask = to_device(as_tensor(key), tensor.device());
    Tensor value = to_device(source, tensor.device());
    if (value.dtype() != tensor.dtype()) value = ops::cast(value, tensor.dtype());
    const Tensor result = ops::where(mask, value, tensor);
    return recorded ? replace_in_place(tensor, result, "x[...] = y") : copy_into(tensor, result);
  }
  if (recorded) {
    const Tensor places = places_of(tensor, key);
    const Tensor result = with_places_written(tensor, places, source);
    return replace_in_place(tensor, result, "x[...] = y");
  }
  const NoGrad no_grad;
  Indexer indexer(tensor);
  if (indexer.apply(key)) return write_view(indexer.result, source);
  const AdvancedIndex index = AdvancedIndexer(tensor, key).run();
  write_indexed(index, source);
}

}  // namespace

PyObject *tensor_getitem(PyObject *self, PyObject *key) {
  return guarded([&] {
    const Tensor tensor = as_tensor(self);
    Indexer indexer(tensor);
    if (!indexer.apply(key)) return wrap(read_indexed(AdvancedIndexer(tensor, key).run()));
    // x[...] is a new tensor over the same memory, never x itself.
    return wrap(indexer.result == tensor && !tensor.requires_grad() ? tensor.detach() : indexer.result);
  });
}

int tensor_setitem(PyObject *self, PyObject *key, PyObject *value) {
  return guarded(
      [&] {
        if (!value) raise_type_error("elements of a tensor cannot be deleted");
        const Tensor tensor = as_tensor(self);
        assign(tensor, key, written_value(value, tensor));
        return 0;
      },
      -1);
}

}  // namespace dougong
