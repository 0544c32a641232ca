// SPDX-License-Identifier: Apache-2.0
#include "pinned.h"

#include <pthread.h>

#include <algorithm>
#include <map>

#include "dispatch.h"
#include "registry.h"
#include "stream.h"

namespace dougong {

namespace {

constexpr uint64_t smallest_block = 4096;

struct PinnedBlock {
  Device *device;
  char *address;
  uint64_t size;
  std::vector<Ref<Event>> uses;  // behind each copy that is not known to be done
};

// All blocks of all devices. Leaked, as devices are: tensors may outlive the interpreter. While the mutex is held no
// event is destroyed: that may wait for the interpreter's lock, whose holder may wait for the mutex.
struct Blocks {
  std::mutex mutex;
  std::map<uintptr_t, std::unique_ptr<PinnedBlock>> by_address;
  std::multimap<uint64_t, PinnedBlock *> unused;  // by size
  std::atomic<size_t> count{0};
};

Blocks &blocks() {
  static auto *all = [] {
    pthread_atfork([] { blocks().mutex.lock(); }, [] { blocks().mutex.unlock(); }, [] { blocks().mutex.unlock(); });
    return new Blocks;
  }();
  return *all;
}

thread_local bool non_blocking = false;

// With the mutex held.
PinnedBlock *find(const void *address) {
  Blocks &all = blocks();
  const auto place = reinterpret_cast<uintptr_t>(address);
  auto after = all.by_address.upper_bound(place);
  if (after == all.by_address.begin()) return nullptr;
  PinnedBlock *block = std::prev(after)->second.get();
  return place < reinterpret_cast<uintptr_t>(block->address) + block->size ? block : nullptr;
}

// Whether all copies are done; the events of those that are go to `dropped`.
bool idle(PinnedBlock &block, std::vector<Ref<Event>> &dropped) {
  const auto done =
      std::stable_partition(block.uses.begin(), block.uses.end(), [](auto &use) { return !use->query(); });
  std::move(done, block.uses.end(), std::back_inserter(dropped));
  block.uses.erase(done, block.uses.end());
  return block.uses.empty();
}

void give_back(void *owner) {
  auto *block = static_cast<PinnedBlock *>(owner);
  std::lock_guard<std::mutex> guard(blocks().mutex);
  blocks().unused.emplace(block->size, block);
}

uint64_t rounded(uint64_t size) {
  uint64_t result = smallest_block;
  while (result < size) result *= 2;
  return result;
}

PinnedBlock *reuse(uint64_t size, Device &device) {
  Blocks &all = blocks();
  std::vector<Ref<Event>> dropped;
  std::lock_guard<std::mutex> guard(all.mutex);
  const auto [begin, end] = all.unused.equal_range(size);
  for (auto found = begin; found != end; ++found) {
    PinnedBlock *block = found->second;
    if (block->device != &device || !idle(*block, dropped)) continue;
    all.unused.erase(found);
    return block;
  }
  return nullptr;
}

// Null where the plugin has no such memory.
PinnedBlock *allocate(uint64_t size, Device &device) {
  device.check_usable();
  size = rounded(size);
  if (PinnedBlock *block = reuse(size, device)) return block;
  void *address = nullptr;
  {
    const Unlocked unlocked;
    const dg_status_t status =
        device.api().memory_allocate(device.handle(), DG_MEMORY_HOST_PINNED, size_t(size), &address);
    if (status == DG_STATUS_UNSUPPORTED || status == DG_STATUS_UNIMPLEMENTED) return nullptr;
    device.plugin().check(status, "memory_allocate");
  }
  auto block = std::make_unique<PinnedBlock>(PinnedBlock{&device, static_cast<char *>(address), size, {}});
  std::lock_guard<std::mutex> guard(blocks().mutex);
  PinnedBlock *result = block.get();
  blocks().by_address[reinterpret_cast<uintptr_t>(address)] = std::move(block);
  ++blocks().count;
  return result;
}

bool is_pinned_by(const Tensor &tensor, const Plugin &plugin) {
  std::lock_guard<std::mutex> guard(blocks().mutex);
  const PinnedBlock *block = find(tensor->storage->handle);
  return block && &block->device->plugin() == &plugin;
}

void note_use(PinnedBlock &block, Stream &stream) {
  const auto event = make_ref<Event>(stream.device(), false);
  event->record(stream);
  std::vector<Ref<Event>> dropped;
  std::lock_guard<std::mutex> guard(blocks().mutex);
  idle(block, dropped);
  block.uses.push_back(event);
}

}  // namespace

NonBlocking::NonBlocking(bool wanted) : before_(non_blocking) { non_blocking = wanted; }
NonBlocking::~NonBlocking() { non_blocking = before_; }

Tensor pin(const Tensor &tensor, Device &device) {
  Device &host = Registry::get().device("cpu:0");
  if (&tensor.device() != &host)
    fail(DG_STATUS_INVALID_ARGUMENT, "pin_memory takes a tensor on cpu:0; found one on %s",
         tensor.device().name().c_str());
  if (tensor.nbytes() == 0 || is_pinned_by(tensor, device.plugin())) return tensor.detach();
  PinnedBlock *block = allocate(tensor.nbytes(), device);
  if (!block) return tensor.detach();
  const Ref<Storage> storage(new Storage(host, block->address, 0, tensor.nbytes(), false, give_back, block));
  Tensor result = Tensor::over(storage, tensor.dtype(), tensor.shape(), dense_strides(tensor.shape()), 0);
  copy_into(result, tensor.detach());
  return result;
}

bool is_pinned(const Tensor &tensor) {
  if (blocks().count.load(std::memory_order_acquire) == 0 || !tensor.device().host_accessible()) return false;
  std::lock_guard<std::mutex> guard(blocks().mutex);
  return find(tensor->storage->handle) != nullptr;
}

PinnedStats pinned_stats(Device &device) {
  PinnedStats stats;
  std::lock_guard<std::mutex> guard(blocks().mutex);
  for (const auto &[address, block] : blocks().by_address)
    if (block->device == &device) ++stats.blocks, stats.bytes += block->size;
  for (const auto &[size, block] : blocks().unused) stats.free_blocks += block->device == &device;
  return stats;
}

void finish_host_copy(Device &device, const void *host, Stream &stream) {
  if (blocks().count.load(std::memory_order_acquire) == 0 || !stream.handle()) return;
  PinnedBlock *block = nullptr;
  {
    std::lock_guard<std::mutex> guard(blocks().mutex);
    block = find(host);
  }
  if (!block || &block->device->plugin() != &device.plugin()) return;  // pageable, for this plugin
  if (non_blocking)
    note_use(*block, stream);
  else
    stream.synchronize();
}

}  // namespace dougong
