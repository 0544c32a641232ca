// SPDX-License-Identifier: Apache-2.0
#include "generated_kernels.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "call_numbers.h"
#include "ledger.h"
#include "stream.h"

namespace dougong {

GeneratorHooks generator_hooks;

namespace {

// One compiled program. Null functions: the generator does not do calls of this form.
struct Program {
  ProgramSource text;
  std::vector<dg_function_t *> functions;
};

// A call's numbers put into the places of a program's arguments; addresses are filled in at each launch.
struct PreparedPass {
  dg_function_t *function;
  dg_launch_t launch;
  std::vector<dg_argument_t> arguments;
  std::vector<uint64_t> values;                 // what arguments point to
  std::vector<std::pair<size_t, int>> buffers;  // argument, operand
  std::vector<std::pair<size_t, int>> offsets;  // the same for `<operand>_offset`, in elements
  int flag = -1, flag_offset = -1;              // the argument that an index out of range is told by
};

struct Prepared {
  std::vector<PreparedPass> passes;
};

class Generated {
 public:
  Generated(const OpDef &op, Device &device, const dg_compiler_api_t &api, const dg_compiler_properties_t &properties)
      : op_(op), device_(device), api_(api), properties_(properties) {}

  dg_status_t plan(const dg_kernel_call_t &call, uint64_t *out_workspace_size, Prepared **out) {
    const CallNumbers numbers(op_, call);
    const Program &program = find(numbers);
    if (!program.text.supported) return DG_STATUS_UNSUPPORTED;
    auto prepared = std::make_unique<Prepared>();
    for (size_t i = 0; i < program.functions.size(); ++i)
      prepared->passes.push_back(prepare(program.text.passes[i], program.functions[i], numbers));
    for (const PreparedPass &pass : prepared->passes)
      if (pass.flag >= 0) *out_workspace_size = sizeof(int32_t);
    *out = prepared.release();
    return DG_STATUS_OK;
  }

  dg_status_t launch(const dg_kernel_call_t &call) {
    const auto &prepared = *static_cast<const Prepared *>(call.plan);
    for (const PreparedPass &pass : prepared.passes) {
      const dg_status_t status = pass.flag < 0 ? launch(pass, call) : check_indices(pass, call);
      if (status != DG_STATUS_OK) return status;
    }
    return DG_STATUS_OK;
  }

 private:
  const Program &find(const CallNumbers &numbers) {
    const std::lock_guard<std::mutex> guard(mutex_);
    auto &slot = programs_[numbers.form()];
    if (!slot) slot = make(numbers);
    return *slot;
  }

  std::unique_ptr<Program> make(const CallNumbers &numbers) {
    auto program = std::make_unique<Program>();
    SourceRequest request = numbers.request();
    request.dialect = properties_.dialect;
    request.doubles = device_.supports_dtype(DG_DTYPE_FLOAT64);
    request.max_group = properties_.max_group_total;
    request.shared_memory = properties_.shared_memory;
    program->text = generator_hooks.write(request, properties_.compiler_id ? properties_.compiler_id : "");
    if (!program->text.supported) return program;
    dg_module_t *module = load(program->text);
    for (const PassSource &pass : program->text.passes) {
      dg_function_t *function = nullptr;
      device_.plugin().check(api_.module_get_function(module, pass.function.c_str(), &function), "module_get_function");
      program->functions.push_back(function);
    }
    return program;
  }

  // From the kept binary if it still fits, else compiled. Modules live as long as the process.
  dg_module_t *load(const ProgramSource &text) {
    dg_module_t *module = nullptr;
    if (!text.binary.empty() &&
        api_.module_load(device_.handle(), text.binary.data(), text.binary.size(), &module) == DG_STATUS_OK)
      return module;
    std::vector<const char *> options;
    for (const std::string &option : text.options) options.push_back(option.c_str());
    options.push_back(nullptr);
    const char *log = "";
    const dg_status_t status =
        api_.module_compile(device_.handle(), text.source.c_str(), options.data(), &module, &log);
    if (status != DG_STATUS_OK)
      fail(status, "the generated kernel %s was not compiled for %s: %s\n%s", op_.name, device_.name().c_str(), log,
           text.source.c_str());
    const void *binary = nullptr;
    size_t size = 0;
    if (api_.module_get_binary && api_.module_get_binary(module, &binary, &size) == DG_STATUS_OK)
      generator_hooks.keep(text.key, std::string(static_cast<const char *>(binary), size));
    return module;
  }

  PreparedPass prepare(const PassSource &source, dg_function_t *function, const CallNumbers &numbers) const {
    PreparedPass pass{function, {}, {}, {}, {}, {}};
    pass.launch.struct_size = sizeof(dg_launch_t);
    for (int axis = 0; axis < 3; ++axis) {
      uint64_t count = 1;
      for (const std::string &name : source.groups[axis]) count *= uint64_t(numbers.integer(name));
      pass.launch.groups[axis] = std::max<uint64_t>(1, (count + source.divisors[axis] - 1) / source.divisors[axis]);
      pass.launch.group[axis] = source.group[axis];
    }
    pass.values.resize(source.arguments.size());
    for (size_t i = 0; i < source.arguments.size(); ++i) {
      const auto &[name, type] = source.arguments[i];
      dg_argument_t argument{DG_ARGUMENT_VALUE, 8, nullptr, 0, &pass.values[i]};
      if (type == "flag") {
        argument = {DG_ARGUMENT_BUFFER, 0, nullptr, 0, nullptr};
        pass.flag = int(i);
      } else if (type == "flag_offset") {
        pass.flag_offset = int(i);
      } else if (type == "buffer") {
        argument = {DG_ARGUMENT_BUFFER, 0, nullptr, 0, nullptr};
        pass.buffers.emplace_back(i, numbers.operand(name));
      } else {
        const int operand = numbers.offset_of(name);
        if (operand >= 0) pass.offsets.emplace_back(i, operand);
        argument.size = numbers.store(name, type, operand >= 0 ? nullptr : &pass.values[i]);
      }
      pass.arguments.push_back(argument);
    }
    return pass;
  }

  static const dg_tensor_t &operand(const dg_kernel_call_t &call, int i) {
    return i < call.input_count ? *call.inputs[i] : *call.outputs[i - call.input_count];
  }

  // A pass that looks at the indices, and the answer: the host waits for it, for nothing may be written before.
  dg_status_t check_indices(const PreparedPass &pass, const dg_kernel_call_t &call) const {
    const dg_device_api_t &api = device_.api();
    int32_t flag = 0;
    dg_status_t status =
        api.copy_host_to_device(call.device, call.workspace, call.workspace_offset, &flag, sizeof flag, call.stream);
    if (status == DG_STATUS_OK) status = launch(pass, call);
    if (status == DG_STATUS_OK)
      status =
          api.copy_device_to_host(call.device, &flag, call.workspace, call.workspace_offset, sizeof flag, call.stream);
    if (status == DG_STATUS_OK && flag)
      fail(DG_STATUS_OUT_OF_RANGE, "%s: an index points outside its axis; nothing was written", op_.name);
    return status;
  }

  dg_status_t launch(const PreparedPass &pass, const dg_kernel_call_t &call) const {
    std::vector<dg_argument_t> arguments = pass.arguments;
    std::vector<uint64_t> offsets(pass.offsets.size());
    const uint64_t flag_offset = call.workspace_offset / sizeof(int32_t);
    if (pass.flag >= 0) {
      arguments[size_t(pass.flag)].handle = call.workspace;
      arguments[size_t(pass.flag_offset)].value = &flag_offset;
    }
    for (const auto &[index, i] : pass.buffers) arguments[index].handle = operand(call, i).data;
    for (size_t k = 0; k < offsets.size(); ++k) {
      const dg_tensor_t &tensor = operand(call, pass.offsets[k].second);
      offsets[k] = tensor.byte_offset / dtype_size(tensor.dtype);
      arguments[pass.offsets[k].first].value = &offsets[k];
    }
    return api_.function_launch(pass.function, &pass.launch, arguments.data(), arguments.size(), call.stream);
  }

  const OpDef &op_;
  Device &device_;
  const dg_compiler_api_t &api_;
  const dg_compiler_properties_t properties_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Program>> programs_;
};

dg_status_t plan(const dg_kernel_call_t *call, uint64_t *out_workspace_size, void **out_plan) {
  *out_workspace_size = 0;
  return static_cast<Generated *>(call->user_data)
      ->plan(*call, out_workspace_size, reinterpret_cast<Prepared **>(out_plan));
}

void plan_destroy(void *, void *plan) { delete static_cast<Prepared *>(plan); }

dg_status_t launch(const dg_kernel_call_t *call) { return static_cast<Generated *>(call->user_data)->launch(*call); }

// The compiler of a device, or null.
const dg_compiler_api_t *compiler_of(Device &device, dg_compiler_properties_t &properties) {
  const auto *table = static_cast<const dg_compiler_api_t *>(device.plugin().extension(DG_EXTENSION_COMPILER));
  if (!table || table->struct_size < sizeof(dg_compiler_api_t) || !table->module_compile) return nullptr;
  properties = {};
  properties.struct_size = sizeof properties;
  if (table->get_properties(device.handle(), &properties) != DG_STATUS_OK || !properties.dialect) return nullptr;
  return table;
}

}  // namespace

std::unique_ptr<KernelEntry> generated_kernel(const OpDef &op, Device &device) {
  dg_compiler_properties_t properties;
  if (!op.generated || !generator_hooks.write) return nullptr;
  const dg_compiler_api_t *api = compiler_of(device, properties);
  if (!api) return nullptr;
  auto entry = std::make_unique<KernelEntry>();
  entry->generated = true;
  entry->kernel.struct_size = sizeof(dg_kernel_t);
  entry->kernel.op = op.name;
  entry->kernel.flags = DG_KERNEL_STRIDED | DG_KERNEL_DETERMINISTIC | (op.elementwise ? DG_KERNEL_IN_PLACE : 0);
  entry->kernel.user_data = new Generated(op, device, *api, properties);  // lives as long as the device
  entry->kernel.launch = launch;
  entry->kernel.plan = plan;
  entry->kernel.plan_destroy = plan_destroy;
  return entry;
}

}  // namespace dougong
