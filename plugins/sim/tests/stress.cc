// Threads that work one simulated device through the device API, for the thread sanitizer. Bounded and seeded.
//
//     sim_stress libdg_sim.so
//
// Each thread has two streams, and all of them share a third; what is read back must be what was written.
// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <dougong/dg_device.h>
#include <dougong/dg_ops.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr int thread_count = 8, rounds = 150;
constexpr int64_t most = 4096;  // elements of a block

const dg_plugin_t *plugin;
const dg_device_api_t *api;
void *context;
dg_device_t *device, *other;
const dg_kernel_t *add;
std::mutex shared_mutex;  // [one thread per stream]
std::atomic<long> wrong{0}, callbacks{0};

void check(dg_status_t status, const char *what) {
  if (status == DG_STATUS_OK) return;
  std::fprintf(stderr, "%s: status %d: %s\n", what, status, plugin->get_last_error(context));
  std::abort();
}
#define CHECK(call) check(call, #call)

struct Block {
  explicit Block(dg_device_t *owner, dg_memory_kind_t memory = DG_MEMORY_DEVICE) : device(owner), kind(memory) {
    CHECK(api->memory_allocate(device, kind, most * sizeof(int32_t), &handle));
  }
  ~Block() { CHECK(api->memory_free(device, kind, handle)); }
  dg_device_t *device;
  dg_memory_kind_t kind;
  void *handle;
};

// y += x on the device.
void launch_add(Block &x, Block &y, int64_t count, dg_stream_t *stream) {
  int64_t shape = count, stride = 1;
  const auto tensor = [&](Block &block) {
    return dg_tensor_t{block.handle, 12, 0, 1, DG_DTYPE_INT32, &shape, &stride, 0};
  };
  const dg_tensor_t a = tensor(x), b = tensor(y);
  const dg_tensor_t *inputs[] = {&a, &b}, *outputs[] = {&b};
  dg_kernel_call_t call{};
  call.struct_size = sizeof call;
  call.device = device;
  call.stream = stream;
  call.inputs = inputs;
  call.outputs = outputs;
  call.input_count = 2;
  call.output_count = 1;
  call.user_data = add->user_data;
  CHECK(add->launch(&call));
}

struct Worker {
  explicit Worker(int id, dg_stream_t *all) : shared(all), random(static_cast<unsigned>(id)) {
    CHECK(api->stream_create(device, id, &first));
    CHECK(api->stream_create(device, -id, &second));
    CHECK(api->stream_create(other, 0, &elsewhere));
    CHECK(api->event_create(other, 0, &arrived));
    CHECK(api->event_create(device, 1, &before));
    CHECK(api->event_create(device, 1, &after));
  }

  ~Worker() {
    CHECK(api->stream_destroy(device, first));
    CHECK(api->stream_destroy(device, second));
    CHECK(api->stream_destroy(other, elsewhere));
    CHECK(api->event_destroy(other, arrived));
    CHECK(api->event_destroy(device, before));
    CHECK(api->event_destroy(device, after));
  }

  void count_callback(dg_stream_t *stream) {
    CHECK(api->stream_add_callback(
        device, stream, [](void *counter, dg_status_t) { ++*static_cast<std::atomic<long> *>(counter); }, &callbacks));
  }

  // fill on the other device, copy over, add, copy, each on another stream, ordered by events.
  void round() {
    const int64_t count = 1 + int64_t(random() % most);
    const int32_t value = int32_t(random() % 1000000);
    Block x(device), y(device), z(device), away(other), pinned(device, DG_MEMORY_HOST_PINNED);
    CHECK(api->memory_fill(other, away.handle, 0, &value, sizeof value, size_t(count), elsewhere));
    CHECK(api->event_record(other, arrived, elsewhere));
    CHECK(api->stream_wait_event(device, first, arrived));
    CHECK(api->copy_peer(device, x.handle, 0, other, away.handle, 0, size_t(count) * 4, first));
    std::vector<int32_t> source(size_t(count), 7);
    CHECK(api->copy_host_to_device(device, y.handle, 0, source.data(), source.size() * 4, first));
    std::fill(source.begin(), source.end(), -1);
    CHECK(api->event_record(device, before, first));
    CHECK(api->stream_wait_event(device, second, before));
    launch_add(x, y, count, second);
    CHECK(api->event_record(device, after, second));
    {
      const std::lock_guard<std::mutex> guard(shared_mutex);
      CHECK(api->stream_wait_event(device, shared, after));
      CHECK(api->copy_device_to_device(device, z.handle, 0, y.handle, 0, source.size() * 4, shared));
      count_callback(shared);
      CHECK(api->event_record(device, before, shared));
    }
    CHECK(api->stream_wait_event(device, first, before));
    CHECK(api->copy_device_to_host(device, pinned.handle, z.handle, 0, source.size() * 4, first));
    CHECK(api->event_record(device, after, first));
    while (api->event_query(device, after) == DG_STATUS_NOT_READY) std::this_thread::yield();
    double milliseconds = -1;
    CHECK(api->event_elapsed(device, before, after, &milliseconds));
    if (milliseconds < 0) ++wrong;
    const int32_t *found = static_cast<const int32_t *>(pinned.handle);
    for (int64_t i = 0; i < count; ++i) wrong += found[i] != value + 7;
    pageable(z, count, value);
    uint64_t free, total;
    CHECK(api->memory_get_info(device, &free, &total));
    if (random() % 8 == 0) CHECK(api->device_synchronize(device));
  }

  void pageable(Block &z, int64_t count, int32_t value) {
    std::vector<int32_t> found(static_cast<size_t>(count));
    CHECK(api->copy_device_to_host(device, found.data(), z.handle, 0, found.size() * 4, second));
    for (const int32_t element : found) wrong += element != value + 7;
    CHECK(api->stream_synchronize(device, second));
  }

  dg_stream_t *shared, *first, *second, *elsewhere;  // elsewhere: on the other device
  dg_event_t *before, *after, *arrived;
  std::mt19937 random;
};

void work(int id, dg_stream_t *shared) {
  for (int part = 0; part < 5; ++part) {  // streams come and go
    Worker worker(id * 5 + part, shared);
    for (int i = 0; i < rounds / 5; ++i) worker.round();
  }
}

void open_plugin(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) std::fprintf(stderr, "%s\n", dlerror()), std::exit(2);
  plugin = reinterpret_cast<dg_plugin_entry_v1_t>(dlsym(library, "dg_plugin_entry_v1"))();
  api = plugin->device;
  dg_host_t host{sizeof(dg_host_t), DG_ABI_VERSION, 0, "stress", nullptr, nullptr};
  check(plugin->initialize(&host, &context), "initialize");
  CHECK(api->device_create(context, 0, &device));
  CHECK(api->device_create(context, 1, &other));
  const dg_kernel_t *const *kernels;
  size_t count;
  CHECK(api->device_get_kernels(device, &kernels, &count));
  for (size_t i = 0; i < count; ++i)
    if (std::strcmp(kernels[i]->op, DG_OP_ADD) == 0) add = kernels[i];
}

}  // namespace

int main(int argument_count, char **arguments) {
  if (argument_count != 2) return std::fprintf(stderr, "usage: sim_stress PLUGIN\n"), 2;
  open_plugin(arguments[1]);
  dg_stream_t *shared;
  CHECK(api->stream_create(device, 0, &shared));
  std::vector<std::thread> threads;
  for (int id = 0; id < thread_count; ++id) threads.emplace_back(work, id, shared);
  for (std::thread &thread : threads) thread.join();
  CHECK(api->stream_destroy(device, shared));
  CHECK(api->device_synchronize(device));
  uint64_t free, total;
  CHECK(api->memory_get_info(device, &free, &total));
  api->device_destroy(device);
  api->device_destroy(other);
  plugin->shutdown(context);
  const bool right = wrong == 0 && callbacks == long(thread_count) * rounds && free == total;
  std::printf("%d threads, %d rounds each: %ld wrong elements, %ld callbacks, %llu bytes not given back\n",
              thread_count, rounds, wrong.load(), callbacks.load(), static_cast<unsigned long long>(total - free));
  return right ? 0 : 1;
}
