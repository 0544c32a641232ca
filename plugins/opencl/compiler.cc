// dg.compiler/1: OpenCL C, compiled by the driver.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>

#include "plugin.h"

struct dg_module {
  dg_device *device;
  opencl::Handle program;
  std::vector<unsigned char> binary;
  std::mutex mutex;
  std::vector<std::unique_ptr<dg_function>> functions;
};

// Arguments belong to the kernel object until it is queued: one thread at a time.
struct dg_function {
  dg_module *module;
  opencl::Handle kernel;
  std::mutex mutex;
};

namespace opencl {

namespace {

template <class T>
void set(dg_compiler_properties_t *properties, T *field, T value) {
  const char *end = reinterpret_cast<const char *>(field + 1);
  if (end <= reinterpret_cast<const char *>(properties) + properties->struct_size) *field = value;
}

dg_status_t get_properties(dg_device_t *device, dg_compiler_properties_t *out) {
  const Driver &cl = device->cl;
  size_t items[3] = {1, 1, 1};
  cl.clGetDeviceInfo(device->chip.device, device_max_items, sizeof items, items, nullptr);
  set<const char *>(out, &out->dialect, "opencl-c");
  set<const char *>(out, &out->compiler_id, device->compiler_id.c_str());
  for (int i = 0; i < 3; ++i) set(out, &out->max_group[i], uint32_t(items[i]));
  set(out, &out->max_group_total, uint32_t(device_info<size_t>(cl, device->chip.device, device_max_group)));
  set<uint32_t>(out, &out->subgroup, 1);
  set(out, &out->shared_memory, uint32_t(device_info<uint64_t>(cl, device->chip.device, device_local_memory)));
  return DG_STATUS_OK;
}

std::string log_of(dg_device *device, Handle program) {
  size_t size = 0;
  device->cl.clGetProgramBuildInfo(program, device->chip.device, build_log, 0, nullptr, &size);
  std::string log(size, '\0');
  device->cl.clGetProgramBuildInfo(program, device->chip.device, build_log, size, &log[0], nullptr);
  return log.c_str();
}

dg_status_t build(dg_device_t *device, Handle program, const char *options, std::string &log,
                  dg_module_t **out_module) {
  const int32_t error = device->cl.clBuildProgram(program, 1, &device->chip.device, options, nullptr, nullptr);
  log = log_of(device, program);
  if (error == success) {
    *out_module = new dg_module{device, program, {}, {}, {}};
    return DG_STATUS_OK;
  }
  device->cl.clReleaseProgram(program);
  fail(DG_STATUS_INVALID_ARGUMENT, "opencl:%d: the source was not compiled: %s. %s", device->index, error_name(error),
       log.c_str());
  return error == build_failure ? dg_status_t(DG_STATUS_INVALID_ARGUMENT) : dg_status_t(DG_STATUS_INTERNAL);
}

dg_status_t module_compile(dg_device_t *device, const char *source, const char *const *options,
                           dg_module_t **out_module, const char **out_log) {
  thread_local std::string log;
  std::string words;
  for (; options && *options; ++options) words += std::string(words.empty() ? "" : " ") + *options;
  int32_t error = success;
  log.clear();
  *out_log = log.c_str();
  const Handle program = device->cl.clCreateProgramWithSource(device->context, 1, &source, nullptr, &error);
  if (error != success) return check(error, "clCreateProgramWithSource");
  const dg_status_t status = build(device, program, words.c_str(), log, out_module);
  *out_log = log.c_str();
  return status;
}

dg_status_t module_load(dg_device_t *device, const void *binary, size_t size, dg_module_t **out_module) {
  const auto *bytes = static_cast<const unsigned char *>(binary);
  int32_t accepted = success, error = success;
  const Handle program =
      device->cl.clCreateProgramWithBinary(device->context, 1, &device->chip.device, &size, &bytes, &accepted, &error);
  if (error != success || accepted != success)
    return fail(DG_STATUS_INCOMPATIBLE, "opencl:%d: the binary is not for this device: %s", device->index,
                error_name(error != success ? error : accepted));
  std::string log;
  const dg_status_t status = build(device, program, "", log, out_module);
  return status == DG_STATUS_OK ? status : dg_status_t(DG_STATUS_INCOMPATIBLE);
}

dg_status_t module_get_binary(dg_module_t *module, const void **out_binary, size_t *out_size) {
  const std::lock_guard<std::mutex> guard(module->mutex);
  const Driver &cl = module->device->cl;
  if (module->binary.empty()) {
    size_t size = 0;
    int32_t error = cl.clGetProgramInfo(module->program, program_binary_sizes, sizeof size, &size, nullptr);
    std::vector<unsigned char> binary(size);
    unsigned char *bytes = binary.data();
    if (error == success) error = cl.clGetProgramInfo(module->program, program_binaries, sizeof bytes, &bytes, nullptr);
    if (error != success) return check(error, "clGetProgramInfo");
    module->binary = std::move(binary);
  }
  *out_binary = module->binary.data();
  *out_size = module->binary.size();
  return DG_STATUS_OK;
}

void module_destroy(dg_module_t *module) {
  const Driver &cl = module->device->cl;
  for (const auto &function : module->functions) cl.clReleaseKernel(function->kernel);
  cl.clReleaseProgram(module->program);
  delete module;
}

dg_status_t module_get_function(dg_module_t *module, const char *name, dg_function_t **out_function) {
  int32_t error = success;
  const Handle kernel = module->device->cl.clCreateKernel(module->program, name, &error);
  if (error == invalid_kernel_name)
    return fail(DG_STATUS_INVALID_ARGUMENT, "opencl:%d: the module has no function %s", module->device->index, name);
  if (error != success) return check(error, "clCreateKernel");
  const std::lock_guard<std::mutex> guard(module->mutex);
  module->functions.emplace_back(new dg_function{module, kernel, {}});
  *out_function = module->functions.back().get();
  return DG_STATUS_OK;
}

int32_t set_argument(const Driver &cl, Handle kernel, uint32_t index, const dg_argument_t &argument) {
  if (argument.kind == DG_ARGUMENT_BUFFER) return cl.clSetKernelArg(kernel, index, sizeof(Handle), &argument.handle);
  return cl.clSetKernelArg(kernel, index, argument.size, argument.kind == DG_ARGUMENT_VALUE ? argument.value : nullptr);
}

dg_status_t function_launch(dg_function_t *function, const dg_launch_t *launch, const dg_argument_t *arguments,
                            size_t argument_count, dg_stream_t *stream) {
  const Driver &cl = function->module->device->cl;
  size_t global[3], local[3];
  for (int i = 0; i < 3; ++i) {
    local[i] = launch->group[i];
    global[i] = size_t(launch->groups[i]) * local[i];
    if (local[i] == 0 || global[i] / local[i] != launch->groups[i] || global[i] == 0)
      return fail(DG_STATUS_INVALID_ARGUMENT, "opencl:%d: a launch of %llu groups of %u items along axis %d",
                  function->module->device->index, static_cast<unsigned long long>(launch->groups[i]), launch->group[i],
                  i);
  }
  const std::lock_guard<std::mutex> guard(function->mutex);
  for (size_t i = 0; i < argument_count; ++i) {
    const int32_t error = set_argument(cl, function->kernel, uint32_t(i), arguments[i]);
    if (error != success) return check(error, "clSetKernelArg");
  }
  Handle event = nullptr;
  const int32_t error =
      cl.clEnqueueNDRangeKernel(stream->queue, function->kernel, 3, nullptr, global, local, 0, nullptr, &event);
  return stream->queued(error, event, "clEnqueueNDRangeKernel");
}

}  // namespace

const dg_compiler_api_t compiler_api = {
    sizeof(dg_compiler_api_t), get_properties, module_compile,      module_load,
    module_get_binary,         module_destroy, module_get_function, function_launch};

}  // namespace opencl
