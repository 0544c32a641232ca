// The Python type Tensor: its slots, and the methods that are called often. The rest is added by dougong/_tensor.py.
// SPDX-License-Identifier: Apache-2.0
#include <Python.h>
#include <structmember.h>

#include <cmath>

#include "../src/autograd.h"
#include "../src/fronts.h"
#include "../src/generated/ops.h"
#include "../src/recording.h"
#include "../src/shape_rules.h"
#include "../src/views.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

PyTypeObject *tensor_type;

namespace {

PyObject *new_object(PyTypeObject *type, const Tensor &tensor) {
  auto *self = reinterpret_cast<PyTensor *>(type->tp_alloc(type, 0));
  if (!self) return nullptr;
  self->impl = tensor.get();
  self->impl->retain();
  self->impl->python = self;
  return reinterpret_cast<PyObject *>(self);
}

// Tensor(other): an object of its own over the same memory, without history. For subclasses such as nn.Parameter.
PyObject *tensor_new(PyTypeObject *type, PyObject *arguments, PyObject *) {
  return guarded([&]() -> PyObject * {
    PyObject *other = PyTuple_GET_SIZE(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : nullptr;
    if (!other || !is_tensor(other))
      raise_type_error("%s takes a tensor; dougong.tensor(data) makes one", type->tp_name);
    return new_object(type, as_tensor(other).detach());
  });
}

int tensor_init(PyObject *, PyObject *, PyObject *) { return 0; }

void tensor_dealloc(PyObject *object) {
  auto *self = reinterpret_cast<PyTensor *>(object);
  PyTypeObject *type = Py_TYPE(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  self->impl->python = nullptr;
  self->impl->release();
  type->tp_free(object);
  Py_DECREF(type);
}

// ---- Operators ------------------------------------------------------------------------------------------------

bool read_operand(PyObject *object, Arg *arg) {
  if (is_tensor(object)) {
    arg->tensor = as_tensor(object);
    return true;
  }
  arg->is_scalar = true;
  if (scalar_from_python(object, &arg->scalar)) return true;
  if (py::hasattr(object, "__array_interface__"))
    raise_type_error("a tensor and a NumPy array do not mix; dougong.tensor(array) makes a tensor of it");
  return false;
}

PyObject *binary(OpId id, PyObject *a, PyObject *b) {
  return guarded([&]() -> PyObject * {
    Arg inputs[2];
    if (!read_operand(a, &inputs[0]) || !read_operand(b, &inputs[1])) Py_RETURN_NOTIMPLEMENTED;
    return wrap(call_op(op_def(id), inputs, 2, nullptr)[0]);
  });
}

PyObject *unary(OpId id, PyObject *a) {
  return guarded([&]() -> PyObject * {
    Arg inputs[] = {Arg(as_tensor(a))};
    return wrap(call_op(op_def(id), inputs, 1, nullptr)[0]);
  });
}

// a += b: the same memory, and the same Python object.
PyObject *in_place(OpId id, PyObject *a, PyObject *b) {
  return guarded([&]() -> PyObject * {
    Arg inputs[2];
    if (!read_operand(a, &inputs[0]) || !read_operand(b, &inputs[1])) Py_RETURN_NOTIMPLEMENTED;
    const Tensor out = inputs[0].tensor;
    call_op(op_def(id), inputs, 2, nullptr, nullptr, &out);
    Py_INCREF(a);
    return a;
  });
}

template <OpId id>
PyObject *binary_slot(PyObject *a, PyObject *b) {
  return binary(id, a, b);
}
template <OpId id>
PyObject *unary_slot(PyObject *a) {
  return unary(id, a);
}
template <OpId id>
PyObject *in_place_slot(PyObject *a, PyObject *b) {
  return in_place(id, a, b);
}

PyObject *power_slot(PyObject *a, PyObject *b, PyObject *modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary(OpId::pow, a, b);
}

PyObject *matmul_slot(PyObject *a, PyObject *b) {
  if (!is_tensor(a) || !is_tensor(b)) Py_RETURN_NOTIMPLEMENTED;
  return guarded([&]() -> PyObject * {
    Arg inputs[] = {Arg(as_tensor(a)), Arg(as_tensor(b))};
    return wrap(call_front(op_def(OpId::matmul), inputs, 2, nullptr)[0]);
  });
}

// Bits are those of integers and bools; what else comes is Python's TypeError.
bool has_bits(PyObject *object) {
  if (!is_tensor(object)) return PyLong_Check(object);
  const dg_dtype_t dtype = as_tensor(object).dtype();
  return dtype == DG_DTYPE_BOOL || (!is_floating(dtype) && !is_complex(dtype));
}

PyObject *invert_slot(PyObject *a) {
  if (has_bits(a)) return unary(OpId::bitwise_not, a);
  PyErr_SetString(PyExc_TypeError, "~ works on tensors of integers or bools only");
  return nullptr;
}

template <OpId id>
PyObject *bits_slot(PyObject *a, PyObject *b) {
  if (!has_bits(a) || !has_bits(b)) Py_RETURN_NOTIMPLEMENTED;
  return binary(id, a, b);
}
template <OpId id>
PyObject *in_place_bits_slot(PyObject *a, PyObject *b) {
  if (!has_bits(b)) Py_RETURN_NOTIMPLEMENTED;
  return in_place(id, a, b);
}

PyObject *positive_slot(PyObject *a) {
  Py_INCREF(a);
  return a;
}

PyObject *compare_slot(PyObject *a, PyObject *b, int operation) {
  static const OpId ids[] = {OpId::lt, OpId::le, OpId::eq, OpId::ne, OpId::gt, OpId::ge};
  return binary(ids[operation], a, b);
}

// ---- One element as a Python number ----------------------------------------------------------------------------

double half_to_double(uint16_t bits, int exponent, int mantissa) {
  const int e = bits >> mantissa & ((1 << exponent) - 1), fraction = bits & ((1 << mantissa) - 1);
  const int bias = (1 << (exponent - 1)) - 1;
  const double sign = bits >> 15 ? -1 : 1;
  if (e == (1 << exponent) - 1) return fraction ? NAN : sign * HUGE_VAL;
  if (e == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), e - bias - mantissa);
}

template <class T>
T load(const void *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

PyObject *number_to_python(const void *bytes, dg_dtype_t dtype) {
  switch (dtype) {
    case DG_DTYPE_BOOL:
      return PyBool_FromLong(load<uint8_t>(bytes));
    case DG_DTYPE_INT8:
      return PyLong_FromLong(load<int8_t>(bytes));
    case DG_DTYPE_INT16:
      return PyLong_FromLong(load<int16_t>(bytes));
    case DG_DTYPE_INT32:
      return PyLong_FromLong(load<int32_t>(bytes));
    case DG_DTYPE_INT64:
      return PyLong_FromLongLong(load<int64_t>(bytes));
    case DG_DTYPE_UINT8:
      return PyLong_FromLong(load<uint8_t>(bytes));
    case DG_DTYPE_UINT16:
      return PyLong_FromLong(load<uint16_t>(bytes));
    case DG_DTYPE_UINT32:
      return PyLong_FromUnsignedLong(load<uint32_t>(bytes));
    case DG_DTYPE_UINT64:
      return PyLong_FromUnsignedLongLong(load<uint64_t>(bytes));
    case DG_DTYPE_FLOAT16:
      return PyFloat_FromDouble(half_to_double(load<uint16_t>(bytes), 5, 10));
    case DG_DTYPE_BFLOAT16:
      return PyFloat_FromDouble(half_to_double(load<uint16_t>(bytes), 8, 7));
    case DG_DTYPE_FLOAT32:
      return PyFloat_FromDouble(load<float>(bytes));
    case DG_DTYPE_FLOAT64:
      return PyFloat_FromDouble(load<double>(bytes));
    default:
      fail(DG_STATUS_UNSUPPORTED, "item: dtype %s has no Python number", dtype_name(dtype).c_str());
  }
}

PyObject *item(const Tensor &tensor) {
  if (tensor.numel() != 1)
    fail(DG_STATUS_INVALID_ARGUMENT, "only a tensor of one element is a number; found shape %s",
         tensor.shape().text().c_str());
  refuse_read("the value of a tensor is read");
  unsigned char bytes[16];
  Device &device = tensor.device();
  {
    const Unlocked unlocked(!device.synchronous());
    device.copy_to_host(bytes, tensor->storage->handle, tensor.descriptor().byte_offset, dtype_size(tensor.dtype()),
                        device.current_stream());
  }
  return number_to_python(bytes, tensor.dtype());
}

PyObject *tensor_item(PyObject *self, PyObject *) {
  return guarded([&] { return item(as_tensor(self)); });
}

int tensor_bool(PyObject *self) {
  return guarded(
      [&] {
        const auto value = py::reinterpret_steal<py::object>(item(as_tensor(self)));
        return PyObject_IsTrue(value.ptr());
      },
      -1);
}

PyObject *tensor_float(PyObject *self) {
  return guarded([&] { return PyNumber_Float(py::reinterpret_steal<py::object>(item(as_tensor(self))).ptr()); });
}
PyObject *tensor_int(PyObject *self) {
  return guarded([&] { return PyNumber_Long(py::reinterpret_steal<py::object>(item(as_tensor(self))).ptr()); });
}
PyObject *tensor_index(PyObject *self) {
  return guarded([&]() -> PyObject * {
    const Tensor tensor = as_tensor(self);
    if (tensor.ndim() != 0 || is_floating(tensor.dtype()) || tensor.dtype() == DG_DTYPE_BOOL)
      raise_type_error("only an integer tensor without axes can be an index; found %s of shape %s",
                       dtype_name(tensor.dtype()).c_str(), tensor.shape().text().c_str());
    return item(tensor);
  });
}

Py_ssize_t tensor_length(PyObject *self) {
  return guarded(
      [&]() -> Py_ssize_t {
        const Tensor tensor = as_tensor(self);
        if (tensor.ndim() == 0) raise_type_error("a tensor without axes has no length");
        return tensor.size(0);
      },
      -1);
}

// ---- Properties and views --------------------------------------------------------------------------------------

PyObject *get_shape(PyObject *self, void *) {
  return guarded([&] { return shape_to_python(as_tensor(self).shape()); });
}
PyObject *get_strides(PyObject *self, void *) {
  return guarded([&] { return shape_to_python(as_tensor(self).strides()); });
}
PyObject *get_dtype(PyObject *self, void *) { return dtype_to_python(as_tensor(self).dtype()); }
PyObject *get_device(PyObject *self, void *) {
  return guarded([&] { return device_to_python(as_tensor(self).device()); });
}
PyObject *get_ndim(PyObject *self, void *) { return PyLong_FromLongLong(as_tensor(self).ndim()); }
PyObject *get_numel(PyObject *self, void *) { return PyLong_FromLongLong(as_tensor(self).numel()); }
PyObject *get_itemsize(PyObject *self, void *) {
  return PyLong_FromLongLong(int64_t(dtype_size(as_tensor(self).dtype())));
}
PyObject *get_nbytes(PyObject *self, void *) { return PyLong_FromLongLong(int64_t(as_tensor(self).nbytes())); }
PyObject *get_requires_grad(PyObject *self, void *) { return PyBool_FromLong(as_tensor(self).requires_grad()); }
int set_requires_grad(PyObject *self, PyObject *value, void *) {
  return guarded(
      [&] {
        const Tensor tensor = as_tensor(self);
        const bool wanted = value && PyObject_IsTrue(value) == 1;
        if (wanted && !is_differentiable(tensor.dtype()))
          fail(DG_STATUS_INVALID_ARGUMENT, "only floating-point tensors can need a gradient; found %s",
               dtype_name(tensor.dtype()).c_str());
        if (!wanted && tensor->autograd && tensor->autograd->grad_fn)
          fail(DG_STATUS_INVALID_ARGUMENT, "requires_grad can only be changed on a leaf; detach() gives one");
        if (wanted != tensor.requires_grad()) note_change(tensor);
        if (wanted || tensor->autograd) autograd_meta(tensor).requires_grad = wanted;
        return 0;
      },
      -1);
}
PyObject *get_is_leaf(PyObject *self, void *) {
  const Tensor tensor = as_tensor(self);
  return PyBool_FromLong(!tensor->autograd || !tensor->autograd->grad_fn);
}
PyObject *get_grad(PyObject *self, void *) {
  return guarded([&] {
    const Tensor tensor = as_tensor(self);
    if (Recorder *now = recorder()) now->note_grad(*tensor.get(), false);
    return wrap(tensor->autograd ? tensor->autograd->grad : Tensor());
  });
}
int set_grad(PyObject *self, PyObject *value, void *) {
  return guarded(
      [&] {
        const Tensor tensor = as_tensor(self);
        Tensor gradient;
        if (value && value != Py_None) {
          if (!is_tensor(value)) raise_type_error("grad must be a tensor or None; found %s", Py_TYPE(value)->tp_name);
          gradient = as_tensor(value);
          if (gradient.shape() != tensor.shape())
            fail(DG_STATUS_INVALID_ARGUMENT, "grad has shape %s, the tensor %s", gradient.shape().text().c_str(),
                 tensor.shape().text().c_str());
        }
        if (Recorder *now = recorder()) now->note_grad(*tensor.get(), true);
        if (gradient.defined() || tensor->autograd) autograd_meta(tensor).grad = gradient;
        return 0;
      },
      -1);
}
PyObject *get_transposed(PyObject *self, void *) {
  return guarded([&] {
    const Tensor tensor = as_tensor(self);
    Shape axes;
    for (int64_t i = tensor.ndim() - 1; i >= 0; --i) axes.push_back(i);
    return wrap(permute(tensor, axes));
  });
}
PyObject *get_matrix_transposed(PyObject *self, void *) {
  return guarded([&] { return wrap(transpose(as_tensor(self), -1, -2)); });
}

PyObject *method_reshape(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&] { return wrap(reshape(as_tensor(self), shape_from_arguments(arguments, count, "reshape"))); });
}
PyObject *method_view(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&] { return wrap(view(as_tensor(self), shape_from_arguments(arguments, count, "view"))); });
}
PyObject *method_permute(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&] { return wrap(permute(as_tensor(self), shape_from_arguments(arguments, count, "permute"))); });
}
PyObject *method_expand(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&] { return wrap(expand(as_tensor(self), shape_from_arguments(arguments, count, "expand"))); });
}
PyObject *method_transpose(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count != 2) raise_type_error("transpose takes two axes; found %zd arguments", count);
    return wrap(transpose(as_tensor(self), integer_from_python(arguments[0], "axis"),
                          integer_from_python(arguments[1], "axis")));
  });
}
PyObject *method_squeeze(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return guarded([&] {
    if (count == 0) return wrap(squeeze(as_tensor(self), IntList()));
    const Shape axes = shape_from_arguments(arguments, count, "squeeze");
    return wrap(squeeze(as_tensor(self), axes));
  });
}
PyObject *method_unsqueeze(PyObject *self, PyObject *axis) {
  return guarded([&] { return wrap(unsqueeze(as_tensor(self), integer_from_python(axis, "axis"))); });
}
PyObject *method_contiguous(PyObject *self, PyObject *) {
  return guarded([&] { return wrap(contiguous(as_tensor(self))); });
}
PyObject *method_is_contiguous(PyObject *self, PyObject *) { return PyBool_FromLong(as_tensor(self).is_contiguous()); }
PyObject *method_detach(PyObject *self, PyObject *) {
  return guarded([&] { return wrap(as_tensor(self).detach()); });
}
PyObject *method_clone(PyObject *self, PyObject *) {
  return guarded([&] { return wrap(ops::copy(as_tensor(self))); });
}
PyObject *method_numel(PyObject *self, PyObject *) { return get_numel(self, nullptr); }

PyGetSetDef getset[] = {
    {"shape", get_shape, nullptr, "The sizes of the axes, a tuple.", nullptr},
    {"strides", get_strides, nullptr, "Steps from element to element along each axis, in elements.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type.", nullptr},
    {"device", get_device, nullptr, "Where the memory is.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"size", get_numel, nullptr, "The number of elements.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes an element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether backward brings a gradient here.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether the tensor was made by hand, not by a recorded call.", nullptr},
    {"grad", get_grad, set_grad, "The sum of the gradients that backward brought, or None.", nullptr},
    {"T", get_transposed, nullptr, "A view with the axes in reverse order.", nullptr},
    {"mT", get_matrix_transposed, nullptr, "A view with the last two axes exchanged.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

template <class F>
PyCFunction as_function(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"item", tensor_item, METH_NOARGS, "The one element as a Python number."},
    {"numel", method_numel, METH_NOARGS, "The number of elements."},
    {"reshape", as_function(method_reshape), METH_FASTCALL,
     "The same elements in another shape; a view where the strides allow it."},
    {"view", as_function(method_view), METH_FASTCALL, "A view of another shape, or an error where that needs a copy."},
    {"permute", as_function(method_permute), METH_FASTCALL, "A view with the axes in another order."},
    {"expand", as_function(method_expand), METH_FASTCALL, "A view broadcast to a shape; -1 keeps a size."},
    {"transpose", as_function(method_transpose), METH_FASTCALL, "A view with two axes exchanged."},
    {"squeeze", as_function(method_squeeze), METH_FASTCALL, "A view without axes of size 1: all, or those named."},
    {"unsqueeze", method_unsqueeze, METH_O, "A view with an axis of size 1 put in."},
    {"contiguous", method_contiguous, METH_NOARGS, "The tensor itself if its memory is dense, else a dense copy."},
    {"is_contiguous", method_is_contiguous, METH_NOARGS, "Whether the memory is dense in row-major order."},
    {"detach", method_detach, METH_NOARGS, "The same memory without a history."},
    {"clone", method_clone, METH_NOARGS, "A dense copy; gradients flow through it."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weakrefs), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

template <class F>
PyType_Slot slot(int id, F function) {
  return {id, reinterpret_cast<void *>(function)};
}

}  // namespace

PyObject *wrap(const Tensor &tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  if (auto *known = static_cast<PyObject *>(tensor->python)) {
    Py_INCREF(known);
    return known;
  }
  PyObject *object = new_object(tensor_type, tensor);
  if (!object) throw py::error_already_set();
  return object;
}

void init_tensor_type(PyObject *module) {
  PyType_Slot slots[] = {slot(Py_tp_new, tensor_new),
                         slot(Py_tp_init, tensor_init),
                         slot(Py_tp_dealloc, tensor_dealloc),
                         slot(Py_tp_getset, getset),
                         slot(Py_tp_methods, methods),
                         slot(Py_tp_members, members),
                         slot(Py_tp_richcompare, compare_slot),
                         slot(Py_tp_hash, _Py_HashPointer),
                         slot(Py_mp_subscript, tensor_getitem),
                         slot(Py_mp_ass_subscript, tensor_setitem),
                         slot(Py_mp_length, tensor_length),
                         slot(Py_nb_add, binary_slot<OpId::add>),
                         slot(Py_nb_subtract, binary_slot<OpId::sub>),
                         slot(Py_nb_multiply, binary_slot<OpId::mul>),
                         slot(Py_nb_true_divide, binary_slot<OpId::div>),
                         slot(Py_nb_power, power_slot),
                         slot(Py_nb_matrix_multiply, matmul_slot),
                         slot(Py_nb_negative, unary_slot<OpId::neg>),
                         slot(Py_nb_absolute, unary_slot<OpId::abs>),
                         slot(Py_nb_positive, positive_slot),
                         slot(Py_nb_invert, invert_slot),
                         slot(Py_nb_and, bits_slot<OpId::bitwise_and>),
                         slot(Py_nb_or, bits_slot<OpId::bitwise_or>),
                         slot(Py_nb_xor, bits_slot<OpId::bitwise_xor>),
                         slot(Py_nb_lshift, bits_slot<OpId::left_shift>),
                         slot(Py_nb_rshift, bits_slot<OpId::right_shift>),
                         slot(Py_nb_floor_divide, binary_slot<OpId::floor_divide>),
                         slot(Py_nb_remainder, binary_slot<OpId::remainder>),
                         slot(Py_nb_inplace_add, in_place_slot<OpId::add>),
                         slot(Py_nb_inplace_subtract, in_place_slot<OpId::sub>),
                         slot(Py_nb_inplace_multiply, in_place_slot<OpId::mul>),
                         slot(Py_nb_inplace_true_divide, in_place_slot<OpId::div>),
                         slot(Py_nb_inplace_floor_divide, in_place_slot<OpId::floor_divide>),
                         slot(Py_nb_inplace_remainder, in_place_slot<OpId::remainder>),
                         slot(Py_nb_inplace_and, in_place_bits_slot<OpId::bitwise_and>),
                         slot(Py_nb_inplace_or, in_place_bits_slot<OpId::bitwise_or>),
                         slot(Py_nb_inplace_xor, in_place_bits_slot<OpId::bitwise_xor>),
                         slot(Py_nb_inplace_lshift, in_place_bits_slot<OpId::left_shift>),
                         slot(Py_nb_inplace_rshift, in_place_bits_slot<OpId::right_shift>),
                         slot(Py_nb_bool, tensor_bool),
                         slot(Py_nb_float, tensor_float),
                         slot(Py_nb_int, tensor_int),
                         slot(Py_nb_index, tensor_index),
                         {0, nullptr}};
  PyType_Spec spec = {"dougong.Tensor", sizeof(PyTensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  tensor_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  if (!tensor_type) throw py::error_already_set();
  PyModule_AddObject(module, "Tensor", reinterpret_cast<PyObject *>(tensor_type));
}

}  // namespace dougong
