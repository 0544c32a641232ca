// The engine of simulated devices: memory that the host cannot touch, queues that work on their own, events, planned
// faults. It knows no API: plugins/sim puts the device API over it, and simulators of other runtimes can put theirs.
//
//   Arena, PinnedMemory   memory of a device, and of the host for copies that go on after the call
//   Queue, Event          work in order on a thread of its own, and marks in it
//   Device                an arena and its queues, copies and fills, device loss
//   FaultPlan             which call goes wrong, and how
//   check_process()       forks, and the end of the process
//
// Calls return a status; the sentence for the last failure of the calling thread is last_error().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arena.h"
#include "device.h"
#include "error.h"
#include "event.h"
#include "faults.h"
#include "pinned.h"
#include "process.h"
#include "queue.h"
#include "text.h"
