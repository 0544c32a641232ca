// SPDX-License-Identifier: Apache-2.0
#include "kernel_index.h"

#include "generated_kernels.h"

namespace dougong {

static bool listed(const dg_dtype_t *list, dg_dtype_t dtype) {
  for (; *list != DG_DTYPE_NONE; ++list)
    if (*list == dtype) return true;
  return false;
}

bool KernelEntry::accepts(const OpDef &op, const dg_dtype_t *types) const {
  for (int i = 0; i < op.type_count; ++i)
    if (kernel.types[i] && !listed(kernel.types[i], types[i])) return false;
  return true;
}

KernelIndex::KernelIndex(Device &device) : by_op_(size_t(op_count)) {
  for (const dg_kernel_t *kernel : device.kernels()) {
    const OpDef *op = find_op(kernel->op);
    if (!op) continue;  // of a newer minor version
    auto entry = std::make_unique<KernelEntry>();
    std::memcpy(&entry->kernel, kernel, std::min(kernel->struct_size, sizeof(dg_kernel_t)));
    by_op_[size_t(op_index(*op))].push_back(std::move(entry));
  }
  for (int i = 0; i < op_count; ++i)
    if (auto entry = generated_kernel(op_table[i], device)) by_op_[size_t(i)].push_back(std::move(entry));
}

const KernelIndex &KernelIndex::of(Device &device) {
  if (auto *found = static_cast<const KernelIndex *>(device.kernel_index.load(std::memory_order_acquire)))
    return *found;
  static std::mutex mutex;
  std::lock_guard<std::mutex> guard(mutex);
  if (!device.kernel_index.load()) device.kernel_index.store(new KernelIndex(device), std::memory_order_release);
  return *static_cast<const KernelIndex *>(device.kernel_index.load());
}

}  // namespace dougong
