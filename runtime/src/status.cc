// SPDX-License-Identifier: Apache-2.0
#include "status.h"

#include <cstdarg>
#include <cstdio>

namespace dougong {

static const char *const status_names[] = {"OK",          "NOT_READY",     "INVALID_ARGUMENT", "OUT_OF_MEMORY",
                                           "UNSUPPORTED", "UNIMPLEMENTED", "OUT_OF_RANGE",     "DEVICE_LOST",
                                           "TIMED_OUT",   "ABORTED",       "INCOMPATIBLE",     "INTERNAL"};
constexpr int status_count = sizeof status_names / sizeof status_names[0];

static std::string format_list(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(length > 0 ? size_t(length) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = format_list(format, arguments);
  va_end(arguments);
  return text;
}

void fail(dg_status_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string message = format_list(format, arguments);
  va_end(arguments);
  throw Error(status, message);
}

bool status_is_known(dg_status_t status) { return status >= 0 && status < status_count; }

std::string status_name(dg_status_t status) {
  return status_is_known(status) ? status_names[status] : format("UNKNOWN(%d)", status);
}

}  // namespace dougong
