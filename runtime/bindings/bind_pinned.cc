// Pinned memory in Python.
// SPDX-License-Identifier: Apache-2.0
#include "../src/pinned.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

void bind_pinned(py::module_ &module) {
  module.def("_pin",
             [](const Tensor &tensor, py::handle device) { return pin(tensor, device_from_python(device.ptr())); });
  module.def("_is_pinned", &is_pinned);
  module.def("_pinned_stats", [](py::handle device) {
    const PinnedStats stats = pinned_stats(device_from_python(device.ptr()));
    return py::dict(py::arg("blocks") = stats.blocks, py::arg("bytes") = stats.bytes,
                    py::arg("free_blocks") = stats.free_blocks);
  });
}

}  // namespace dougong
