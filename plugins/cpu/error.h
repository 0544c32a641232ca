// Why the last call of this thread failed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

namespace dougong::cpu {

// Keeps the printf-formatted sentence for get_last_error and returns the status.
dg_status_t fail(dg_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *last_error();

}  // namespace dougong::cpu
