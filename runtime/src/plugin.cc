// SPDX-License-Identifier: Apache-2.0
#include "plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#include <cstdio>
#include <cstring>

#include "device.h"
#include "loader_checks.h"

#ifndef DOUGONG_VERSION
#define DOUGONG_VERSION "(unversioned build)"
#endif

namespace dougong {

std::atomic<int64_t> Plugin::process_generation{0};

namespace {

int log_threshold() {
  const char *text = std::getenv("DOUGONG_LOG");
  const char *const names[] = {"debug", "info", "warning", "error"};
  for (int level = DG_LOG_DEBUG; text && level <= DG_LOG_ERROR; ++level)
    if (std::strcmp(text, names[level]) == 0) return level;
  return DG_LOG_WARNING;
}

// Plugins' log lines go to stderr, from the level that DOUGONG_LOG names: debug, info, warning (default), error.
void write_log(void *, dg_log_level_t level, const char *message) {
  static const int threshold = log_threshold();
  if (level >= threshold && message) std::fprintf(stderr, "dougong: %s\n", message);
}

const dg_host_t host = {sizeof(dg_host_t), DG_ABI_VERSION, 0, "dougong " DOUGONG_VERSION, nullptr, write_log};

// A plugin's own symbols come first for itself, so that two plugins, or a library that was loaded globally, may use the
// same names. Not where the process replaces malloc: a sanitizer, or a preloaded allocator, must see every call.
int open_flags() {
  Dl_info info{};
  void *address = dlsym(RTLD_DEFAULT, "malloc");
  const bool plain_malloc = address && dladdr(address, &info) && info.dli_fname && std::strstr(info.dli_fname, "/libc");
  return RTLD_NOW | RTLD_LOCAL | (plain_malloc ? RTLD_DEEPBIND : 0);
}

void *open_library(const Checked &checked) {
  static const int flags = open_flags();
  if (void *library = dlopen(checked.path().c_str(), flags)) return library;
  const char *text = dlerror();
  checked.refuse("library", format("one that loads, for version %d.%d of the device API", DG_ABI_MAJOR, DG_ABI_MINOR),
                 text ? text : "a failure without a text",
                 "link it with everything that it needs (-Wl,--no-undefined shows what is missing), and install its "
                 "driver's libraries");
}

dg_plugin_entry_v1_t find_entry(const Checked &checked, void *library) {
  if (void *entry = dlsym(library, "dg_plugin_entry_v1")) return reinterpret_cast<dg_plugin_entry_v1_t>(entry);
  std::string others;
  for (int major = 2; major <= 9; ++major)
    if (dlsym(library, format("dg_plugin_entry_v%d", major).c_str()))
      others += (others.empty() ? "" : ", ") + std::to_string(major);
  if (!others.empty())
    checked.refuse(
        "entry symbol",
        format("dg_plugin_entry_v%d: this host speaks major %d of the device API", DG_ABI_MAJOR, DG_ABI_MAJOR),
        "a plugin for major " + others, "install a dougong of that major, or a plugin built for this one");
  checked.refuse("entry symbol", "dg_plugin_entry_v1", "no symbol of that name",
                 "export it: DG_EXPORT const dg_plugin_t *dg_plugin_entry_v1(void), with C linkage");
}

std::string text_or_empty(const char *text) { return text ? text : ""; }

std::string known_devices(const std::string &name, int32_t count) {
  if (count == 0) return "no devices; `dougong doctor` says more";
  if (count == 1) return "1 device, " + name + ":0";
  return format("%d devices, %s:0 to %s:%d", count, name.c_str(), name.c_str(), count - 1);
}

}  // namespace

Plugin::~Plugin() = default;

std::unique_ptr<Plugin> Plugin::load(const std::string &path, const std::string &expected_name,
                                     const std::function<void(const Plugin &)> &accept) {
  char real[PATH_MAX];
  std::unique_ptr<Plugin> plugin(new Plugin);
  plugin->path_ = realpath(path.c_str(), real) ? real : path;
  const Checked checked(plugin->path_);
  check_library_file(checked);
  plugin->read_table(open_library(checked), expected_name);
  if (accept) accept(*plugin);
  plugin->initialize();
  return plugin;
}

void Plugin::read_table(void *library, const std::string &expected_name) {
  const Checked checked(path_);
  table_ = check_plugin_table(checked, find_entry(checked, library)(), expected_name);
  api_ = check_device_api(checked, table_.device);
  table_.device = &api_;
  name_ = table_.name;
  version_ = table_.version;
  vendor_ = text_or_empty(table_.vendor);
}

void Plugin::initialize() {
  adopt();
  dg_status_t status = DG_STATUS_OK;
  try {
    status = table_.initialize(&host, &context_);
  } catch (...) {
    fail(DG_STATUS_INTERNAL, "plugin %s: initialize let a C++ exception out. To do: catch it and return a status",
         path_.c_str());
  }
  if (status != DG_STATUS_OK) {
    context_ = nullptr;
    raise(status, "initialize");
  }
  check(table_.device_count(context_, &device_count_), "device_count");
  check_device_count(Checked(path_), device_count_);
  opened_.reset(new std::atomic<Device *>[size_t(device_count_)]());
  failures_.resize(size_t(device_count_));
}

Device &Plugin::device(int32_t index) {
  check_usable();
  if (index < 0 || index >= device_count_)
    fail(DG_STATUS_INVALID_ARGUMENT, "there is no device %s:%d: %s has %s", name_.c_str(), index, name_.c_str(),
         known_devices(name_, device_count_).c_str());
  if (Device *device = open_device(index)) return *device;
  std::lock_guard<std::mutex> guard(mutex_);
  if (Device *device = open_device(index)) return *device;
  if (failures_[size_t(index)]) throw Error(*failures_[size_t(index)]);
  opened_[size_t(index)].store(open(index).release(), std::memory_order_release);
  return *open_device(index);
}

std::unique_ptr<Device> Plugin::open(int32_t index) {
  try {
    return std::make_unique<Device>(*this, index);
  } catch (const Error &error) {
    failures_[size_t(index)] = std::make_unique<Error>(error);
    throw;
  }
}

const void *Plugin::extension(const char *id) const {
  return table_.get_extension ? table_.get_extension(context_, id) : nullptr;
}

std::string Plugin::last_error() const {
  return table_.get_last_error ? text_or_empty(table_.get_last_error(context_)) : "";
}

void Plugin::raise(dg_status_t status, const char *slot) const {
  std::string sentence = last_error();
  if (sentence.empty()) sentence = "the plugin gives no reason";
  const bool opening = std::strcmp(slot, "initialize") == 0 || std::strcmp(slot, "device_count") == 0;
  const std::string subject = opening ? "plugin " + path_ : name_;
  if (!status_is_known(status))
    fail(DG_STATUS_INTERNAL, "%s: %s returned the status %d, which is none of the device API: %s", subject.c_str(),
         slot, status, sentence.c_str());
  fail(status, "%s: %s failed with %s: %s", subject.c_str(), slot, status_name(status).c_str(), sentence.c_str());
}

void Plugin::raise_unusable() const {
  if (exiting()) fail(DG_STATUS_ABORTED, "%s cannot be used any more: the process is exiting", name_.c_str());
  fail(DG_STATUS_INVALID_ARGUMENT,
       "%s was opened before this process was forked, and a device does not survive a fork. Start workers with `spawn` "
       "(multiprocessing.get_context(\"spawn\")), or use the device first in the child",
       name_.c_str());
}

}  // namespace dougong
