// The profiler in Python.
// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "../src/profiler.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

py::list to_python(const std::vector<TimedSpan> &spans) {
  py::list list;
  for (const TimedSpan &span : spans)
    list.append(py::make_tuple(span.name, span_kind_name(span.kind), span.thread, span.begin, span.end, span.shapes,
                               span.device, span.stream));
  return list;
}

// `with _Label("name"):`
class Label {
 public:
  explicit Label(std::string name) : name_(std::move(name)) {}
  void enter() {
    span_.emplace(SpanKind::label, [this] { return name_; });
  }
  void exit(const py::args &) { span_.reset(); }

 private:
  std::string name_;
  std::optional<HostSpan> span_;
};

}  // namespace

void bind_profiler(py::module_ &module) {
  module.def("_profiler_start", &start_profiler, py::arg("shapes"), py::arg("devices"));
  module.def("_profiler_stop", [] {
    const Profile profile = stop_profiler();
    return py::make_tuple(to_python(profile.host), to_python(profile.device), profile.untimed);
  });
  module.def("_profiling", [] { return profiler_running.load(); });
  py::class_<Label>(module, "_Label")
      .def(py::init<std::string>())
      .def("__enter__", &Label::enter)
      .def("__exit__", &Label::exit);
}

}  // namespace dougong
