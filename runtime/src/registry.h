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

// Throws INVALID_ARGUMENT for anything that is not exactly <name> or <name>:<index>, index without sign and leading zeros.
DeviceName parse_device_name(const std::string &text);

class Registry {
 public:
  static Registry &get();

  // Makes a name known: `source` says from where, for people; `path` is asked for when the device is first used.
  // The same file again, by whatever path, is not an error; another file for a known name is: the first one stays.
  void declare(const std::string &name, const std::string &source, std::function<std::string()> path);

  // Declares and opens at once; returns the plugin, which may have been open already.
  Plugin &load(const std::string &path);

  // The plugin of a name, opened on first use. An opening that failed fails again with the same first error.
  Plugin &plugin(const std::string &name);
  // "acme" is the current device of acme on this thread, "acme:1" that one.
  Device &device(const std::string &text);

  std::vector<std::string> names() const;
  std::vector<Plugin *> loaded() const;

  // Fork safety: in a child of a process that had opened plugins, every use of a device throws and says `spawn`.
  bool forked() const;
};

}  // namespace dougong
