// Tensors from and to host memory, copies, and the ledger: the functions that dougong's Python files build on.
// SPDX-License-Identifier: Apache-2.0
#include "../src/allocator.h"
#include "../src/autograd.h"
#include "../src/generated/ops.h"
#include "../src/indexing.h"
#include "../src/ladder.h"
#include "../src/ledger.h"
#include "../src/pinned.h"
#include "../src/recording.h"
#include "../src/stream.h"
#include "../src/views.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

Tensor empty(py::handle shape, py::handle dtype, py::handle device) {
  return Tensor::empty(shape_from_python(shape.ptr(), "shape"), dtype_from_python(dtype.ptr(), "dtype"),
                       device_from_python(device.ptr()));
}

void check_size(const Tensor &tensor, const py::buffer_info &host) {
  if (uint64_t(host.size * host.itemsize) != tensor.nbytes() || !tensor.is_contiguous())
    fail(DG_STATUS_INVALID_ARGUMENT, "the host buffer holds %lld bytes, the tensor %llu",
         (long long)(host.size * host.itemsize), (unsigned long long)tensor.nbytes());
}

// Copies a dense host buffer into a dense tensor; the buffer may be reused on return.
void copy_from_host(const Tensor &tensor, const py::buffer &buffer) {
  const py::buffer_info host = buffer.request();
  check_size(tensor, host);
  if (tensor.numel() == 0) return;
  if (Rehearsal *now = rehearsal()) return now->upload(host.ptr, tensor.nbytes());
  const Unlocked unlocked;
  Device &device = tensor.device();
  device.copy_from_host(tensor->storage->handle, tensor.descriptor().byte_offset, host.ptr, tensor.nbytes(),
                        device.current_stream());
  if (Recorder *now = recorder())
    now->add_upload(tensor->storage, tensor.descriptor().byte_offset, host.ptr, tensor.nbytes());
}

void copy_to_host(const Tensor &tensor, const py::buffer &buffer) {
  const py::buffer_info host = buffer.request(true);
  check_size(tensor, host);
  if (tensor.numel() == 0) return;
  refuse_read("the values of a tensor are copied to the host");
  const Unlocked unlocked;
  Device &device = tensor.device();
  device.copy_to_host(host.ptr, tensor->storage->handle, tensor.descriptor().byte_offset, tensor.nbytes(),
                      device.current_stream());
}

struct HostOwner {
  Py_buffer buffer;
};

void release_host_owner(void *owner) {
  if (!Py_IsInitialized()) return;  // the interpreter is gone, and its memory with it
  const PyGILState_STATE state = PyGILState_Ensure();
  auto *host = static_cast<HostOwner *>(owner);
  PyBuffer_Release(&host->buffer);
  delete host;
  PyGILState_Release(state);
}

// A tensor over a host buffer, without a copy. The buffer is kept until the last tensor is gone.
Tensor share_host(py::handle buffer, py::handle shape, py::handle byte_strides, py::handle dtype,
                  py::handle device_object) {
  Device &device = device_from_python(device_object.ptr());
  if (!device.host_accessible())
    fail(DG_STATUS_UNSUPPORTED, "the memory of %s is not host memory: a buffer cannot be shared, only copied",
         device.name().c_str());
  auto owner = std::make_unique<HostOwner>();
  if (PyObject_GetBuffer(buffer.ptr(), &owner->buffer, PyBUF_STRIDES | PyBUF_WRITABLE) < 0) {
    PyErr_Clear();
    if (PyObject_GetBuffer(buffer.ptr(), &owner->buffer, PyBUF_STRIDES) < 0) throw py::error_already_set();
  }
  const Py_buffer &host = owner->buffer;
  const dg_dtype_t element = dtype_from_python(dtype.ptr(), "dtype");
  const Shape sizes = shape_from_python(shape.ptr(), "shape");
  Shape strides = shape_from_python(byte_strides.ptr(), "strides");
  const auto item = int64_t(dtype_size(element));
  for (int64_t &stride : strides) {
    if (stride % item != 0)
      fail(DG_STATUS_INVALID_ARGUMENT, "strides of %lld bytes are no multiple of the element size %lld",
           (long long)stride, (long long)item);
    stride /= item;
  }
  dg_tensor_t probe{nullptr,        0, 0, int32_t(sizes.size()), element, const_cast<int64_t *>(sizes.data()),
                    strides.data(), 0};
  const Span span = byte_span(probe);
  char *first = static_cast<char *>(host.buf) + span.low;
  const bool read_only = host.readonly;
  const Ref<Storage> storage(
      new Storage(device, first, 0, uint64_t(span.high - span.low), read_only, release_host_owner, owner.release()));
  return Tensor::over(storage, element, sizes, strides, uint64_t(-span.low));
}

uint64_t data_ptr(const Tensor &tensor) {
  return reinterpret_cast<uint64_t>(tensor->storage->handle) + tensor.descriptor().byte_offset;
}

py::dict storage_info(const Tensor &tensor) {
  const Storage &storage = *tensor->storage;
  return py::dict(py::arg("handle") = reinterpret_cast<uint64_t>(storage.handle), py::arg("offset") = storage.offset,
                  py::arg("size") = storage.size, py::arg("read_only") = storage.read_only,
                  py::arg("version") = storage.version.load(), py::arg("byte_offset") = tensor.byte_offset());
}

void bind_ledger(py::module_ &module) {
  module.def("_ledger_rows", [] {
    py::list rows;
    for (const LedgerRow &row : ledger_rows())
      rows.append(py::make_tuple(row.device, row.op, ledger_step_name(row.step), row.count));
    return rows;
  });
  module.def("_ledger_reset", &ledger_reset);
  module.def("_ledger_strict", &ledger_strict);
  module.def("_set_ledger_strict", &set_ledger_strict);
  module.def("_decompositions_first", &decompositions_first);
  module.def("_set_decompositions_first", &set_decompositions_first);
}

// ---- A dense or strided look at host memory, for NumPy -----------------------------------------------------------

struct HostView {
  PyObject_HEAD
  TensorImpl *impl;
  Py_ssize_t shape[DG_MAX_NDIM], strides[DG_MAX_NDIM];
};

PyTypeObject *host_view_type;

const char *buffer_format(dg_dtype_t dtype) {
  switch (dtype) {
    case DG_DTYPE_BOOL:
      return "?";
    case DG_DTYPE_INT8:
      return "b";
    case DG_DTYPE_INT16:
      return "h";
    case DG_DTYPE_INT32:
      return "i";
    case DG_DTYPE_INT64:
      return "q";
    case DG_DTYPE_UINT16:
    case DG_DTYPE_BFLOAT16:
      return "H";  // seen as its bits: NumPy's buffers have no name for it
    case DG_DTYPE_UINT32:
      return "I";
    case DG_DTYPE_UINT64:
      return "Q";
    case DG_DTYPE_FLOAT16:
      return "e";
    case DG_DTYPE_FLOAT32:
      return "f";
    case DG_DTYPE_FLOAT64:
      return "d";
    case DG_DTYPE_COMPLEX64:
      return "Zf";
    case DG_DTYPE_COMPLEX128:
      return "Zd";
    default:
      return "B";
  }
}

int host_view_buffer(PyObject *object, Py_buffer *view, int flags) {
  auto *self = reinterpret_cast<HostView *>(object);
  const dg_tensor_t &tensor = self->impl->descriptor;
  if ((flags & PyBUF_WRITABLE) && self->impl->storage->read_only) {
    PyErr_SetString(PyExc_BufferError, "the tensor's memory is read-only");
    return -1;
  }
  const auto item = Py_ssize_t(dtype_size(tensor.dtype));
  static char nothing[16];
  view->buf = tensor.data ? static_cast<char *>(tensor.data) + tensor.byte_offset : nothing;
  view->obj = object;
  view->len = self->impl->numel * item;
  view->itemsize = item;
  view->readonly = self->impl->storage->read_only;
  view->ndim = tensor.ndim;
  view->format = const_cast<char *>(buffer_format(tensor.dtype));
  view->shape = self->shape;
  view->strides = self->strides;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  Py_INCREF(object);
  return 0;
}

void host_view_dealloc(PyObject *object) {
  reinterpret_cast<HostView *>(object)->impl->release();
  PyTypeObject *type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

}  // namespace

PyObject *make_host_view(const Tensor &tensor) {
  refuse_read("the memory of a tensor is shown to the host");
  if (!tensor.device().host_accessible())
    fail(DG_STATUS_UNSUPPORTED, "the memory of %s cannot be seen by the host; copy it with .cpu()",
         tensor.device().name().c_str());
  auto *self = reinterpret_cast<HostView *>(host_view_type->tp_alloc(host_view_type, 0));
  if (!self) throw py::error_already_set();
  self->impl = tensor.get();
  self->impl->retain();
  for (int64_t i = 0; i < tensor.ndim(); ++i) {
    self->shape[i] = tensor.size(i);
    self->strides[i] = tensor.stride(i) * Py_ssize_t(dtype_size(tensor.dtype()));
  }
  return reinterpret_cast<PyObject *>(self);
}

void init_host_view(PyObject *) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(host_view_dealloc)},
                         {Py_bf_getbuffer, reinterpret_cast<void *>(host_view_buffer)},
                         {0, nullptr}};
  PyType_Spec spec = {"dougong._core.HostView", sizeof(HostView), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  host_view_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
  if (!host_view_type) throw py::error_already_set();
}

void bind_tensor(py::module_ &module) {
  module.def("empty", &empty, py::arg("shape"), py::arg("dtype"), py::arg("device"));
  module.def("_copy_from_host", &copy_from_host);
  module.def("_copy_to_host", &copy_to_host);
  module.def("_share_host", &share_host);
  module.def("_host_view",
             [](const Tensor &tensor) { return py::reinterpret_steal<py::object>(make_host_view(tensor)); });
  module.def("_data_ptr", &data_ptr);
  module.def("_storage_info", &storage_info);
  module.def(
      "_to_device",
      [](const Tensor &tensor, py::handle device, bool non_blocking) {
        const NonBlocking mode(non_blocking);
        return to_device(tensor, device_from_python(device.ptr()));
      },
      py::arg("tensor"), py::arg("device"), py::arg("non_blocking") = false);
  module.def(
      "_copy_into",
      [](const Tensor &destination, const Tensor &source, bool non_blocking) {
        const NonBlocking mode(non_blocking);
        check_in_place(destination, "copy_", source.requires_grad());
        if (!grad_enabled() || !(source.requires_grad() || destination.requires_grad()))
          return copy_into(destination, source);
        Tensor result = to_device(source, destination.device());
        if (result.dtype() != destination.dtype()) result = ops::cast(result, destination.dtype());
        replace_in_place(destination, expand(result, destination.shape()), "copy_");
      },
      py::arg("destination"), py::arg("source"), py::arg("non_blocking") = false);
  module.def(
      "_set_data",
      [](const Tensor &tensor, const Tensor &source) {
        const bool fits =
            tensor.shape() == source.shape() &&
            (tensor.dtype() == source.dtype() || (is_floating(tensor.dtype()) && is_floating(source.dtype())));
        if (!fits)
          fail(DG_STATUS_INVALID_ARGUMENT,
               "data can be replaced by the same shape only, and a float by a float; found %s %s for %s %s",
               dtype_name(source.dtype()).c_str(), source.shape().text().c_str(), dtype_name(tensor.dtype()).c_str(),
               tensor.shape().text().c_str());
        note_change(tensor);
        const Tensor fresh = source.detach();
        for (int64_t i = 0; i < fresh.ndim(); ++i) tensor->descriptor.strides[i] = fresh.stride(i);
        tensor->descriptor.data = fresh.descriptor().data;
        tensor->descriptor.dtype = fresh.dtype();
        tensor->descriptor.byte_offset = fresh.descriptor().byte_offset;
        tensor->descriptor.device_type = fresh.descriptor().device_type;
        tensor->descriptor.device_id = fresh.descriptor().device_id;
        tensor->contiguous = fresh->contiguous;
        tensor->storage = fresh->storage;
      },
      "Lets a tensor look at other memory, on any device: what Module.to does with its parameters.");
  module.def(
      "as_strided",
      [](const Tensor &tensor, py::handle shape, py::handle strides, int64_t offset) {
        const auto item = int64_t(dtype_size(tensor.dtype()));
        return as_strided(tensor, shape_from_python(shape.ptr(), "shape"), shape_from_python(strides.ptr(), "strides"),
                          uint64_t(offset * item));
      },
      py::arg("input"), py::arg("shape"), py::arg("strides"), py::arg("offset") = 0,
      "A view of the storage with any strides; the offset counts elements from the storage's first byte.");
  module.def(
      "flip",
      [](const Tensor &tensor, py::handle axes) {
        Tensor result = tensor;
        for (int64_t axis : shape_from_python(axes.ptr(), "axes")) result = flip_view(result, axis);
        return result;
      },
      py::arg("input"), py::arg("axes"), "A view with the elements along the axes in reverse order.");
  module.def("diagonal", [](const Tensor &tensor, int64_t offset, int64_t axis1, int64_t axis2) {
    return diagonal(tensor, offset, axis1, axis2);
  });
  module.def("unfold", [](const Tensor &tensor, int64_t axis, int64_t size, int64_t step) {
    return unfold(tensor, axis, size, step);
  });
  bind_ledger(module);
}

}  // namespace dougong
