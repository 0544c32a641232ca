// The generator of kernels, which is Python, behind the hooks of the core.
// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "../src/generated_kernels.h"
#include "py_common.h"

namespace py = pybind11;

namespace dougong {

namespace {

py::dict request_dict(const SourceRequest &request) {
  py::list operands;
  for (const auto &operand : request.operands)
    operands.append(py::make_tuple(operand.name, operand.dtype, operand.ndim, operand.dense));
  py::dict attributes, lists;
  for (const auto &[name, value] : request.attributes) attributes[py::str(name)] = value;
  for (const auto &[name, count] : request.lists) lists[py::str(name)] = count;
  using namespace py::literals;
  return py::dict("op"_a = request.op, "dialect"_a = request.dialect, "operands"_a = operands, "rank"_a = request.rank,
                  "wide_index"_a = request.wide_index, "few"_a = request.few, "doubles"_a = request.doubles,
                  "max_group"_a = request.max_group, "shared_memory"_a = request.shared_memory,
                  "attributes"_a = attributes, "lists"_a = lists);
}

PassSource read_pass(const py::handle &pass) {
  PassSource result;
  result.function = pass.attr("function").cast<std::string>();
  result.arguments = pass.attr("arguments").cast<std::vector<std::pair<std::string, std::string>>>();
  const auto groups = pass.attr("groups").cast<std::vector<std::pair<std::vector<std::string>, uint64_t>>>();
  const auto group = pass.attr("group").cast<std::vector<uint32_t>>();
  for (size_t axis = 0; axis < 3; ++axis) {
    result.groups[axis] = groups[axis].first;
    result.divisors[axis] = groups[axis].second;
    result.group[axis] = group[axis];
  }
  return result;
}

// `write(request, compiler_id)` gives None, or (program, key, binary).
ProgramSource call_writer(const py::object &write, const SourceRequest &request, const std::string &compiler_id) {
  const py::gil_scoped_acquire lock;
  ProgramSource result;
  const py::object answer = write(request_dict(request), compiler_id);
  if (answer.is_none()) return result;
  const auto [program, key, binary] = answer.cast<std::tuple<py::object, std::string, py::bytes>>();
  result.supported = true;
  result.key = key;
  result.binary = std::string(binary);
  result.source = program.attr("source").cast<std::string>();
  result.options = program.attr("options").cast<std::vector<std::string>>();
  for (const py::handle pass : program.attr("passes")) result.passes.push_back(read_pass(pass));
  return result;
}

}  // namespace

void bind_generator(py::module_ &module) {
  module.def("_set_generator", [](const py::object &write, const py::object &keep) {
    // Never given back: a launch may come until the process ends.
    const py::object &writer = *new py::object(write), &keeper = *new py::object(keep);
    generator_hooks.write = [&writer](const SourceRequest &request, const std::string &compiler_id) {
      return call_writer(writer, request, compiler_id);
    };
    generator_hooks.keep = [&keeper](const std::string &key, const std::string &binary) {
      const py::gil_scoped_acquire lock;
      keeper(key, py::bytes(binary));
    };
  });
}

}  // namespace dougong
