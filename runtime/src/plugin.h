// A loaded plugin library: opened, checked, initialised. See device_api/include/dougong/dg_device.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "status.h"

namespace dougong {

class Device;

// One library in the process. Never unloaded: code of the plugin may run until the process ends.
class Plugin {
 public:
  // Opens the library, checks every field of its tables, copies them, and calls initialize. Throws an Error that names
  // the plugin's file, the field, what was wanted, what was found, and what to do. `expected_name` is the device
  // string's name, or empty when the library may choose it. `accept` sees the plugin after the checks and before
  // initialize; it refuses by throwing.
  static std::unique_ptr<Plugin> load(const std::string &path, const std::string &expected_name,
                                      const std::function<void(const Plugin &)> &accept = {});
  ~Plugin();

  const std::string &name() const { return name_; }
  const std::string &version() const { return version_; }
  const std::string &vendor() const { return vendor_; }
  const std::string &path() const { return path_; }  // the real path: symbolic links resolved
  int32_t device_count() const { return device_count_; }

  // Opens the device on first use and keeps it until the process ends. Throws if the index is out of range; an opening
  // that failed fails again with the same error.
  Device &device(int32_t index);
  // The device if it is open, else null.
  Device *open_device(int32_t index) const { return opened_[index].load(std::memory_order_acquire); }

  // A plugin is used in the process that opened it, and until that process begins to exit. `adopt` makes it belong to
  // this process: for a plugin that survives a fork.
  bool usable() const { return generation_ == process_generation.load(std::memory_order_relaxed); }
  void check_usable() const {
    if (__builtin_expect(!usable(), 0)) raise_unusable();
  }
  void adopt() { generation_ = process_generation.load(); }
  static void begin_fork_child() { ++process_generation; }
  static void begin_exit() { process_generation = -1; }
  static bool exiting() { return process_generation.load(std::memory_order_relaxed) < 0; }

  // Tables in this host's size: slots that the plugin does not have are null.
  const dg_plugin_t &table() const { return table_; }
  const dg_device_api_t &api() const { return api_; }
  void *context() const { return context_; }

  // The capability's table, or null.
  const void *extension(const char *id) const;

  // Throws unless the status is OK. The message names the plugin, the slot, the status, and holds get_last_error's
  // sentence. An unknown status counts as INTERNAL.
  void check(dg_status_t status, const char *slot) const {
    if (__builtin_expect(status != DG_STATUS_OK, 0)) raise(status, slot);
  }
  [[noreturn]] void raise(dg_status_t status, const char *slot) const;
  std::string last_error() const;

 private:
  Plugin() = default;
  [[noreturn]] void raise_unusable() const;
  void read_table(void *library, const std::string &expected_name);
  void initialize();
  std::unique_ptr<Device> open(int32_t index);

  static std::atomic<int64_t> process_generation;
  int64_t generation_ = 0;
  std::string name_, version_, vendor_, path_;
  int32_t device_count_ = 0;
  dg_plugin_t table_{};
  dg_device_api_t api_{};
  void *context_ = nullptr;
  std::mutex mutex_;
  std::unique_ptr<std::atomic<Device *>[]> opened_;  // never closed: live objects may outlast the interpreter
  std::vector<std::unique_ptr<Error>> failures_;     // of opening, by index
};

}  // namespace dougong
