// What goes wrong, by plan: "memory_allocate:3=OUT_OF_MEMORY,kernel_launch:5=later:DEVICE_LOST".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct Fault {
  enum Kind {
    none,
    call,    // the call itself fails, and queues nothing
    later,   // the call succeeds; the work fails when the queue comes there
    corrupt  // of a copy: its first byte arrives wrong
  };
  Kind kind = none;
  dg_status_t status = DG_STATUS_OK;
};

// A call that faults can be planned for, and which kinds make sense.
struct FaultySlot {
  std::string name;
  bool queues;  // may fail later
  bool copies;  // may corrupt
};

class FaultPlan {
 public:
  // Adds the faults of a text: SLOT:N=STATUS, SLOT:N=later:STATUS and SLOT:N=corrupt, separated by commas; N counts the
  // calls of the slot from 1. An INVALID_ARGUMENT's sentence calls the text `name`.
  dg_status_t parse(const std::string &name, const std::string &text, const std::vector<FaultySlot> &slots);

  // Counts a call of the slot, and says what happens to it. [any thread]
  Fault next(std::string_view slot);

 private:
  struct Calls {
    std::atomic<uint64_t> count{0};
    std::map<uint64_t, Fault> faults;  // by the number of the call
  };
  std::map<std::string, Calls, std::less<>> slots_;  // those with faults; not changed after parse
};

}  // namespace sim
