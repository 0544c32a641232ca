// The structs of DLPack 1.x that cross a capsule, declared from its specification
// (https://dmlc.github.io/dlpack/latest). dg_tensor_t has the layout of its DLTensor. SPDX-License-Identifier:
// Apache-2.0
#pragma once

#include <dougong/dg_types.h>

namespace dougong::dlpack {

enum DeviceType : int32_t { cpu = 1, extension = 12 };

struct ManagedTensor {
  dg_tensor_t tensor;
  void *context;
  void (*deleter)(ManagedTensor *self);
};

struct Version {
  uint32_t major, minor;
};

constexpr uint64_t flag_read_only = 1;
constexpr uint64_t flag_copied = 2;

struct ManagedTensorVersioned {
  Version version;
  void *context;
  void (*deleter)(ManagedTensorVersioned *self);
  uint64_t flags;
  dg_tensor_t tensor;
};

static_assert(sizeof(dg_tensor_t) == 48, "the layout of DLTensor");

}  // namespace dougong::dlpack
