// Which device names exist, and where their libraries lie. Nothing is opened before its device is asked for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plugin.h"

namespace dougong {

// "acme" or "acme:3". The index is -1 when the string has none.
struct DeviceName {
  std::string name;
  int32_t index = -1;
};

// Throws INVALID_ARGUMENT for anything that is not exactly <name> or <name>:<index>, index without sign and leading
// zeros.
DeviceName parse_device_name(const std::string &text);

class Registry {
 public:
  static Registry &get();

  // Makes a name known: `source` says from where, for people; `path` is asked for when the device is first used, and
  // may throw. Returns false, and changes nothing, if the name is known already: the first source stays.
  bool declare(const std::string &name, const std::string &source, std::function<std::string()> path);
  // Called with a name that nobody declared, or with "" before the names are listed: it may declare.
  void set_discovery(std::function<void(const std::string &)> discover);

  // Opens at once; returns the plugin, which may have been open already, by whatever path. Another file for a known
  // name is refused with both files named.
  Plugin &load(const std::string &path);

  // The plugin of a name, opened on first use. An opening that failed fails again with the same first error.
  Plugin &plugin(const std::string &name);
  // "acme" is the current device of acme on this thread, "acme:1" that one.
  Device &device(const std::string &text);
  // What "acme" means on this thread from now on. At first it is acme:0.
  void set_current_device(Device &device);

  std::vector<std::string> names() const;  // sorted
  std::vector<Plugin *> loaded() const;

  // Fork safety: in a child of a process that had opened a plugin, every use of its devices throws and says `spawn`.
  // The host's own devices ("cpu") and plugins that were not open yet work in the child.
  bool forked() const;

  // For the end of the process: waits for all devices; later uses throw, later frees do nothing.
  void shutdown();

 private:
  struct Entry;
  struct State;
  Registry();
  Entry *find(const std::string &name);
  Entry &known(const std::string &name);
  Plugin *opened(const std::string &name);
  Plugin &open(Entry &entry);
  Plugin &open_locked(Entry &entry, const std::string &path);
  Plugin &load_locked(const std::string &path, const std::string &expected_name);
  void check_free(const std::string &name, const std::string &path);
  static void before_fork();
  static void after_fork(bool child);
  State *state_;  // leaked on purpose
};

}  // namespace dougong
