// Threads that allocate, copy, record and wait on one asynchronous device, for the thread sanitizer. Bounded and
// seeded.
//
//     stress PLUGIN
//
// Each thread works on streams of its own and on one that all share; what it reads back must be what it wrote.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <random>
#include <thread>
#include <vector>

#include "allocator.h"
#include "device.h"
#include "registry.h"
#include "stream.h"
#include "tensor.h"

namespace {

using namespace dougong;

constexpr int thread_count = 4, rounds = 300;
std::atomic<int> wrong{0};

// Writes a tensor on one stream, waits for it on another, and reads it there.
void round_trip(Device &device, Stream &writer, Stream &reader, uint32_t value, int64_t size) {
  device.set_current_stream(writer);
  const Tensor tensor = Tensor::empty({size}, DG_DTYPE_INT32, device);
  const uint64_t offset = tensor.descriptor().byte_offset;
  device.fill(tensor->storage->handle, offset, &value, sizeof value, uint64_t(size), writer);
  const auto event = make_ref<Event>(device, false);
  event->record(writer);
  reader.wait(*event);
  device.allocator().record_stream(tensor->storage->block, reader);
  std::vector<uint32_t> found(static_cast<size_t>(size));
  device.copy_to_host(found.data(), tensor->storage->handle, offset, found.size() * sizeof value, reader);
  reader.synchronize();
  for (const uint32_t element : found) wrong += element != value;
}

void work(Device &device, Stream &shared, int id) {
  std::mt19937 random(static_cast<uint32_t>(id));
  const auto own = device.create_stream(0);
  std::vector<Tensor> kept;
  for (int i = 0; i < rounds; ++i) {
    const bool from_shared = random() % 2;
    round_trip(device, from_shared ? shared : *own, from_shared ? *own : shared, random(), 1 + random() % 5000);
    kept.push_back(Tensor::empty({int64_t(1 + random() % 100000)}, DG_DTYPE_UINT8, device));
    if (kept.size() > 8) kept.erase(kept.begin() + long(random() % kept.size()));
    if (i % 50 == 49) device.allocator().empty_cache();
  }
}

}  // namespace

int main(int count, char **arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: stress PLUGIN\n"), 2;
  Device &device = Registry::get().load(arguments[1]).device(0);
  const auto shared = device.create_stream(0);
  std::vector<std::thread> threads;
  for (int id = 0; id < thread_count; ++id) threads.emplace_back(work, std::ref(device), std::ref(*shared), id);
  for (std::thread &thread : threads) thread.join();
  device.synchronize();
  std::printf("%d threads, %d rounds each, %d wrong elements\n", thread_count, rounds, wrong.load());
  return wrong == 0 ? 0 : 1;
}
