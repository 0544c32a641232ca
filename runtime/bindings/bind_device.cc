// Devices in Python: names, plugins, properties, memory. Streams and events are in bind_stream.cc.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <set>

#include "../src/allocator.h"
#include "../src/loader_checks.h"
#include "../src/registry.h"
#include "interpreter.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

void bind_stream(py::module_ &module);

namespace {

std::atomic<Device *> default_device{nullptr};

// A Python function that is called from C++ until the process ends.
class Function {
 public:
  explicit Function(py::function function) : function_(function.release().ptr()) {}
  template <class... Arguments>
  py::object operator()(Arguments &&...arguments) const {
    return py::reinterpret_borrow<py::function>(function_)(std::forward<Arguments>(arguments)...);
  }

 private:
  PyObject *function_;  // leaked on purpose
};

void declare(const std::string &name, const std::string &source, py::function path) {
  Registry::get().declare(name, source, [path = Function(std::move(path))] {
    const py::gil_scoped_acquire gil;
    return path().cast<std::string>();
  });
}

void set_discovery(py::function discover) {
  Registry::get().set_discovery([discover = Function(std::move(discover))](const std::string &name) {
    const py::gil_scoped_acquire gil;
    discover(name);
  });
}

// The process has rights that its caller does not have: what the environment says is not to be believed.
bool privileged() { return getauxval(AT_SECURE) || getuid() != geteuid() || getgid() != getegid(); }

std::string path_from_python(const py::object &path) {
  return py::module_::import("os").attr("fsdecode")(path).cast<std::string>();
}

py::str text(const char *value) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(value, Py_ssize_t(std::strlen(value)), "backslashreplace"));
}

py::list capability_names(const Device &device) {
  const std::pair<uint64_t, const char *> known[] = {
      {DG_DEVICE_HOST_ACCESSIBLE, "host_accessible"}, {DG_DEVICE_OPAQUE_MEMORY, "opaque_memory"},
      {DG_DEVICE_DETERMINISTIC, "deterministic"},     {DG_DEVICE_FLUSHES_SUBNORMALS, "flushes_subnormals"},
      {DG_DEVICE_TRUNCATES_SUMS, "truncates_sums"},   {DG_DEVICE_CONCURRENT, "concurrent"}};
  py::list names;
  for (const auto &[bit, name] : known)
    if (device.has(bit)) names.append(name);
  return names;
}

py::object dtype_names(const Device &device) {
  if (!device.properties().dtypes) return py::none();
  py::list names;
  for (const dg_dtype_t *dtype = device.properties().dtypes; *dtype != DG_DTYPE_NONE; ++dtype)
    names.append(dtype_name(*dtype));
  return names;
}

py::dict properties(const Device &device) {
  const dg_device_properties_t &p = device.properties();
  py::dict result;
  result["name"] = text(p.name);
  result["architecture"] = text(p.architecture);
  result["capabilities"] = capability_names(device);
  result["synchronous"] = device.synchronous();
  result["memory_total"] = p.memory_total;
  result["alignment"] = p.alignment;
  result["dtypes"] = dtype_names(device);
  result["peak_bandwidth"] = p.peak_bandwidth;
  result["peak_flops"] = p.peak_flops;
  result["compute_units"] = p.compute_units;
  result["lowest_priority"] = p.lowest_priority;
  result["highest_priority"] = p.highest_priority;
  result["dlpack_device_type"] = p.dlpack_device_type;
  return result;
}

py::dict memory_stats(const Device &device) {
  const MemoryStats stats = device.allocator().stats();
  py::dict result;
  result["allocated"] = stats.allocated;
  result["reserved"] = stats.reserved;
  result["peak_allocated"] = stats.peak_allocated;
  result["peak_reserved"] = stats.peak_reserved;
  result["allocations"] = stats.allocations;
  result["frees"] = stats.frees;
  result["device_allocations"] = stats.device_allocations;
  result["device_frees"] = stats.device_frees;
  result["retries"] = stats.retries;
  return result;
}

py::object memory_info(const Device &device) {
  device.check_usable();
  if (!device.api().memory_get_info) return py::none();
  uint64_t free_bytes = 0, total = 0;
  device.plugin().check(device.api().memory_get_info(device.handle(), &free_bytes, &total), "memory_get_info");
  return py::make_tuple(free_bytes, total);
}

py::dict plugin_info(const Plugin &plugin) {
  py::dict result;
  result["name"] = plugin.name();
  result["version"] = text(plugin.version().c_str());
  result["vendor"] = text(plugin.vendor().c_str());
  result["path"] = py::module_::import("os").attr("fsdecode")(py::bytes(plugin.path()));
  result["abi"] = format("%u.%u", plugin.table().abi_version >> 16, plugin.table().abi_version & 0xffff);
  result["device_count"] = plugin.device_count();
  return result;
}

void synchronize(const py::object &device) {
  if (!device.is_none()) return device_from_python(device.ptr()).synchronize();
  for (Plugin *plugin : Registry::get().loaded())
    for (int32_t i = 0; plugin->usable() && i < plugin->device_count(); ++i)
      if (Device *open = plugin->open_device(i)) open->synchronize();
}

void shutdown() {
  const py::gil_scoped_release release;
  Registry::get().shutdown();
  close_interpreter_lock();
}

void bind_plugins(py::module_ &module) {
  module.def("_declare", &declare, py::arg("name"), py::arg("source"), py::arg("path"));
  module.def("_set_discovery", &set_discovery, py::arg("discover"));
  module.def("_privileged", &privileged);
  module.def("_shutdown", &shutdown);
  module.def("_is_plugin_name", &is_plugin_name);
  module.def("_abi_version", [] { return format("%d.%d", DG_ABI_MAJOR, DG_ABI_MINOR); });
  module.def("_plugin_info", [](const std::string &name) { return plugin_info(Registry::get().plugin(name)); });
  module.def("_loaded_plugins", [] {
    py::list names;
    for (const Plugin *plugin : Registry::get().loaded()) names.append(plugin->name());
    return names;
  });
  module.def(
      "load_plugin", [](const py::object &path) { return Registry::get().load(path_from_python(path)).name(); },
      py::arg("path"),
      "Opens a plugin's library and returns its name. The same file again, by whatever path, is not opened twice.");
}

std::vector<std::string> kernel_ops(const Device &device) {
  std::set<std::string> names;
  for (const dg_kernel_t *kernel : device.kernels()) names.insert(kernel->op);
  return {names.begin(), names.end()};
}

void bind_device_class(py::module_ &module) {
  py::class_<Device, std::unique_ptr<Device, py::nodelete>>(
      module, "Device",
      "One device of a plugin. Get it with dougong.device(\"acme:0\"); wherever one is wanted, its name will do.")
      .def_property_readonly("name", &Device::name, "\"acme:0\"")
      .def_property_readonly(
          "type", [](const Device &device) { return device.plugin().name(); }, "\"acme\", the plugin's name")
      .def_property_readonly("index", &Device::index)
      .def_property_readonly("kernel_ops", &kernel_ops, "The ops that the plugin has a kernel for, sorted.")
      .def_property_readonly("properties", &properties, "What the plugin says of the device, as a new dict.")
      .def("synchronize", &Device::synchronize, "Waits for all work, and raises the first failure among it.")
      .def("memory_stats", &memory_stats, "Bytes and counts of the caching allocator, as a new dict.")
      .def("memory_info", &memory_info, "(free, total) bytes of the chip, or None if the plugin does not say.")
      .def(
          "memory_snapshot",
          [](const Device &device) { return py::module_::import("json").attr("loads")(device.allocator().snapshot()); },
          "Every segment that the plugin gave, with its blocks.")
      .def(
          "empty_cache", [](Device &device) { device.allocator().empty_cache(); },
          "Gives memory that no tensor uses back to the plugin.")
      .def("reset_peak_memory_stats", [](Device &device) { device.allocator().reset_peak(); })
      .def("__repr__", [](const Device &device) { return "dougong.device('" + device.name() + "')"; })
      .def("__str__", &Device::name)
      .def("__hash__", [](const Device &device) { return py::hash(py::str(device.name())); })
      .def("__eq__",
           [](const Device &device, const py::object &other) {
             return py::isinstance<Device>(other) && &other.cast<Device &>() == &device;
           })
      .def("__reduce__", [](const Device &device) {
        return py::make_tuple(py::module_::import("dougong._core").attr("device"), py::make_tuple(device.name()));
      });
}

void bind_device_functions(py::module_ &module) {
  module.def(
      "device",
      [](const py::object &name) -> py::object {
        return py::reinterpret_steal<py::object>(device_to_python(device_from_python(name.ptr())));
      },
      py::arg("name") = py::none(), "The device of a name; of a device itself; of None, the default device.");
  module.def(
      "device_count",
      [](const std::string &name) { return Registry::get().plugin(parse_device_name(name).name).device_count(); },
      py::arg("name"), "How many devices the plugin of that name has.");
  module.def(
      "device_names", [] { return Registry::get().names(); }, "The names of all plugins that were found. Opens none.");
  module.def(
      "set_device",
      [](const py::object &device) { Registry::get().set_current_device(device_from_python(device.ptr())); },
      py::arg("device"), "Which device a plugin's name without an index means on this thread.");
  module.def(
      "set_default_device",
      [](const py::object &device) {
        default_device.store(device.is_none() ? nullptr : &device_from_python(device.ptr()));
      },
      py::arg("device"), "Where tensors are made when nothing else is said. None means cpu:0.");
  module.def("synchronize", &synchronize, py::arg("device") = py::none(),
             "Waits for all work on the device, or on every open one.");
}

}  // namespace

Device &device_from_python(PyObject *object) {
  if (object == Py_None) {
    if (Device *device = default_device.load()) return *device;
    return Registry::get().device("cpu:0");
  }
  if (PyUnicode_Check(object)) {
    Py_ssize_t length = 0;
    const char *name = PyUnicode_AsUTF8AndSize(object, &length);
    if (!name) throw py::error_already_set();
    return Registry::get().device(std::string(name, size_t(length)));
  }
  if (py::isinstance<Device>(object)) return py::handle(object).cast<Device &>();
  raise_type_error("a device is a string like \"acme:0\" or a dougong.Device; found %s", Py_TYPE(object)->tp_name);
}

// A device has one Python object, made on first use and kept.
PyObject *device_to_python(Device &device) {
  auto *object = static_cast<PyObject *>(device.python.load(std::memory_order_acquire));
  if (!object) {
    object = py::cast(&device, py::return_value_policy::reference).release().ptr();
    void *expected = nullptr;
    if (!device.python.compare_exchange_strong(expected, object)) {
      Py_DECREF(object);
      object = static_cast<PyObject *>(expected);
    }
  }
  Py_INCREF(object);
  return object;
}

void bind_device(py::module_ &module) {
  bind_plugins(module);
  bind_device_class(module);
  bind_device_functions(module);
  bind_stream(module);
}

}  // namespace dougong
