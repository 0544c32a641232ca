// A device's kernels by op, so that a call finds its candidates at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_kernel.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "op.h"

namespace dougong {

// A kernel in this host's size: fields that the plugin does not have are null.
struct KernelEntry {
  dg_kernel_t kernel{};
  bool generated = false;  // by step 2 of the ladder

  bool strided() const { return kernel.flags & DG_KERNEL_STRIDED; }
  bool in_place() const { return kernel.flags & DG_KERNEL_IN_PLACE; }
  bool accepts(const OpDef &op, const dg_dtype_t *types) const;

  // Plans by everything that a plan may depend on. Kept until the process ends; bounded by plan_limit.
  struct Plan {
    uint64_t workspace_size = 0;
    void *object = nullptr;
  };
  mutable std::mutex plan_mutex;
  mutable std::unordered_map<std::string, Plan> plans;
};

class KernelIndex {
 public:
  // Of the device, made on first use and kept with it.
  static const KernelIndex &of(Device &device);
  const std::vector<std::unique_ptr<KernelEntry>> &candidates(const OpDef &op) const {
    return by_op_[size_t(op_index(op))];
  }

 private:
  explicit KernelIndex(Device &device);
  std::vector<std::vector<std::unique_ptr<KernelEntry>>> by_op_;
};

}  // namespace dougong
