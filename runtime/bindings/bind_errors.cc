// One Python exception class a status. The classes are Python: dougong/_errors.py.
// SPDX-License-Identifier: Apache-2.0
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

// Class by status; owned, and kept to the end.
static PyObject *classes[DG_STATUS_INTERNAL + 1];

static PyObject *class_of(dg_status_t status) {
  PyObject *found = status_is_known(status) ? classes[status] : nullptr;
  return found ? found : classes[DG_STATUS_INTERNAL];
}

void set_python_error(const Error &error) {
  PyObject *type = class_of(error.status);
  const char *text = error.what();
  PyObject *message = PyUnicode_DecodeUTF8(text, Py_ssize_t(std::strlen(text)), "backslashreplace");
  if (!message) return;
  PyErr_SetObject(type ? type : PyExc_RuntimeError, message);
  Py_DECREF(message);
}

void bind_errors(py::module_ &module) {
  const py::module_ errors = py::module_::import("dougong._errors");
  for (const py::handle type : errors.attr("CLASSES")) {
    classes[py::cast<int>(type.attr("status"))] = type.inc_ref().ptr();
    module.attr(type.attr("__name__").cast<std::string>().c_str()) = type;
  }
  module.attr("DougongError") = errors.attr("DougongError");
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error &error) {
      set_python_error(error);
    }
  });
}

}  // namespace dougong
