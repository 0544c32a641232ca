// Op calls from Python: one callable an op, which reads its arguments by the op's definition. Written by hand because a
// call costs less than a binding library's look-up.
// SPDX-License-Identifier: Apache-2.0
#include <Python.h>
#include <structmember.h>

#include <cstring>

#include "../src/fronts.h"
#include "../src/shape_rules.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

struct PyOp {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  const OpDef *op;
};

PyTypeObject *op_type;

constexpr size_t list_limit = 2 * DG_MAX_NDIM;
constexpr int max_attributes = 16;

// The arguments of one call: read from Python, ready for call_op.
class Reader {
 public:
  explicit Reader(const OpDef &op) : op_(op) {
    if (op.defaults) std::memcpy(attributes_, op.defaults, op.attributes_size);
  }

  void read(PyObject *const *arguments, Py_ssize_t positional, PyObject *keywords) {
    const int parameters = op_.input_count + op_.attribute_count;
    if (positional > parameters)
      raise_type_error("%s takes at most %d positional arguments; found %zd", op_.name, parameters, positional);
    for (Py_ssize_t i = 0; i < positional; ++i) set_parameter(int(i), arguments[i]);
    const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
    for (Py_ssize_t i = 0; i < named; ++i) set_keyword(PyTuple_GET_ITEM(keywords, i), arguments[positional + i]);
    check_complete();
  }

  PyObject *call() {
    const void *attributes = op_.attribute_count ? attributes_ : nullptr;
    Arg *inputs = op_.variadic ? many_.data() : few_;
    const int count = op_.variadic ? int(many_.size()) : op_.input_count;
    const Tensor *out = has_out_ ? out_.data() : nullptr;
    Outputs outputs = op_.front         ? call_front(op_, inputs, count, attributes, out)
                      : op_.input_count ? call_op(op_, inputs, count, attributes, nullptr, out)
                                        : call_op(op_, inputs, count, attributes, &device(), out);
    if (op_.return_count == 1) return wrap(outputs[0]);
    PyObject *tuple = PyTuple_New(op_.return_count);
    for (int i = 0; i < op_.return_count; ++i) PyTuple_SET_ITEM(tuple, i, wrap(outputs[size_t(i)]));
    return tuple;
  }

 private:
  Device &device() { return device_from_python(device_ ? device_ : Py_None); }

  void set_parameter(int index, PyObject *value) {
    given_ |= 1u << index;
    if (index < op_.input_count)
      set_input(index, value);
    else
      set_attribute(op_.attributes[index - op_.input_count], index - op_.input_count, value);
  }

  // The place of the input or attribute of that name, or -1. dim and keepdims are other names of axis and keepdim.
  int find_parameter(const char *text) const {
    if (std::strcmp(text, "dim") == 0) text = "axis";
    if (std::strcmp(text, "keepdims") == 0) text = "keepdim";
    for (int i = 0; i < op_.input_count + op_.attribute_count; ++i) {
      const char *known = i < op_.input_count ? op_.inputs[i].name : op_.attributes[i - op_.input_count].name;
      if (std::strcmp(text, known) == 0) return i;
    }
    return -1;
  }

  void set_keyword(PyObject *name, PyObject *value) {
    const char *text = PyUnicode_AsUTF8(name);
    const int index = find_parameter(text);
    if (index >= 0) {
      if (given_ >> index & 1) raise_type_error("%s: %s is given twice", op_.name, text);
      return set_parameter(index, value);
    }
    if (std::strcmp(text, "out") == 0) return set_out(value);
    if (std::strcmp(text, "device") == 0 && op_.input_count == 0) {
      device_ = value;
      return;
    }
    raise_type_error("%s has no argument %s", op_.name, text);
  }

  void set_out(PyObject *value) {
    if (value == Py_None) return;
    has_out_ = true;
    if (is_tensor(value)) {
      out_[0] = as_tensor(value);
      return;
    }
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) > op_.output_count)
      raise_type_error("%s: out must be a tensor or a tuple of at most %d tensors", op_.name, op_.output_count);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
      PyObject *item = PyTuple_GET_ITEM(value, i);
      if (!is_tensor(item)) raise_type_error("%s: out must hold tensors; found %s", op_.name, Py_TYPE(item)->tp_name);
      out_[size_t(i)] = as_tensor(item);
    }
  }

  Arg read_input(const InputDef &def, PyObject *value) {
    if (is_tensor(value)) return Arg(as_tensor(value));
    if (value == Py_None && def.optional) return {};
    Scalar scalar(0);
    if (!scalar_from_python(value, &scalar))
      raise_type_error("%s: %s must be a tensor or a number; found %s (dougong.tensor makes one)", op_.name, def.name,
                       Py_TYPE(value)->tp_name);
    return Arg(scalar);
  }

  void set_input(int index, PyObject *value) {
    const InputDef &def = op_.inputs[index];
    if (!op_.variadic) {
      few_[index] = read_input(def, value);
      return;
    }
    if (!PyList_Check(value) && !PyTuple_Check(value))
      raise_type_error("%s: %s must be a list or tuple of tensors; found %s", op_.name, def.name,
                       Py_TYPE(value)->tp_name);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
      many_.push_back(read_input(def, PySequence_Fast_GET_ITEM(value, i)));
    if (many_.empty()) fail(DG_STATUS_INVALID_ARGUMENT, "%s: %s is empty", op_.name, def.name);
  }

  template <class T>
  T &field(const AttributeDef &def) {
    return *reinterpret_cast<T *>(attributes_ + def.offset);
  }

  void set_attribute(const AttributeDef &def, int index, PyObject *value) {
    if (value == Py_None && !def.required) return;
    switch (def.kind) {
      case AttributeKind::integer:
      case AttributeKind::axis:
        field<int64_t>(def) = integer_from_python(value, def.name);
        return;
      case AttributeKind::uint64:
        field<uint64_t>(def) = unsigned_integer(def, value);
        return;
      case AttributeKind::real:
        field<double>(def) = real(def, value);
        return;
      case AttributeKind::boolean:
        field<int32_t>(def) = truth(def, value);
        return;
      case AttributeKind::scalar:
        field<dg_scalar_t>(def) = number(def, value);
        return;
      case AttributeKind::dtype:
        field<dg_dtype_t>(def) = dtype_from_python(value, op_.name);
        return;
      case AttributeKind::enumeration:
        field<int32_t>(def) = enumerator(def, value);
        return;
      case AttributeKind::axes:
      case AttributeKind::ints:
        set_list(def, index, value);
        return;
    }
  }

  void set_list(const AttributeDef &def, int index, PyObject *value) {
    int64_t *list = lists_[index];
    size_t count = integers_from_python(value, list, list_limit, def.name);
    if (def.length > 0 && PyLong_Check(value)) {
      for (int i = 1; i < def.length; ++i) list[i] = list[0];
      count = size_t(def.length);
    }
    field<IntList>(def) = {list, count};
  }

  Scalar number(const AttributeDef &def, PyObject *value) {
    Scalar scalar(0);
    if (is_tensor(value) || !scalar_from_python(value, &scalar))
      raise_type_error("%s: %s must be a number; found %s", op_.name, def.name, Py_TYPE(value)->tp_name);
    return scalar;
  }

  double real(const AttributeDef &def, PyObject *value) {
    const Scalar scalar = number(def, value);
    return scalar.kind == DG_SCALAR_INT ? double(scalar.integer) : scalar.real;
  }

  uint64_t unsigned_integer(const AttributeDef &def, PyObject *value) {
    const unsigned long long number =
        PyLong_Check(value) ? PyLong_AsUnsignedLongLong(value) : uint64_t(integer_from_python(value, def.name));
    if (PyErr_Occurred()) throw py::error_already_set();
    return number;
  }

  int truth(const AttributeDef &def, PyObject *value) {
    if (!PyBool_Check(value) && !PyLong_Check(value))
      raise_type_error("%s: %s must be True or False; found %s", op_.name, def.name, Py_TYPE(value)->tp_name);
    return PyObject_IsTrue(value);
  }

  int32_t enumerator(const AttributeDef &def, PyObject *value) {
    const char *text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : "";
    std::string known;
    for (int32_t i = 0; def.values[i]; ++i) {
      if (std::strcmp(text, def.values[i]) == 0) return i;
      known += (i ? ", '" : "'") + std::string(def.values[i]) + "'";
    }
    fail(DG_STATUS_INVALID_ARGUMENT, "%s: %s must be one of %s; found '%s'", op_.name, def.name, known.c_str(), text);
  }

  void check_complete() {
    for (int i = 0; i < op_.input_count + op_.attribute_count; ++i) {
      const bool input = i < op_.input_count;
      const bool needed = input ? !op_.inputs[i].optional : op_.attributes[i - op_.input_count].required;
      if (needed && !(given_ >> i & 1))
        raise_type_error("%s: %s is missing", op_.name,
                         input ? op_.inputs[i].name : op_.attributes[i - op_.input_count].name);
    }
  }

  const OpDef &op_;
  uint32_t given_ = 0;
  bool has_out_ = false;
  PyObject *device_ = nullptr;
  Arg few_[max_inputs];
  std::vector<Arg> many_;
  Outputs out_;
  alignas(16) char attributes_[256];
  int64_t lists_[max_attributes][list_limit];
};

// One or two tensors and nothing else: most calls.
PyObject *call_plain(const OpDef &op, PyObject *const *arguments, Py_ssize_t count) {
  Arg inputs[2];
  for (Py_ssize_t i = 0; i < count; ++i) inputs[i].tensor = as_tensor(arguments[i]);
  return wrap(call_op(op, inputs, int(count), nullptr)[0]);
}

PyObject *op_call(PyObject *self, PyObject *const *arguments, size_t flags, PyObject *keywords) {
  return guarded([&]() -> PyObject * {
    const OpDef &op = *reinterpret_cast<PyOp *>(self)->op;
    const Py_ssize_t positional = PyVectorcall_NARGS(flags);
    const bool plain = !keywords && op.attribute_count == 0 && !op.front && !op.variadic &&
                       positional == op.input_count && positional <= 2 && op.return_count == 1;
    if (plain && is_tensor(arguments[0]) && (positional == 1 || is_tensor(arguments[1])))
      return call_plain(op, arguments, positional);
    Reader reader(op);
    reader.read(arguments, positional, keywords);
    return reader.call();
  });
}

PyObject *op_bind(PyObject *self, PyObject *object, PyObject *) {
  if (!object || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, object);
}

PyObject *op_repr(PyObject *self) { return PyUnicode_FromFormat("<op %s>", reinterpret_cast<PyOp *>(self)->op->name); }
PyObject *op_name(PyObject *self, void *) { return PyUnicode_FromString(reinterpret_cast<PyOp *>(self)->op->name); }

std::string signature_text(const OpDef &op) {
  std::string text = std::string(op.name) + "(";
  for (int i = 0; i < op.input_count; ++i)
    text += (i ? ", " : "") + std::string(op.inputs[i].name) + (op.inputs[i].optional ? "=None" : "");
  for (int i = 0; i < op.attribute_count; ++i) {
    const AttributeDef &def = op.attributes[i];
    text += (i + op.input_count ? ", " : "") + std::string(def.name) +
            (def.required ? "" : "=" + std::string(def.default_text));
  }
  return text + ")";
}

PyObject *op_doc(PyObject *self, void *) {
  const OpDef &op = *reinterpret_cast<PyOp *>(self)->op;
  return PyUnicode_FromString((signature_text(op) + "\n\n" + op.summary).c_str());
}

PyGetSetDef op_getset[] = {{"__name__", op_name, nullptr, nullptr, nullptr},
                           {"__doc__", op_doc, nullptr, nullptr, nullptr},
                           {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef op_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyOp, vectorcall), READONLY, nullptr},
                            {nullptr, 0, 0, 0, nullptr}};
PyType_Slot op_slots[] = {{Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                          {Py_tp_descr_get, reinterpret_cast<void *>(op_bind)},
                          {Py_tp_repr, reinterpret_cast<void *>(op_repr)},
                          {Py_tp_getset, op_getset},
                          {Py_tp_members, op_members},
                          {0, nullptr}};
PyType_Spec op_spec = {"dougong._core.Op", sizeof(PyOp), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, op_slots};

}  // namespace

void init_op_functions(PyObject *module) {
  op_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&op_spec));
  if (!op_type) throw py::error_already_set();
  PyObject *ops = PyModule_New("dougong._core.ops");
  for (int i = 0; i < op_count; ++i) {
    auto *object = PyObject_New(PyOp, op_type);
    object->vectorcall = op_call;
    object->op = &op_table[i];
    PyModule_AddObject(ops, op_table[i].name, reinterpret_cast<PyObject *>(object));
  }
  PyModule_AddObject(module, "ops", ops);
}

}  // namespace dougong
