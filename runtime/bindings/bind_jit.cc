// Recording and replay for Python: what dougong/jit.py builds on.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "../src/recording.h"
#include "../src/stream.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

// The place in the program, outside of this package, that is being run: "train.py:12".
std::string program_line() {
  const auto package =
      py::str(py::module_::import("os").attr("path").attr("dirname")(py::module_::import("dougong").attr("__file__")))
          .cast<std::string>();
  py::object frame = py::module_::import("sys").attr("_getframe")();
  while (!frame.is_none()) {
    const auto file = frame.attr("f_code").attr("co_filename").cast<std::string>();
    if (file.compare(0, package.size(), package) != 0)
      return file + ":" + std::to_string(frame.attr("f_lineno").cast<int>());
    frame = frame.attr("f_back");
  }
  return "an unknown line";
}

// The recorder of this thread, for as long as Python is recording.
std::unique_ptr<Recorder> &own_recorder() {
  thread_local std::unique_ptr<Recorder> mine;
  return mine;
}

void refuse_reads(bool refused) {
  Observation &mine = observation();
  if (mine.reads_refused == refused) return;
  mine.reads_refused = refused;
  observed_threads += refused ? 1 : -1;
}

void begin() { own_recorder() = std::make_unique<Recorder>(); }

std::unique_ptr<Recording> finish() {
  const std::unique_ptr<Recorder> recorder = std::move(own_recorder());
  if (!recorder) fail(DG_STATUS_INVALID_ARGUMENT, "this thread is not recording");
  return recorder->finish();
}

py::list calls(Recording &recording) {
  py::list names;
  for (size_t i = 0; i < recording.size(); ++i) names.append(recording.step(i).name());
  return names;
}

// What calls pass beside tensors, as bytes; None if there is more to it than kernels with numbers as attributes.
py::object pattern(Recording &recording, size_t begin, size_t count) {
  std::string bytes;
  for (size_t i = begin; i < begin + count; ++i) {
    auto *kernel = dynamic_cast<KernelStep *>(&recording.step(i));
    if (!kernel || !kernel->has_plain_attributes()) return py::none();
    for (const Argument &argument : kernel->arguments)
      if (argument.memory >= 0 && recording.memory(argument.memory).constant) return py::none();
    bytes += std::string(kernel->op.name) + ' ';
    bytes.append(static_cast<const char *>(kernel->attributes()), kernel->op.attributes_size);
  }
  return py::bytes(bytes);
}

// Other calls of the same kind pass what these pass.
void share(Recording &recording, size_t from, size_t count, const std::vector<size_t> &others) {
  for (size_t to : others)
    for (size_t i = 0; i < count; ++i) {
      auto &source = dynamic_cast<KernelStep &>(recording.step(from + i));
      dynamic_cast<KernelStep &>(recording.step(to + i)).set_attributes(source.attributes());
    }
}

struct RandomCall {
  uint64_t *seed, *offset;
};

RandomCall random_call(Recording &recording, size_t i) {
  auto *kernel = i < recording.size() ? dynamic_cast<KernelStep *>(&recording.step(i)) : nullptr;
  if (!kernel) return {};
  return {kernel->random("seed"), kernel->random("offset")};
}

// (number, seed, offset) of the calls that draw random numbers.
py::list random_calls(Recording &recording) {
  py::list found;
  for (size_t i = 0; i < recording.size(); ++i) {
    const RandomCall call = random_call(recording, i);
    if (call.seed && call.offset) found.append(py::make_tuple(i, *call.seed, *call.offset));
  }
  return found;
}

void set_random(Recording &recording, size_t i, uint64_t seed, uint64_t offset) {
  const RandomCall call = random_call(recording, i);
  if (!call.seed || !call.offset) fail(DG_STATUS_INVALID_ARGUMENT, "call %zu draws no random numbers", i);
  *call.seed = seed, *call.offset = offset;
}

void rehearse(Recording &recording, size_t begin, size_t end, const py::function &function) {
  Rehearsal rehearsal(recording, begin, end);
  function();
  rehearsal.finish();
}

py::dict stats(const Recording &recording) {
  const RecordingStats &found = recording.stats();
  return py::dict(py::arg("calls") = found.calls, py::arg("kernels") = found.kernels,
                  py::arg("fixed_calls") = found.fixed_calls, py::arg("fixed_bytes") = found.fixed_bytes,
                  py::arg("planned_bytes") = found.planned_bytes, py::arg("separate_bytes") = found.separate_bytes,
                  py::arg("kept_bytes") = found.kept_bytes);
}

py::tuple planned(const std::vector<std::tuple<uint64_t, int, int>> &pieces) {
  std::vector<Interval> intervals;
  for (const auto &[size, first, last] : pieces) intervals.push_back({size, first, last, 0});
  const uint64_t total = plan_arena(intervals);
  py::list offsets;
  for (const Interval &interval : intervals) offsets.append(interval.offset);
  return py::make_tuple(offsets, total);
}

// All but the values of a tensor: shape, dtype, device, and the stream on which work of the device is queued now.
py::bytes tensor_kind(const Tensor &tensor) {
  Device &device = tensor.device();
  const void *places[] = {&device, device.current_stream().handle()};
  std::string key(reinterpret_cast<const char *>(tensor.descriptor().shape), size_t(tensor.ndim()) * sizeof(int64_t));
  key.append(reinterpret_cast<const char *>(places), sizeof places);
  return py::bytes(key + std::to_string(tensor.dtype()));
}

// Looks like the tensor to a rehearsal, which reads no values; holds no memory.
Tensor stand_in(const Tensor &tensor) {
  const Ref<Storage> nothing(new Storage(tensor.device(), nullptr, 0, 0, false, nullptr, nullptr));
  return Tensor::over(nothing, tensor.dtype(), tensor.shape(), tensor.strides(), tensor.descriptor().byte_offset);
}

}  // namespace

void raise_refused_read(const char *what) {
  fail(
      DG_STATUS_UNSUPPORTED,
      "jit: at %s %s, and Python would go on from it; a replay runs no Python. Return the tensor and read it after the "
      "call, choose with where() instead of if, or keep this part outside of the function",
      program_line().c_str(), what);
}

void bind_jit(py::module_ &module) {
  py::class_<Recording>(module, "_Recording")
      .def("run", &Recording::run)
      .def("stale",
           [](const Recording &recording) -> py::object {
             const char *reason = recording.stale();
             return reason ? py::object(py::str(reason)) : py::none();
           })
      .def("pattern", &pattern)
      .def("share", &share)
      .def("calls", &calls)
      .def("fits", &Recording::fits)
      .def("stats", &stats)
      .def("random_calls", &random_calls)
      .def("set_random", &set_random)
      .def("rehearse", &rehearse);
  module.def("_record", &begin);
  module.def("_record_finish", &finish);
  module.def("_record_abort", [] { own_recorder().reset(); });
  module.def("_record_position", [] { return recorder() ? recorder()->size() : 0; });
  module.def("_recording", [] { return recorder() != nullptr; });
  module.def("_record_varying", [](const py::function &function) {
    Recorder *const now = recorder();
    const bool before = now && now->set_varying(true);
    function();
    if (now) now->set_varying(before);
  });
  module.def("_record_made", [](const Tensor &tensor) { return recorder() && recorder()->made(*tensor->storage); });
  module.def("_record_gradients", [] { return recorder() && recorder()->has_gradients(); });
  module.def("_refuse_reads", &refuse_reads);
  module.def("_reads_refused", &reads_refused);
  module.def("_stand_in", &stand_in);
  module.def("_plan_arena", &planned, "Of (bytes, first step, last step): the offsets, and the bytes of the arena.");
  module.def("_tensor_kind", &tensor_kind);
  module.def("_storage_version", [](const Tensor &tensor) { return tensor->storage->version.load(); });
  module.def("_same_storage", [](const Tensor &a, const Tensor &b) { return a->storage == b->storage; });
  module.def(
      "_unrecorded",
      [](const py::function &function) {
        const Unrecorded unrecorded;
        return function();
      },
      "Calls the function as if what it makes had been there before the recording.");
}

}  // namespace dougong
