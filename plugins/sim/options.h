// What the environment asks of the simulator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/engine.h"

namespace sim::plugin {

struct Options {
  uint64_t device_count = 2;
  DeviceOptions device;
  uint64_t kernel_alignment = 0;  // that kernels declare; 0: none
  bool no_fp64 = false;
  bool no_events = false;
  bool no_streams = false;
  bool dense_only = false;
};

// From DOUGONG_SIM_DEVICES, _SEED, _DELAY_US, _DELAY_EVERY and _QUIRKS. INVALID_ARGUMENT says which one is wrong.
dg_status_t read_options(Options *out_options);

// From DOUGONG_SIM_FAULTS.
dg_status_t read_faults(FaultPlan *out_plan);

}  // namespace sim::plugin
