// SPDX-License-Identifier: Apache-2.0
#include "faults.h"

#include <algorithm>
#include <cstdlib>

#include "error.h"
#include "text.h"

namespace sim {

namespace {

struct Name {
  const char *text;
  dg_status_t status;
};
constexpr Name statuses[] = {
    {"INVALID_ARGUMENT", DG_STATUS_INVALID_ARGUMENT},
    {"OUT_OF_MEMORY", DG_STATUS_OUT_OF_MEMORY},
    {"UNSUPPORTED", DG_STATUS_UNSUPPORTED},
    {"UNIMPLEMENTED", DG_STATUS_UNIMPLEMENTED},
    {"OUT_OF_RANGE", DG_STATUS_OUT_OF_RANGE},
    {"DEVICE_LOST", DG_STATUS_DEVICE_LOST},
    {"TIMED_OUT", DG_STATUS_TIMED_OUT},
    {"ABORTED", DG_STATUS_ABORTED},
    {"INTERNAL", DG_STATUS_INTERNAL},
};

bool read_fault(std::string text, const FaultySlot &slot, Fault *out_fault) {
  if (text == "corrupt") {
    *out_fault = {Fault::corrupt, DG_STATUS_OK};
    return slot.copies;
  }
  const bool later = text.rfind("later:", 0) == 0;
  if (later) text = text.substr(6);
  for (const Name &name : statuses) {
    if (text != name.text) continue;
    *out_fault = {later ? Fault::later : Fault::call, name.status};
    return !later || slot.queues;
  }
  return false;
}

std::string forms(const FaultySlot &slot) {
  std::string text = "a status such as OUT_OF_MEMORY or DEVICE_LOST";
  if (slot.queues) text += ", or later: and a status";
  if (slot.copies) text += ", or corrupt";
  return text;
}

}  // namespace

dg_status_t FaultPlan::parse(const std::string &name, const std::string &text, const std::vector<FaultySlot> &slots) {
  for (const std::string &item : split(text, ',')) {
    const size_t colon = item.find(':'), equals = item.find('=');
    uint64_t number = 0;
    if (colon == std::string::npos || equals == std::string::npos || equals < colon ||
        !read_number(item.substr(colon + 1, equals - colon - 1), &number) || number == 0)
      return fail(DG_STATUS_INVALID_ARGUMENT,
                  "%s: wanted SLOT:N=FAULT with N from 1, as in memory_allocate:3=OUT_OF_MEMORY; found '%s'",
                  name.c_str(), item.c_str());
    const auto slot = std::find_if(slots.begin(), slots.end(),
                                   [&](const FaultySlot &known) { return known.name == item.substr(0, colon); });
    if (slot == slots.end())
      return fail(DG_STATUS_INVALID_ARGUMENT, "%s: '%s' is no slot that can fail; there are %s", name.c_str(),
                  item.substr(0, colon).c_str(),
                  join(slots, [](const FaultySlot &known) { return known.name; }).c_str());
    Fault fault;
    if (!read_fault(item.substr(equals + 1), *slot, &fault))
      return fail(DG_STATUS_INVALID_ARGUMENT, "%s: wanted for %s %s; found '%s'", name.c_str(), slot->name.c_str(),
                  forms(*slot).c_str(), item.substr(equals + 1).c_str());
    slots_[slot->name].faults[number] = fault;
  }
  return DG_STATUS_OK;
}

Fault FaultPlan::next(std::string_view slot) {
  const auto calls = slots_.find(slot);
  if (calls == slots_.end()) return {};
  const auto fault = calls->second.faults.find(++calls->second.count);
  return fault == calls->second.faults.end() ? Fault{} : fault->second;
}

}  // namespace sim
