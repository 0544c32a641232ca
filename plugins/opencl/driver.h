// The part of OpenCL 1.2 that is used, declared here, and found in the driver at run time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace opencl {

using Handle = void *;  // platforms, devices, contexts, queues, buffers, programs, kernels, events
using Bits = uint64_t;
using Callback = void (*)(Handle event, int32_t status, void *user_data);

// Name, result, arguments. The numbers of OpenCL's enumerators are below.
#define OPENCL_FUNCTIONS(X)                                                                                         \
  X(clGetPlatformIDs, int32_t, (uint32_t, Handle *, uint32_t *))                                                    \
  X(clGetPlatformInfo, int32_t, (Handle, uint32_t, size_t, void *, size_t *))                                       \
  X(clGetDeviceIDs, int32_t, (Handle, Bits, uint32_t, Handle *, uint32_t *))                                        \
  X(clGetDeviceInfo, int32_t, (Handle, uint32_t, size_t, void *, size_t *))                                         \
  X(clCreateContext, Handle, (const intptr_t *, uint32_t, const Handle *, void *, void *, int32_t *))               \
  X(clReleaseContext, int32_t, (Handle))                                                                            \
  X(clCreateCommandQueue, Handle, (Handle, Handle, Bits, int32_t *))                                                \
  X(clReleaseCommandQueue, int32_t, (Handle))                                                                       \
  X(clFlush, int32_t, (Handle))                                                                                     \
  X(clFinish, int32_t, (Handle))                                                                                    \
  X(clCreateBuffer, Handle, (Handle, Bits, size_t, void *, int32_t *))                                              \
  X(clReleaseMemObject, int32_t, (Handle))                                                                          \
  X(clEnqueueReadBuffer, int32_t,                                                                                   \
    (Handle, Handle, uint32_t, size_t, size_t, void *, uint32_t, const Handle *, Handle *))                         \
  X(clEnqueueWriteBuffer, int32_t,                                                                                  \
    (Handle, Handle, uint32_t, size_t, size_t, const void *, uint32_t, const Handle *, Handle *))                   \
  X(clEnqueueCopyBuffer, int32_t,                                                                                   \
    (Handle, Handle, Handle, size_t, size_t, size_t, uint32_t, const Handle *, Handle *))                           \
  X(clEnqueueFillBuffer, int32_t,                                                                                   \
    (Handle, Handle, const void *, size_t, size_t, size_t, uint32_t, const Handle *, Handle *))                     \
  X(clEnqueueMapBuffer, void *,                                                                                     \
    (Handle, Handle, uint32_t, Bits, size_t, size_t, uint32_t, const Handle *, Handle *, int32_t *))                \
  X(clEnqueueUnmapMemObject, int32_t, (Handle, Handle, void *, uint32_t, const Handle *, Handle *))                 \
  X(clEnqueueMarkerWithWaitList, int32_t, (Handle, uint32_t, const Handle *, Handle *))                             \
  X(clEnqueueBarrierWithWaitList, int32_t, (Handle, uint32_t, const Handle *, Handle *))                            \
  X(clEnqueueNDRangeKernel, int32_t,                                                                                \
    (Handle, Handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const Handle *, Handle *)) \
  X(clCreateProgramWithSource, Handle, (Handle, uint32_t, const char **, const size_t *, int32_t *))                \
  X(clCreateProgramWithBinary, Handle,                                                                              \
    (Handle, uint32_t, const Handle *, const size_t *, const unsigned char **, int32_t *, int32_t *))               \
  X(clBuildProgram, int32_t, (Handle, uint32_t, const Handle *, const char *, void *, void *))                      \
  X(clGetProgramBuildInfo, int32_t, (Handle, Handle, uint32_t, size_t, void *, size_t *))                           \
  X(clGetProgramInfo, int32_t, (Handle, uint32_t, size_t, void *, size_t *))                                        \
  X(clReleaseProgram, int32_t, (Handle))                                                                            \
  X(clCreateKernel, Handle, (Handle, const char *, int32_t *))                                                      \
  X(clReleaseKernel, int32_t, (Handle))                                                                             \
  X(clSetKernelArg, int32_t, (Handle, uint32_t, size_t, const void *))                                              \
  X(clWaitForEvents, int32_t, (uint32_t, const Handle *))                                                           \
  X(clGetEventInfo, int32_t, (Handle, uint32_t, size_t, void *, size_t *))                                          \
  X(clGetEventProfilingInfo, int32_t, (Handle, uint32_t, size_t, void *, size_t *))                                 \
  X(clRetainEvent, int32_t, (Handle))                                                                               \
  X(clReleaseEvent, int32_t, (Handle))                                                                              \
  X(clCreateUserEvent, Handle, (Handle, int32_t *))                                                                 \
  X(clSetUserEventStatus, int32_t, (Handle, int32_t))                                                               \
  X(clSetEventCallback, int32_t, (Handle, int32_t, Callback, void *))

struct Driver {
#define OPENCL_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
  OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
};

// Opens the driver: null, and a sentence in `out_problem`, if it is not there. Once a process.
const Driver *open_driver(const char **out_problem);

constexpr int32_t success = 0, device_not_found = -1, out_of_memory = -4, out_of_resources = -5, out_of_host = -6;
constexpr int32_t build_failure = -11, invalid_binary = -42, invalid_kernel_name = -46, invalid_buffer_size = -61;
constexpr int32_t platform_not_found = -1001;
constexpr int32_t complete = 0;
constexpr Bits all_device_types = 0xFFFFFFFF, cpu_device_type = 2;
constexpr Bits queue_profiling = 2, memory_read_write = 1, memory_host_pointer = 16, map_read_write = 3;
constexpr uint32_t platform_name = 0x0902;
constexpr uint32_t device_units = 0x1002, device_max_group = 0x1004, device_max_items = 0x1005,
                   device_max_alloc = 0x1010;
constexpr uint32_t device_alignment_bits = 0x1019, device_memory = 0x101F, device_local_memory = 0x1023;
constexpr uint32_t device_name = 0x102B, driver_version = 0x102D, device_version = 0x102F, device_extensions = 0x1030;
constexpr uint32_t program_binary_sizes = 0x1165, program_binaries = 0x1166, build_log = 0x1183;
constexpr uint32_t event_status = 0x11D3, profiling_end = 0x1283;

// "CL_OUT_OF_RESOURCES (-5)"
const char *error_name(int32_t error);

}  // namespace opencl
