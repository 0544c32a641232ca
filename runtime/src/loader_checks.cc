// SPDX-License-Identifier: Apache-2.0
#include "loader_checks.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "dtype.h"
#include "status.h"

namespace dougong {

namespace {

constexpr size_t max_kernel_count = 1 << 20;
constexpr size_t max_text = 4096;
constexpr uint64_t max_alignment = uint64_t(1) << 30;

// Bytes of a struct up to and including a field.
#define END_OF(type, field) (offsetof(type, field) + sizeof(type::field))

// The length of the UTF-8 sequence that begins here, or 0. Overlong forms and surrogates are no UTF-8.
size_t sequence_length(const unsigned char *s) {
  const unsigned char a = s[0];
  const auto tail = [s](size_t i) { return (s[i] & 0xc0) == 0x80; };
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a < 0xe0) return tail(1) ? 2 : 0;
  if ((a & 0xf0) == 0xe0) {
    if ((a == 0xe0 && s[1] < 0xa0) || (a == 0xed && s[1] >= 0xa0)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (a >= 0xf0 && a < 0xf5) {
    if ((a == 0xf0 && s[1] < 0x90) || (a == 0xf4 && s[1] >= 0x90)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void check_text(const Checked &checked, const char *field, const char *text) {
  if (text && !is_utf8(text)) checked.refuse(field, "UTF-8 text", quoted(text), "encode it in UTF-8, or leave it null");
}

void check_dtypes(const Checked &checked, const std::string &field, const dg_dtype_t *list) {
  if (!list) return;
  for (int i = 0; list[i] != DG_DTYPE_NONE; ++i)
    if (!dtype_is_known(list[i]))
      checked.refuse(format("%s[%d]", field.c_str(), i).c_str(), "one of DG_DTYPE_*", format("0x%08x", list[i]),
                     "list only dtypes of dg_types.h, and end the list with DG_DTYPE_NONE");
}

void check_name(const Checked &checked, const char *name, const std::string &expected) {
  const char *field = "dg_plugin_t.name";
  const char *rule = "a lower-case letter, then lower-case letters, digits and underscores, at most 31 bytes";
  if (!name) checked.refuse(field, rule, "a null pointer", "set it to the name of the device string, like \"acme\"");
  if (!is_utf8(name)) checked.refuse(field, rule, quoted(name) + ", which is not UTF-8", "choose a plain name");
  if (!is_plugin_name(name)) checked.refuse(field, rule, quoted(name), "rename the plugin; \"acme\" would do");
  if (!expected.empty() && expected != name)
    checked.refuse(field, quoted(expected.c_str()) + ", the name that it is known by", quoted(name),
                   "call the file libdg_<name>.so and the entry point <name> after the plugin's own name");
}

void check_required(const Checked &checked, const char *field, bool present) {
  if (!present)
    checked.refuse(field, "a function, because the slot is required", "a null pointer",
                   "implement it; it may return DG_STATUS_UNIMPLEMENTED");
}

struct Slot {
  const char *name;
  bool present;
};

void check_group(const Checked &checked, const std::vector<Slot> &slots) {
  std::string present, missing;
  for (const Slot &slot : slots)
    (slot.present ? present : missing) += std::string(slot.present      ? present.empty() ? "" : ", "
                                                      : missing.empty() ? ""
                                                                        : ", ") +
                                          slot.name;
  if (!present.empty() && !missing.empty())
    checked.refuse("dg_device_api_t", "all slots of this group or none", "present: " + present + "; null: " + missing,
                   "implement the rest of the group, or leave all of it null");
}

}  // namespace

void Checked::refuse(const char *field, const std::string &wanted, const std::string &found,
                     const std::string &remedy) const {
  fail(DG_STATUS_INCOMPATIBLE, "plugin %s: %s: wanted %s; found %s. To do: %s", path_.c_str(), field, wanted.c_str(),
       found.c_str(), remedy.c_str());
}

bool is_utf8(const char *text) {
  for (auto *s = reinterpret_cast<const unsigned char *>(text); *s;) {
    const size_t length = sequence_length(s);
    if (!length) return false;
    s += length;
  }
  return true;
}

bool is_plugin_name(const std::string &name) {
  if (name.empty() || name.size() > 31 || name[0] < 'a' || name[0] > 'z') return false;
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

std::string quoted(const char *text) {
  std::string result = "\"";
  auto *s = reinterpret_cast<const unsigned char *>(text);
  for (size_t i = 0; s[i]; ++i) {
    if (i >= 80) return result + "...\"";
    if (s[i] < 0x20 || s[i] >= 0x7f)
      result += format("\\x%02x", s[i]);
    else
      result += char(s[i]);
  }
  return result + "\"";
}

void check_size(const Checked &checked, const char *field, size_t size, size_t required) {
  const char *remedy = "set struct_size to sizeof the struct, and build against the headers of this API";
  if (size == 0) checked.refuse(field, format("at least %zu bytes", required), "0", remedy);
  if (size > max_table_size || size % sizeof(void *))
    checked.refuse(field, format("%zu to %zu bytes, a multiple of %zu", required, max_table_size, sizeof(void *)),
                   format("%zu", size), remedy);
  if (size < required)
    checked.refuse(field, format("at least %zu bytes, the part up to the last required field", required),
                   format("%zu", size), remedy);
}

// The system's loader takes the process down when a file is shorter than its headers say.
static void check_length(const Checked &checked, std::FILE *file, const ElfW(Ehdr) & header, uint64_t length) {
  for (int i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) part{};
    const bool read = header.e_phoff < length &&
                      std::fseek(file, long(header.e_phoff) + i * header.e_phentsize, SEEK_SET) == 0 &&
                      std::fread(&part, sizeof part, 1, file) == 1;
    if (read && (part.p_type != PT_LOAD || (part.p_offset <= length && part.p_filesz <= length - part.p_offset)))
      continue;
    checked.refuse("file", "a whole shared library",
                   format("a file that is cut off after %llu bytes", static_cast<unsigned long long>(length)),
                   "build or copy it again");
  }
}

void check_library_file(const Checked &checked) {
  const char *path = checked.path().c_str();
  struct stat info;
  if (stat(path, &info) != 0)
    checked.refuse("file", "a shared library", std::strerror(errno), "check the path, and that the plugin was built");
  if (!S_ISREG(info.st_mode))
    checked.refuse("file", "a shared library", S_ISDIR(info.st_mode) ? "a folder" : "no regular file",
                   "name the library itself: libdg_<name>.so");
  const std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(std::fopen(path, "rb"), std::fclose);
  if (!file) checked.refuse("file", "a shared library", std::strerror(errno), "make it readable");
  ElfW(Ehdr) header{};
  const size_t length = std::fread(&header, 1, sizeof header, file.get());
  const char *wanted = "an ELF shared library for this machine";
  if (length < SELFMAG || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    checked.refuse("file", wanted, length ? "a file that is not ELF" : "an empty file", "build it with -shared -fPIC");
  if (length < sizeof header) checked.refuse("file", wanted, "a file that is cut off", "build or copy it again");
  if (header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
    checked.refuse("file", wanted, format("ELF of class %d", header.e_ident[EI_CLASS]), "build it for this machine");
  if (header.e_type != ET_DYN)
    checked.refuse("file", wanted, format("ELF of type %d", header.e_type), "link it with -shared -fPIC");
  check_length(checked, file.get(), header, uint64_t(info.st_size));
}

dg_plugin_t check_plugin_table(const Checked &checked, const dg_plugin_t *table, const std::string &expected_name) {
  const dg_plugin_t plugin = copy_table(checked, "dg_plugin_t", table, END_OF(dg_plugin_t, device));
  if (plugin.abi_version >> 16 != DG_ABI_MAJOR)
    checked.refuse("dg_plugin_t.abi_version", format("major %d, DG_ABI_VERSION as built", DG_ABI_MAJOR),
                   format("0x%08x, major %u", plugin.abi_version, plugin.abi_version >> 16),
                   "set it to DG_ABI_VERSION");
  check_name(checked, plugin.name, expected_name);
  if (!plugin.version || !*plugin.version)
    checked.refuse("dg_plugin_t.version", "the plugin's version, like \"1.2.0\"",
                   plugin.version ? "an empty text" : "a null pointer", "set it");
  check_text(checked, "dg_plugin_t.version", plugin.version);
  check_text(checked, "dg_plugin_t.vendor", plugin.vendor);
  check_required(checked, "dg_plugin_t.initialize", plugin.initialize);
  check_required(checked, "dg_plugin_t.device_count", plugin.device_count);
  return plugin;
}

dg_device_api_t check_device_api(const Checked &checked, const dg_device_api_t *table) {
  const dg_device_api_t api =
      copy_table(checked, "dg_device_api_t", table, END_OF(dg_device_api_t, copy_device_to_host));
#define REQUIRE(slot) check_required(checked, "dg_device_api_t." #slot, api.slot)
  REQUIRE(device_create);
  REQUIRE(device_destroy);
  REQUIRE(device_get_properties);
  REQUIRE(memory_allocate);
  REQUIRE(memory_free);
  REQUIRE(copy_host_to_device);
  REQUIRE(copy_device_to_host);
#undef REQUIRE
#define SLOT(slot) {#slot, api.slot != nullptr}
  check_group(checked, {SLOT(stream_create), SLOT(stream_destroy), SLOT(stream_query), SLOT(stream_synchronize)});
  check_group(checked, {SLOT(event_create), SLOT(event_destroy), SLOT(event_record), SLOT(event_query),
                        SLOT(event_synchronize)});
#undef SLOT
  if (api.event_create && !api.stream_create)
    checked.refuse("dg_device_api_t.event_create", "event slots with stream slots only",
                   "event slots without stream slots", "implement streams, or leave the events null");
  return api;
}

void check_device_count(const Checked &checked, int32_t count) {
  if (count < 0 || count > max_device_count)
    checked.refuse("device_count", format("0 to %d", max_device_count), format("%d", count),
                   "return how many devices there are");
}

void check_properties(const Checked &checked, const dg_device_properties_t &p) {
  if (p.alignment > max_alignment || (p.alignment & (p.alignment - 1)))
    checked.refuse("dg_device_properties_t.alignment", "a power of two up to 2^30, or 0 for 64",
                   format("%llu", static_cast<unsigned long long>(p.alignment)),
                   "give the bytes to which allocations are aligned");
  if (p.lowest_priority > 0 || p.highest_priority < 0)
    checked.refuse("dg_device_properties_t.lowest_priority", "lowest_priority <= 0 <= highest_priority",
                   format("lowest %d, highest %d", p.lowest_priority, p.highest_priority),
                   "a greater number is more urgent; leave both 0 where there is one priority");
  check_text(checked, "dg_device_properties_t.name", p.name);
  check_text(checked, "dg_device_properties_t.architecture", p.architecture);
  check_dtypes(checked, "dg_device_properties_t.dtypes", p.dtypes);
}

std::vector<const dg_kernel_t *> check_kernels(const Checked &checked, const dg_kernel_t *const *kernels,
                                               size_t count) {
  if (count > max_kernel_count)
    checked.refuse("device_get_kernels: out_count", format("at most %zu", max_kernel_count), format("%zu", count),
                   "return the number of pointers in the list");
  if (count && !kernels)
    checked.refuse("device_get_kernels: out_kernels", format("a list of %zu pointers", count), "a null pointer",
                   "return the list, or a count of 0");
  std::vector<const dg_kernel_t *> result(kernels, kernels + count);
  for (size_t i = 0; i < count; ++i) {
    const std::string kernel = format("kernel %zu", i);
    const auto field = [&kernel](const char *name) { return kernel + ", dg_kernel_t" + name; };
    const dg_kernel_t copy = copy_table(checked, field("").c_str(), kernels[i], END_OF(dg_kernel_t, launch));
    if (!copy.op || !*copy.op || !is_utf8(copy.op) || std::strlen(copy.op) > max_text)
      checked.refuse(field(".op").c_str(), "the name of an op, DG_OP_* of dg_ops.h",
                     copy.op ? quoted(copy.op) : "a null pointer", "set it");
    const std::string op = field(" of ") + copy.op;
    if (!copy.launch) checked.refuse((op + ": launch").c_str(), "a function", "a null pointer", "implement it");
    if (copy.alignment & (copy.alignment - 1))
      checked.refuse((op + ": alignment").c_str(), "a power of two, or 0", format("%u", copy.alignment), "correct it");
    for (const dg_dtype_t *list : copy.types) check_dtypes(checked, op + ": types", list);
  }
  return result;
}

}  // namespace dougong
