// DLPack both ways: capsules, versioned and not.
// SPDX-License-Identifier: Apache-2.0
#include "../src/dispatch.h"
#include "../src/registry.h"
#include "../src/stream.h"
#include "dlpack.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

using dlpack::ManagedTensor;
using dlpack::ManagedTensorVersioned;

// ---- Export ---------------------------------------------------------------------------------------------------

// The exported struct and the tensor it keeps.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
};

template <class Managed>
void delete_exported(Managed *managed) {
  delete static_cast<Exported<Managed> *>(managed->context);  // needs no interpreter lock: tensors count atomically
}

template <class Managed>
void destroy_capsule(PyObject *capsule) {
  constexpr const char *name = std::is_same_v<Managed, ManagedTensor> ? "dltensor" : "dltensor_versioned";
  if (!PyCapsule_IsValid(capsule, name)) return;  // consumed: the consumer calls the deleter
  auto *managed = static_cast<Managed *>(PyCapsule_GetPointer(capsule, name));
  if (managed->deleter) managed->deleter(managed);
}

template <class Managed>
py::object make_capsule(const Tensor &tensor, const char *name) {
  auto *exported = new Exported<Managed>;
  exported->tensor = tensor;
  exported->managed.tensor = tensor.descriptor();
  exported->managed.context = exported;
  exported->managed.deleter = delete_exported<Managed>;
  if constexpr (std::is_same_v<Managed, ManagedTensorVersioned>) {
    exported->managed.version = {1, 1};
    exported->managed.flags = tensor->storage->read_only ? dlpack::flag_read_only : 0;
  }
  return py::reinterpret_steal<py::object>(PyCapsule_New(&exported->managed, name, destroy_capsule<Managed>));
}

py::object to_capsule(const Tensor &tensor, bool versioned) {
  refuse_read("the memory of a tensor is exported");
  if (tensor.requires_grad())
    fail(DG_STATUS_INVALID_ARGUMENT, "a tensor that needs a gradient cannot be exported; detach() it first");
  if (!versioned && tensor->storage->read_only)
    fail(DG_STATUS_INVALID_ARGUMENT,
         "read-only memory needs a consumer of DLPack 1.0 or later: older ones cannot be told");
  return versioned ? make_capsule<ManagedTensorVersioned>(tensor, "dltensor_versioned")
                   : make_capsule<ManagedTensor>(tensor, "dltensor");
}

// ---- Import ---------------------------------------------------------------------------------------------------

template <class Managed>
void release_imported(void *owner) {
  auto *managed = static_cast<Managed *>(owner);
  if (managed->deleter) managed->deleter(managed);
}

// Calls the producer's deleter once if the import fails half-way.
template <class Managed>
struct Guard {
  Managed *managed;
  ~Guard() {
    if (managed) release_imported<Managed>(managed);
  }
};

Device &imported_device(const dg_tensor_t &tensor) {
  const Unlocked unlocked;  // a device may be opened here
  if (tensor.device_type == dlpack::cpu) return Registry::get().device("cpu:0");
  Plugin *found = nullptr;
  for (Plugin *plugin : Registry::get().loaded()) {
    if (tensor.device_id < 0 || tensor.device_id >= plugin->device_count()) continue;
    if (plugin->device(tensor.device_id).properties().dlpack_device_type != tensor.device_type) continue;
    if (found)
      fail(DG_STATUS_INVALID_ARGUMENT, "DLPack device type %d belongs to several plugins here: %s and %s",
           tensor.device_type, found->name().c_str(), plugin->name().c_str());
    found = plugin;
  }
  if (!found)
    fail(DG_STATUS_UNSUPPORTED, "no loaded plugin has DLPack device (%d, %d)", tensor.device_type, tensor.device_id);
  return found->device(tensor.device_id);
}

void check_imported(const dg_tensor_t &tensor) {
  if (tensor.ndim < 0 || tensor.ndim > DG_MAX_NDIM)
    fail(DG_STATUS_UNSUPPORTED, "DLPack: %d axes; at most %d are supported", tensor.ndim, DG_MAX_NDIM);
  if (tensor.dtype >> 16 != 1)
    fail(DG_STATUS_UNSUPPORTED, "DLPack: dtypes of %u lanes are not supported", tensor.dtype >> 16);
  if (!dtype_is_known(tensor.dtype))
    fail(DG_STATUS_UNSUPPORTED, "DLPack: dtype code %u of %u bits is not supported", tensor.dtype & 0xff,
         tensor.dtype >> 8 & 0xff);
  for (int i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] < 0)
      fail(DG_STATUS_INVALID_ARGUMENT, "DLPack: axis %d has the negative size %lld", i, (long long)tensor.shape[i]);
}

template <class Managed>
Tensor import(Managed *managed, bool read_only) {
  Guard<Managed> guard{managed};
  const dg_tensor_t &tensor = managed->tensor;
  check_imported(tensor);
  Device &device = imported_device(tensor);
  const Shape shape(tensor.shape, size_t(tensor.ndim));
  const Shape strides = tensor.strides ? Shape(tensor.strides, size_t(tensor.ndim)) : dense_strides(shape);
  dg_tensor_t probe = tensor;
  probe.strides = const_cast<int64_t *>(strides.data());
  const Span span = byte_span(probe);
  const auto size = shape.numel() == 0 ? 0 : uint64_t(span.high - span.low);
  if (!tensor.data && size > 0)
    fail(DG_STATUS_INVALID_ARGUMENT, "DLPack: no data for a tensor of shape %s", shape.text().c_str());
  const uint64_t offset = uint64_t(int64_t(tensor.byte_offset) + span.low);
  Ref<Storage> storage(new Storage(device, tensor.data, offset, size, read_only, release_imported<Managed>, managed));
  guard.managed = nullptr;  // the storage calls the deleter from now on
  return Tensor::over(storage, tensor.dtype, shape, strides, uint64_t(-span.low));
}

Tensor from_capsule(const py::object &capsule) {
  PyObject *object = capsule.ptr();
  if (PyCapsule_IsValid(object, "dltensor_versioned")) {
    auto *managed = static_cast<ManagedTensorVersioned *>(PyCapsule_GetPointer(object, "dltensor_versioned"));
    if (managed->version.major != 1)
      fail(DG_STATUS_UNSUPPORTED, "DLPack %u.%u is not supported; this runtime reads 1.x", managed->version.major,
           managed->version.minor);
    PyCapsule_SetName(object, "used_dltensor_versioned");
    return import(managed, managed->flags & dlpack::flag_read_only);
  }
  if (PyCapsule_IsValid(object, "dltensor")) {
    auto *managed = static_cast<ManagedTensor *>(PyCapsule_GetPointer(object, "dltensor"));
    PyCapsule_SetName(object, "used_dltensor");
    return import(managed, false);
  }
  fail(DG_STATUS_INVALID_ARGUMENT, "not a DLPack capsule, or one that was already consumed");
}

// The consumer's stream, an address as __dlpack__ passes it, waits for what was queued on the tensor's stream.
void order_for_consumer(const Tensor &tensor, uint64_t stream_address) {
  Device &device = tensor.device();
  Stream &producer = device.current_stream();
  if (device.synchronous() || reinterpret_cast<uint64_t>(producer.handle()) == stream_address) return;
  const dg_device_api_t &api = device.api();
  if (!api.stream_wait_event || !api.event_create) {
    const Unlocked unlocked;
    producer.synchronize();
    return;
  }
  auto event = make_ref<Event>(device, false);
  event->record(producer);
  device.plugin().check(
      api.stream_wait_event(device.handle(), reinterpret_cast<dg_stream_t *>(stream_address), event->handle()),
      "stream_wait_event");
}

}  // namespace

void bind_dlpack(py::module_ &module) {
  module.def("_to_capsule", &to_capsule);
  module.def("_from_capsule", &from_capsule);
  module.def("_order_for_consumer", &order_for_consumer);
  module.def("_dlpack_device", [](const Tensor &tensor) {
    return py::make_tuple(tensor.descriptor().device_type, tensor.descriptor().device_id);
  });
}

}  // namespace dougong
