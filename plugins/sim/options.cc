// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cstdlib>

namespace sim::plugin {

namespace {

std::string environment(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

dg_status_t read_variable(const char *name, uint64_t least, uint64_t most, uint64_t *value) {
  const std::string text = environment(name);
  uint64_t number;
  if (text.empty()) return DG_STATUS_OK;
  if (!read_number(text, &number) || number < least || number > most)
    return fail(DG_STATUS_INVALID_ARGUMENT, "sim: %s must be a whole number from %llu to %llu, found '%.40s'", name,
                static_cast<unsigned long long>(least), static_cast<unsigned long long>(most), text.c_str());
  *value = number;
  return DG_STATUS_OK;
}

// A quirk sets options; false if its value is none. Those without a default value take none.
struct Quirk {
  const char *name;
  const char *default_value;
  bool (*apply)(const std::string &value, Options *options);
};

bool set_alignment(const std::string &value, Options *options) {
  uint64_t alignment;
  if (!read_number(value, &alignment) || alignment < 64 || alignment > 4096 || (alignment & (alignment - 1)))
    return false;
  options->device.memory.alignment = alignment;
  options->kernel_alignment = alignment;
  return true;
}

bool set_memory(const std::string &value, Options *options) {
  const std::string units = "KMG";
  const size_t unit = value.empty() ? std::string::npos : units.find(value.back());
  uint64_t number;
  if (unit == std::string::npos || !read_number(value.substr(0, value.size() - 1), &number)) return false;
  if (number == 0 || number > uint64_t(1) << 20) return false;
  const uint64_t bytes = number << (10 * (unit + 1));
  if (bytes < 4096 || bytes > uint64_t(1) << 40) return false;
  options->device.memory.capacity = bytes;
  return true;
}

template <bool Options::*field>
bool set(const std::string &, Options *options) {
  return options->*field = true;
}
template <bool DeviceOptions::*field>
bool set_device(const std::string &, Options *options) {
  return options->device.*field = true;
}

constexpr Quirk quirks[] = {
    {"no_fp64", nullptr, set<&Options::no_fp64>},
    {"alignment", "512", set_alignment},
    {"small_memory", "64M", set_memory},
    {"no_events", nullptr, set<&Options::no_events>},
    {"no_streams", nullptr, set<&Options::no_streams>},
    {"dense_only", nullptr, set<&Options::dense_only>},
    {"handles", nullptr, [](const std::string &, Options *options) { return options->device.memory.opaque = true; }},
    {"slow_copies", nullptr, set_device<&DeviceOptions::slow_copies>},
    {"single_queue", nullptr, set_device<&DeviceOptions::one_at_a_time>},
};

std::string known_quirks() {
  return join(quirks, [](const Quirk &quirk) {
    return std::string(quirk.name) + (quirk.default_value ? std::string("=") + quirk.default_value : "");
  });
}

dg_status_t read_quirk(const std::string &item, Options *options) {
  const size_t equals = item.find('=');
  const bool valued = equals != std::string::npos;
  for (const Quirk &quirk : quirks) {
    if (item.substr(0, equals) != quirk.name || (valued && !quirk.default_value)) continue;
    const std::string value = valued ? item.substr(equals + 1) : quirk.default_value ? quirk.default_value : "";
    if (quirk.apply(value, options)) return DG_STATUS_OK;
  }
  return fail(DG_STATUS_INVALID_ARGUMENT,
              "sim: DOUGONG_SIM_QUIRKS: '%.60s' is no quirk; there are %s (alignment: a power of two from 64 to 4096; "
              "small_memory: from 4K to 1024G)",
              item.c_str(), known_quirks().c_str());
}

const std::vector<FaultySlot> faulty_slots = {
    {"device_create", false, false},
    {"device_synchronize", false, false},
    {"memory_allocate", false, false},
    {"copy_host_to_device", true, true},
    {"copy_device_to_host", true, true},
    {"copy_device_to_device", true, true},
    {"copy_peer", true, true},
    {"memory_fill", true, false},
    {"stream_create", false, false},
    {"stream_query", false, false},
    {"stream_synchronize", false, false},
    {"stream_wait_event", false, false},
    {"stream_add_callback", false, false},
    {"event_create", false, false},
    {"event_record", false, false},
    {"event_query", false, false},
    {"event_synchronize", false, false},
    {"kernel_launch", true, false},
};

}  // namespace

dg_status_t read_options(Options *out_options) {
  Options options;
  uint64_t most = options.device.delays.most, one_in = options.device.delays.one_in;
  dg_status_t status = read_variable("DOUGONG_SIM_DEVICES", 0, 64, &options.device_count);
  if (status == DG_STATUS_OK) status = read_variable("DOUGONG_SIM_SEED", 0, UINT64_MAX, &options.device.delays.seed);
  if (status == DG_STATUS_OK) status = read_variable("DOUGONG_SIM_DELAY_US", 0, 10000000, &most);
  if (status == DG_STATUS_OK) status = read_variable("DOUGONG_SIM_DELAY_EVERY", 0, 1000000, &one_in);
  options.device.delays.most = uint32_t(most);
  options.device.delays.one_in = uint32_t(one_in);
  for (const std::string &item : split(environment("DOUGONG_SIM_QUIRKS"), ','))
    if (status == DG_STATUS_OK) status = read_quirk(item, &options);
  if (status == DG_STATUS_OK) *out_options = options;
  return status;
}

dg_status_t read_faults(FaultPlan *out_plan) {
  return out_plan->parse("sim: DOUGONG_SIM_FAULTS", environment("DOUGONG_SIM_FAULTS"), faulty_slots);
}

}  // namespace sim::plugin
