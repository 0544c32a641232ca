// SPDX-License-Identifier: Apache-2.0
#include "error.h"

#include <cstdarg>
#include <cstdio>

namespace sim {

static thread_local char sentence[512];

dg_status_t fail(dg_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return status;
}

const char *last_error() { return sentence; }

}  // namespace sim
