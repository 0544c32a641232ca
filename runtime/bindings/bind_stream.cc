// Streams and events in Python. Whatever waits does so with the interpreter's lock released.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <optional>

#include "../src/allocator.h"
#include "../src/stream.h"
#include "py_common.h"

namespace py = pybind11;

PYBIND11_DECLARE_HOLDER_TYPE(T, dougong::Ref<T>, true)

namespace dougong {

namespace {

// What callbacks have let go of. It is dropped on the main thread: a tensor among it may need the plugin, which a
// callback may not call.
py::list &leftovers() {
  static auto *list = new py::list;  // leaked on purpose
  return *list;
}

int drop_leftovers(void *) {
  leftovers().attr("clear")();
  return 0;
}

// A Python function that runs once, on a thread of the plugin. What it raises goes to sys.unraisablehook.
class Callback {
 public:
  explicit Callback(const py::function &function) : function_(function.inc_ref().ptr()) {}

  void operator()(dg_status_t status) const {
    if (!Py_IsInitialized() || Plugin::exiting()) return;
    const py::gil_scoped_acquire gil;
    const auto function = py::reinterpret_steal<py::function>(function_);
    leftovers().append(function);
    try {
      function(py::module_::import("dougong._errors").attr("Status")(status));
    } catch (py::error_already_set &error) {
      error.restore();
      PyErr_WriteUnraisable(function.ptr());
    }
    Py_AddPendingCall(drop_leftovers, nullptr);
  }

 private:
  PyObject *function_;  // given up by the one call
};

Ref<Event> record_event(Stream &stream, std::optional<Ref<Event>> event) {
  const Ref<Event> recorded = event ? *event : make_ref<Event>(stream.device(), false);
  recorded->record(stream);
  return recorded;
}

void wait_stream(Stream &later, Stream &earlier) {
  if (&later == &earlier) return;
  later.wait(*record_event(earlier, std::nullopt));
}

Stream &stream_or_current(const std::optional<Ref<Stream>> &stream, Device &device) {
  return stream ? **stream : device.current_stream();
}

// `with dougong.stream(s):`
class StreamContext {
 public:
  explicit StreamContext(std::optional<Ref<Stream>> stream) : stream_(std::move(stream)) {}
  void enter() {
    if (!stream_) return;
    before_ = Ref<Stream>(&(*stream_)->device().current_stream());
    (*stream_)->device().set_current_stream(**stream_);
  }
  void exit(const py::args &) {
    if (before_) before_->device().set_current_stream(*before_);
    before_ = nullptr;
  }

 private:
  std::optional<Ref<Stream>> stream_;
  Ref<Stream> before_;
};

void bind_stream_class(py::module_ &module) {
  py::class_<Stream, Ref<Stream>>(module, "Stream",
                                  "A queue of work on a device. Work on one stream runs in the order of the calls.")
      .def(py::init([](const py::object &device, int32_t priority) {
             return device_from_python(device.ptr()).create_stream(priority);
           }),
           py::arg("device") = py::none(), py::arg("priority") = 0)
      .def_property_readonly(
          "device",
          [](const Stream &stream) { return py::reinterpret_steal<py::object>(device_to_python(stream.device())); })
      .def_property_readonly(
          "handle", [](const Stream &stream) { return reinterpret_cast<uintptr_t>(stream.handle()); },
          "The plugin's own stream, as an address; 0 on a synchronous device.")
      .def("query", &Stream::query, "True when all work queued so far is done. Raises its failure.")
      .def("synchronize", &Stream::synchronize,
           "Waits for all work queued so far, and raises the first failure among it.")
      .def("wait_event", &Stream::wait, py::arg("event"),
           "Work queued from now on begins after what the event has recorded.")
      .def("wait_stream", &wait_stream, py::arg("stream"),
           "Work queued from now on begins after all work queued there so far.")
      .def("record_event", &record_event, py::arg("event") = py::none(),
           "Records the event, or a new one, and returns it.")
      .def(
          "add_callback", [](Stream &stream, const py::function &function) { stream.add_callback(Callback(function)); },
          py::arg("function"),
          "Calls function(status) once the stream comes there, on another thread. It may not use a device; what it "
          "raises "
          "goes to sys.unraisablehook.")
      .def("__eq__",
           [](const Stream &a, const py::object &b) { return py::isinstance<Stream>(b) && &b.cast<Stream &>() == &a; })
      .def("__hash__", [](const Stream &stream) { return reinterpret_cast<intptr_t>(&stream) >> 4; })
      .def("__repr__", [](const Stream &stream) {
        return format("<dougong.Stream of %s at %p>", stream.device().name().c_str(),
                      static_cast<void *>(stream.handle()));
      });
}

void bind_event_class(py::module_ &module) {
  py::class_<Event, Ref<Event>>(module, "Event", "A point in the work of a stream.")
      .def(py::init([](const py::object &device, bool enable_timing) {
             return make_ref<Event>(device_from_python(device.ptr()), enable_timing);
           }),
           py::arg("device") = py::none(), py::arg("enable_timing") = false)
      .def_property_readonly(
          "device",
          [](const Event &event) { return py::reinterpret_steal<py::object>(device_to_python(event.device())); })
      .def(
          "record",
          [](Event &event, const std::optional<Ref<Stream>> &stream) {
            event.record(stream_or_current(stream, event.device()));
          },
          py::arg("stream") = py::none(), "Captures all work queued so far on the stream, by default the current one.")
      .def(
          "wait",
          [](Event &event, const std::optional<Ref<Stream>> &stream) {
            stream_or_current(stream, event.device()).wait(event);
          },
          py::arg("stream") = py::none(), "Lets the stream, by default the current one, wait for what was recorded.")
      .def("query", &Event::query, "True when the recorded work is done, also when nothing was ever recorded.")
      .def("synchronize", &Event::synchronize, "Waits for the recorded work.")
      .def("elapsed_time", &Event::elapsed_to, py::arg("end"), "Milliseconds from this event to `end`.");
}

}  // namespace

void bind_stream(py::module_ &module) {
  bind_stream_class(module);
  bind_event_class(module);
  py::class_<StreamContext>(module, "stream",
                            "Within it, work of this thread goes to the stream. None changes nothing.")
      .def(py::init<std::optional<Ref<Stream>>>(), py::arg("stream"))
      .def("__enter__", &StreamContext::enter)
      .def("__exit__", &StreamContext::exit);
  module.def(
      "_record_stream",
      [](const Tensor &tensor, Stream &stream) {
        if (tensor->storage->block) tensor.device().allocator().record_stream(tensor->storage->block, stream);
      },
      "Work on this stream uses the tensor's memory too: it is not reused before that work is done.");
  module.def(
      "current_stream",
      [](const py::object &device) { return Ref<Stream>(&device_from_python(device.ptr()).current_stream()); },
      py::arg("device") = py::none(), "The stream that this thread works on.");
}

}  // namespace dougong
