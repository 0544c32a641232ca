// What the hand-written Python slots share: the Tensor object, conversions, and errors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Python.h>
#include <pybind11/pybind11.h>

#include "../src/dispatch.h"
#include "../src/status.h"
#include "../src/tensor.h"

namespace dougong {

struct PyTensor {
  PyObject_HEAD
  TensorImpl *impl;  // owned
  PyObject *weakrefs;
};

extern PyTypeObject *tensor_type;

inline bool is_tensor(PyObject *object) { return PyObject_TypeCheck(object, tensor_type); }
inline Tensor as_tensor(PyObject *object) { return Tensor(reinterpret_cast<PyTensor *>(object)->impl); }
// A new reference to the one Python object of the tensor; None for an empty one.
PyObject *wrap(const Tensor &tensor);

// Conversions. They throw pybind11::error_already_set with a Python error that names `what`.
PyObject *dtype_to_python(dg_dtype_t dtype);  // new reference
dg_dtype_t dtype_from_python(PyObject *object, const char *what);
bool scalar_from_python(PyObject *object, Scalar *out);  // false if it is no number
int64_t integer_from_python(PyObject *object, const char *what);
// An integer or a sequence of integers, at most `limit`. Returns how many.
size_t integers_from_python(PyObject *object, int64_t *values, size_t limit, const char *what);
Shape shape_from_python(PyObject *object, const char *what);
// A shape given as one sequence or as several integers: f((2, 3)) and f(2, 3).
Shape shape_from_arguments(PyObject *const *arguments, Py_ssize_t count, const char *what);
PyObject *shape_to_python(const Shape &shape);
[[noreturn]] void raise_type_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Of bind_errors.cc.
void set_python_error(const Error &error);
// Of bind_jit.cc: throws, with the line of the program, while calls are tried out or recorded for dougong.jit.
void raise_refused_read(const char *what);
inline void refuse_read(const char *what) {
  if (reads_refused()) raise_refused_read(what);
}
// Of bind_device.cc.
Device &device_from_python(PyObject *object);
PyObject *device_to_python(Device &device);

// Runs a slot's body; a C++ exception becomes a Python error and `failed` is returned.
template <class Body>
auto guarded(Body body, decltype(body()) failed = {}) -> decltype(body()) {
  try {
    return body();
  } catch (const Error &error) {
    set_python_error(error);
  } catch (pybind11::error_already_set &error) {
    error.restore();
  } catch (const std::bad_alloc &) {
    PyErr_NoMemory();
  } catch (const std::exception &error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return failed;
}

void init_tensor_type(PyObject *module);
void init_op_functions(PyObject *module);
PyObject *tensor_getitem(PyObject *self, PyObject *key);
int tensor_setitem(PyObject *self, PyObject *key, PyObject *value);
PyObject *make_host_view(const Tensor &tensor);
void init_host_view(PyObject *module);

void bind_errors(pybind11::module_ &module);
void bind_device(pybind11::module_ &module);
void bind_tensor(pybind11::module_ &module);
void bind_autograd(pybind11::module_ &module);
void bind_dlpack(pybind11::module_ &module);
void bind_jit(pybind11::module_ &module);

}  // namespace dougong

namespace pybind11::detail {

template <>
struct type_caster<dougong::Tensor> {
  PYBIND11_TYPE_CASTER(dougong::Tensor, const_name("Tensor"));
  bool load(handle source, bool) {
    if (source.is_none()) return true;
    if (!dougong::is_tensor(source.ptr())) return false;
    value = dougong::as_tensor(source.ptr());
    return true;
  }
  static handle cast(const dougong::Tensor &tensor, return_value_policy, handle) { return dougong::wrap(tensor); }
};

}  // namespace pybind11::detail
