// Why the last call of this thread failed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

namespace sim {

// Keeps the printf-formatted sentence for last_error() and returns the status.
dg_status_t fail(dg_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The sentence of this thread's last failure. Valid until its next one.
const char *last_error();

}  // namespace sim
