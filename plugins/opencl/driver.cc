// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace opencl {

namespace {

struct Opened {
  Driver driver;
  std::string problem;

  Opened() {
    void *library = nullptr;
    for (const char *name : {"libOpenCL.so.1", "libOpenCL.so"})
      if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      problem = std::string("opencl: wanted the OpenCL loader libOpenCL.so.1, found none (") + dlerror() +
                "); install an OpenCL runtime, for instance the packages ocl-icd-libopencl1 and pocl-opencl-icd";
      return;
    }
#define OPENCL_FIND(name, result, arguments) find(library, #name, driver.name);
    OPENCL_FUNCTIONS(OPENCL_FIND)
#undef OPENCL_FIND
  }

  template <class Function>
  void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function && problem.empty())
      problem = std::string("opencl: libOpenCL has no ") + name + "; OpenCL 1.2 or later is wanted";
  }
};

struct Named {
  int32_t error;
  const char *name;
};

constexpr Named names[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-58, "CL_INVALID_EVENT"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

}  // namespace

const Driver *open_driver(const char **out_problem) {
  static const Opened opened;
  *out_problem = opened.problem.c_str();
  return opened.problem.empty() ? &opened.driver : nullptr;
}

const char *error_name(int32_t error) {
  thread_local char text[64];
  const char *name = "an OpenCL error";
  for (const Named &known : names)
    if (known.error == error) name = known.name;
  std::snprintf(text, sizeof text, "%s (%d)", name, error);
  return text;
}

}  // namespace opencl
