// SPDX-License-Identifier: Apache-2.0
#include <cstdarg>

#include "../src/op.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

void raise_type_error(const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  PyErr_SetString(PyExc_TypeError, text);
  throw py::error_already_set();
}

static PyObject *dtype_objects[dtype_count];

PyObject *dtype_to_python(dg_dtype_t dtype) {
  PyObject *object = dtype_objects[dtype_index(dtype)];
  Py_INCREF(object);
  return object;
}

dg_dtype_t dtype_from_python(PyObject *object, const char *what) {
  for (int i = 0; i < dtype_count; ++i)
    if (object == dtype_objects[i]) return dtype_table[i].dtype;
  if (object == reinterpret_cast<PyObject *>(&PyFloat_Type)) return DG_DTYPE_FLOAT32;
  if (object == reinterpret_cast<PyObject *>(&PyBool_Type)) return DG_DTYPE_BOOL;
  if (object == reinterpret_cast<PyObject *>(&PyLong_Type)) return DG_DTYPE_INT64;
  // A string, a NumPy dtype or a NumPy scalar type, by name.
  py::object text = py::isinstance<py::str>(object)   ? py::reinterpret_borrow<py::object>(object)
                    : py::hasattr(object, "name")     ? py::getattr(object, "name")
                    : py::hasattr(object, "__name__") ? py::getattr(object, "__name__")
                                                      : py::str(object);
  const std::string name = py::str(text);
  const dg_dtype_t dtype = dtype_from_name(name == "bool_" ? "bool" : name);
  if (dtype == DG_DTYPE_NONE)
    raise_type_error("%s: %s is not a dtype; take one such as dougong.float32", what, name.c_str());
  return dtype;
}

// Anything that Python takes for a number but that is no tensor: int, float, bool, complex, and NumPy's scalars.
bool scalar_from_python(PyObject *object, Scalar *out) {
  if (PyFloat_Check(object)) return *out = Scalar(PyFloat_AS_DOUBLE(object)), true;
  if (PyBool_Check(object)) return *out = Scalar(object == Py_True), true;
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow) {
      PyErr_SetString(PyExc_OverflowError, "an integer does not fit into 64 bits");
      throw py::error_already_set();
    }
    return *out = Scalar(int64_t(value)), true;
  }
  if (PyComplex_Check(object)) {
    const Py_complex value = PyComplex_AsCComplex(object);
    return *out = Scalar(dg_scalar_t{DG_SCALAR_COMPLEX, 0, 0, value.real, value.imag}), true;
  }
  if (is_tensor(object) || PySequence_Check(object) || !py::hasattr(object, "dtype") || !py::hasattr(object, "item"))
    return false;
  return scalar_from_python(py::getattr(object, "item")().ptr(), out);
}

int64_t integer_from_python(PyObject *object, const char *what) {
  py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(object));
  if (!index) {
    PyErr_Clear();
    raise_type_error("%s must be an integer; found %s", what, Py_TYPE(object)->tp_name);
  }
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return value;
}

size_t integers_from_python(PyObject *object, int64_t *values, size_t limit, const char *what) {
  if (PyLong_Check(object) || PyIndex_Check(object)) {
    values[0] = integer_from_python(object, what);
    return 1;
  }
  py::object fast = py::reinterpret_steal<py::object>(PySequence_Fast(object, ""));
  if (!fast) {
    PyErr_Clear();
    raise_type_error("%s must be an integer or a sequence of integers; found %s", what, Py_TYPE(object)->tp_name);
  }
  const auto count = size_t(PySequence_Fast_GET_SIZE(fast.ptr()));
  if (count > limit) fail(DG_STATUS_INVALID_ARGUMENT, "%s: %zu numbers are too many; at most %zu", what, count, limit);
  for (size_t i = 0; i < count; ++i)
    values[i] = integer_from_python(PySequence_Fast_GET_ITEM(fast.ptr(), Py_ssize_t(i)), what);
  return count;
}

Shape shape_from_python(PyObject *object, const char *what) {
  int64_t values[DG_MAX_NDIM];
  return {values, integers_from_python(object, values, DG_MAX_NDIM, what)};
}

Shape shape_from_arguments(PyObject *const *arguments, Py_ssize_t count, const char *what) {
  if (count == 1) return shape_from_python(arguments[0], what);
  Shape shape;
  for (Py_ssize_t i = 0; i < count; ++i) shape.push_back(integer_from_python(arguments[i], what));
  return shape;
}

PyObject *shape_to_python(const Shape &shape) {
  PyObject *tuple = PyTuple_New(Py_ssize_t(shape.size()));
  if (!tuple) throw py::error_already_set();
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(tuple, Py_ssize_t(i), PyLong_FromLongLong(shape.data()[i]));
  return tuple;
}

// Python's dougong.dtype: one object a dtype, equal only to itself.
struct PyDtype {
  dg_dtype_t dtype;
};

void bind_dtypes(py::module_ &module) {
  auto type =
      py::class_<PyDtype>(module, "dtype", "An element type, such as dougong.float32. There is one object of each.");
  type.def_property_readonly("name", [](const PyDtype &self) { return dtype_name(self.dtype); })
      .def_property_readonly(
          "itemsize", [](const PyDtype &self) { return dtype_size(self.dtype); }, "Bytes an element.")
      .def_property_readonly("is_floating_point", [](const PyDtype &self) { return is_floating(self.dtype); })
      .def_property_readonly("is_complex", [](const PyDtype &self) { return is_complex(self.dtype); })
      .def_property_readonly(
          "is_signed", [](const PyDtype &self) { return dtype_info(self.dtype).kind >= DtypeKind::signed_integer; })
      .def("__repr__", [](const PyDtype &self) { return "dougong." + dtype_name(self.dtype); })
      .def("__reduce__", [](const PyDtype &self) {
        return py::make_tuple(py::module_::import("dougong._core").attr("_dtype_from_name"),
                              py::make_tuple(dtype_name(self.dtype)));
      });
  for (int i = 0; i < dtype_count; ++i) {
    py::object object = py::cast(PyDtype{dtype_table[i].dtype});
    dtype_objects[i] = object.inc_ref().ptr();
    module.attr(i == 0 ? "bool_" : dtype_table[i].name) = object;
  }
  module.def("_dtype_from_name", [](const std::string &name) {
    return py::reinterpret_steal<py::object>(dtype_to_python(dtype_from_python(py::str(name).ptr(), "dtype")));
  });
  module.def("promote_types", [](py::object a, py::object b) {
    const dg_dtype_t both =
        promote(dtype_from_python(a.ptr(), "promote_types"), dtype_from_python(b.ptr(), "promote_types"));
    if (both == DG_DTYPE_NONE) fail(DG_STATUS_INVALID_ARGUMENT, "promote_types: these two have no common dtype");
    return py::reinterpret_steal<py::object>(dtype_to_python(both));
  });
}

}  // namespace dougong
