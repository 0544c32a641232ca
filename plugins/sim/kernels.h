// The kernels of the CPU plugin, run by the workers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_kernel.h>

#include <vector>

#include "options.h"

namespace sim::plugin {

class Kernels {
 public:
  explicit Kernels(const Options &options);
  Kernels(const Kernels &) = delete;

  const dg_kernel_t *const *table() const { return table_.data(); }
  size_t count() const { return table_.size(); }

 private:
  std::vector<dg_kernel_t> entries_;
  std::vector<const dg_kernel_t *> table_;
};

}  // namespace sim::plugin
