// What the loader demands of a plugin before it trusts it. Each refusal is an Error of status INCOMPATIBLE that names
// the plugin's file, the field, what was wanted, what was found, and what to do. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace dougong {

// The longest table that is believed [ABI-001].
constexpr size_t max_table_size = 65536;
constexpr int32_t max_device_count = 4096;

// The file that is being checked, for the messages.
class Checked {
 public:
  explicit Checked(std::string path) : path_(std::move(path)) {}
  const std::string &path() const { return path_; }
  [[noreturn]] void refuse(const char *field, const std::string &wanted, const std::string &found,
                           const std::string &remedy) const;

 private:
  std::string path_;
};

bool is_utf8(const char *text);
// A lower-case letter, then lower-case letters, digits and underscores, at most 31 bytes.
bool is_plugin_name(const std::string &name);
// The text in quotes, cut to a sane length, bytes that are not UTF-8 shown as \xNN.
std::string quoted(const char *text);

// Refuses a size that no compiler made, or that does not reach `required` bytes.
void check_size(const Checked &checked, const char *field, size_t size, size_t required);

// The prefix of a plugin's table that both sides know, the rest zero.
template <class Table>
Table copy_table(const Checked &checked, const char *name, const Table *table, size_t required) {
  if (!table) checked.refuse(name, "a table", "a null pointer", "return the address of a static table");
  check_size(checked, (std::string(name) + ".struct_size").c_str(), table->struct_size, required);
  Table copy{};
  std::memcpy(&copy, table, std::min(table->struct_size, sizeof(Table)));
  return copy;
}

// The file is there and begins as a shared library of this platform does.
void check_library_file(const Checked &checked);
dg_plugin_t check_plugin_table(const Checked &checked, const dg_plugin_t *table, const std::string &expected_name);
dg_device_api_t check_device_api(const Checked &checked, const dg_device_api_t *table);
void check_device_count(const Checked &checked, int32_t count);
void check_properties(const Checked &checked, const dg_device_properties_t &properties);
std::vector<const dg_kernel_t *> check_kernels(const Checked &checked, const dg_kernel_t *const *kernels, size_t count);

}  // namespace dougong
