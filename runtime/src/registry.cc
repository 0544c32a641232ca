// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

#include <pthread.h>
#include <sys/stat.h>

#include <cstdio>
#include <map>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "allocator.h"
#include "device.h"
#include "dispatch.h"
#include "loader_checks.h"

namespace dougong {

namespace {

// The file behind a path, whatever the path is called.
using Identity = std::pair<uint64_t, uint64_t>;

std::optional<Identity> identify(const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return Identity{info.st_dev, info.st_ino};
}

// The one plugin that a forked child may go on using: it keeps no state that a fork breaks.
constexpr const char *host_plugin = "cpu";

[[noreturn]] void bad_name(const std::string &text, const std::string &reason) {
  fail(DG_STATUS_INVALID_ARGUMENT,
       "%s is no device string: %s. Wanted a plugin's name, or name and index, like acme or acme:0",
       quoted(text.c_str()).c_str(), reason.c_str());
}

int32_t parse_index(const std::string &text, const std::string &digits) {
  if (digits.empty()) bad_name(text, "the index is missing behind the colon");
  if (digits.find_first_not_of("0123456789") != std::string::npos)
    bad_name(text, "the index " + quoted(digits.c_str()) + " is not a number without a sign");
  if (digits.size() > 1 && digits[0] == '0') bad_name(text, "the index has a leading zero");
  if (digits.size() > 4) bad_name(text, "no plugin has so many devices");
  return std::stoi(digits);
}

// What "acme" means on this thread.
thread_local std::unordered_map<const Plugin *, int32_t> current_indices;

int32_t current_index(const Plugin &plugin) {
  const auto found = current_indices.find(&plugin);
  return found == current_indices.end() ? 0 : found->second;
}

}  // namespace

DeviceName parse_device_name(const std::string &text) {
  const size_t colon = text.find(':');
  DeviceName result{text.substr(0, colon), -1};
  if (!is_plugin_name(result.name))
    bad_name(text, result.name.empty()
                       ? "the name is missing"
                       : "a name is a lower-case letter, then lower-case letters, digits and underscores");
  if (colon != std::string::npos) result.index = parse_index(text, text.substr(colon + 1));
  return result;
}

struct Registry::Entry {
  std::string name, source;
  std::function<std::string()> path;
  Plugin *plugin = nullptr;      // once it is open
  std::optional<Error> failure;  // of the first opening
};

struct Registry::State {
  std::mutex mutex;  // of everything here; held for moments only, never while a plugin or Python runs
  std::map<std::string, std::unique_ptr<Entry>> entries;
  std::map<Identity, Plugin *> plugins;  // by the file that they came from
  std::map<Identity, Error> failures;
  std::vector<Plugin *> order;
  std::function<void(const std::string &)> discover;
  std::mutex loading;  // held while a library is opened: one at a time
};

Registry::Registry() : state_(new State) {
  pthread_atfork(before_fork, [] { after_fork(false); }, [] { after_fork(true); });
}

Registry &Registry::get() {
  static Registry *registry = new Registry;
  return *registry;
}

bool Registry::declare(const std::string &name, const std::string &source, std::function<std::string()> path) {
  if (!is_plugin_name(name)) bad_name(name, "a plugin cannot have this name");
  std::lock_guard<std::mutex> guard(state_->mutex);
  auto &entry = state_->entries[name];
  if (entry) return false;
  entry.reset(new Entry{name, source, std::move(path), nullptr, std::nullopt});
  return true;
}

void Registry::set_discovery(std::function<void(const std::string &)> discover) {
  std::lock_guard<std::mutex> guard(state_->mutex);
  state_->discover = std::move(discover);
}

Registry::Entry *Registry::find(const std::string &name) {
  std::lock_guard<std::mutex> guard(state_->mutex);
  const auto found = state_->entries.find(name);
  return found == state_->entries.end() ? nullptr : found->second.get();
}

Plugin *Registry::opened(const std::string &name) {
  std::lock_guard<std::mutex> guard(state_->mutex);
  const auto found = state_->entries.find(name);
  return found == state_->entries.end() ? nullptr : found->second->plugin;
}

Registry::Entry &Registry::known(const std::string &name) {
  if (Entry *entry = find(name)) return *entry;
  if (state_->discover) state_->discover(name);
  if (Entry *entry = find(name)) return *entry;
  std::string list;
  for (const std::string &other : names()) list += (list.empty() ? "" : ", ") + other;
  fail(DG_STATUS_INVALID_ARGUMENT,
       "there is no device %s: known here: %s. Install its plugin, set DOUGONG_PLUGIN_PATH or call "
       "dougong.load_plugin(path); `dougong doctor` shows what was found and why not",
       quoted(name.c_str()).c_str(), list.empty() ? "none" : list.c_str());
}

Plugin &Registry::plugin(const std::string &name) {
  if (Plugin *plugin = opened(name)) {
    plugin->check_usable();
    return *plugin;
  }
  return open(known(name));
}

// The path is asked for before the lock is taken, because Python answers; another thread may ask at the same time.
Plugin &Registry::open(Entry &entry) {
  std::function<std::string()> find_path;
  {
    std::lock_guard<std::mutex> guard(state_->mutex);
    if (entry.failure) throw Error(*entry.failure);
    find_path = entry.path;
  }
  const std::string path = find_path();
  const Unlocked unlocked;
  std::lock_guard<std::mutex> guard(state_->loading);
  return open_locked(entry, path);
}

Plugin &Registry::open_locked(Entry &entry, const std::string &path) {
  if (Plugin *plugin = opened(entry.name)) return *plugin;
  {
    std::lock_guard<std::mutex> guard(state_->mutex);
    if (entry.failure) throw Error(*entry.failure);
  }
  return load_locked(path, entry.name);
}

Plugin &Registry::load(const std::string &path) {
  const Unlocked unlocked;
  std::lock_guard<std::mutex> guard(state_->loading);
  Plugin &plugin = load_locked(path, "");
  plugin.check_usable();
  return plugin;
}

// Opens the library unless the file is open already, and makes its name known.
Plugin &Registry::load_locked(const std::string &path, const std::string &expected_name) {
  const auto identity = identify(path);
  if (identity) {
    std::lock_guard<std::mutex> guard(state_->mutex);
    const auto found = state_->plugins.find(*identity);
    if (found != state_->plugins.end() && (expected_name.empty() || expected_name == found->second->name()))
      return *found->second;
    const auto failed = state_->failures.find(*identity);
    if (failed != state_->failures.end()) throw Error(failed->second);
  }
  std::string name = expected_name;
  bool accepted = false;
  try {
    Plugin *plugin = Plugin::load(path, expected_name, [&](const Plugin &candidate) {
                       if (expected_name.empty()) check_free(candidate.name(), candidate.path());
                       name = candidate.name();
                       accepted = true;
                     }).release();
    const auto file = [file = plugin->path()] { return file; };
    declare(name, "load_plugin", file);
    std::lock_guard<std::mutex> guard(state_->mutex);
    Entry &entry = *state_->entries[name];
    if (expected_name.empty()) entry.source = "load_plugin", entry.path = file, entry.failure.reset();
    entry.plugin = state_->plugins[*identify(path)] = plugin;
    state_->order.push_back(plugin);
    return *plugin;
  } catch (const Error &error) {
    if (name.empty()) throw;
    declare(name, "load_plugin", [path] { return path; });
    std::lock_guard<std::mutex> guard(state_->mutex);
    if (accepted && identity) state_->failures.emplace(*identity, error);
    Entry &entry = *state_->entries[name];
    const bool concerned = !expected_name.empty() || entry.source == "load_plugin";
    if (concerned && !entry.plugin && !entry.failure) entry.failure.emplace(error);
    throw;
  }
}

// A path that was given comes before whatever discovery found, unless that is open already.
void Registry::check_free(const std::string &name, const std::string &path) {
  const Plugin *first = opened(name);
  if (!first || identify(first->path()) == identify(path)) return;
  Checked(path).refuse("dg_plugin_t.name", "a name that no other open plugin has",
                       quoted(name.c_str()) + ", which belongs to " + first->path() + " (" + find(name)->source + ")",
                       "load this one before the other is used, or rename one of the two; the first goes on working");
}

Device &Registry::device(const std::string &text) {
  const DeviceName name = parse_device_name(text);
  Plugin &plugin = this->plugin(name.name);
  const int32_t index = name.index < 0 ? current_index(plugin) : name.index;
  if (index < plugin.device_count())
    if (Device *device = plugin.open_device(index)) return *device;
  const Unlocked unlocked;
  return plugin.device(index);
}

void Registry::set_current_device(Device &device) { current_indices[&device.plugin()] = device.index(); }

std::vector<std::string> Registry::names() const {
  if (state_->discover) state_->discover("");
  std::lock_guard<std::mutex> guard(state_->mutex);
  std::vector<std::string> result;
  for (const auto &entry : state_->entries) result.push_back(entry.first);
  return result;
}

std::vector<Plugin *> Registry::loaded() const {
  std::lock_guard<std::mutex> guard(state_->mutex);
  return state_->order;
}

bool Registry::forked() const {
  for (const Plugin *plugin : loaded())
    if (!plugin->usable()) return true;
  return false;
}

void Registry::before_fork() {
  State &state = *get().state_;
  state.mutex.lock();
  for (Plugin *plugin : state.order)
    for (int32_t i = 0; plugin->name() == host_plugin && i < plugin->device_count(); ++i)
      if (Device *device = plugin->open_device(i)) device->allocator().lock_for_fork();
}

void Registry::after_fork(bool child) {
  State &state = *get().state_;
  if (child && !Plugin::exiting()) Plugin::begin_fork_child();
  for (Plugin *plugin : state.order) {
    if (plugin->name() != host_plugin) continue;
    if (child) plugin->adopt();
    for (int32_t i = 0; i < plugin->device_count(); ++i)
      if (Device *device = plugin->open_device(i)) device->allocator().unlock_after_fork();
  }
  if (child) new (&state.loading) std::mutex;  // whoever held it is not in this process
  state.mutex.unlock();
}

void Registry::shutdown() {
  for (Plugin *plugin : loaded()) {
    for (int32_t i = 0; plugin->usable() && i < plugin->device_count(); ++i) {
      Device *device = plugin->open_device(i);
      if (!device) continue;
      try {
        device->synchronize();
      } catch (const Error &error) {
        std::fprintf(stderr, "dougong: %s failed before the process ended: %s\n", device->name().c_str(), error.what());
      }
    }
  }
  Plugin::begin_exit();
}

}  // namespace dougong
