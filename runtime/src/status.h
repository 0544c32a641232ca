// Errors of the core: a status of the device API and a sentence. The bindings turn each status into its Python class.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <stdexcept>
#include <string>

namespace dougong {

class Error : public std::runtime_error {
 public:
  Error(dg_status_t status, const std::string &message) : std::runtime_error(message), status(status) {}
  const dg_status_t status;
};

// Throws an Error with a printf-formatted sentence: what was wanted, what was found, what to do.
[[noreturn]] void fail(dg_status_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

// A printf-formatted string.
std::string format(const char *format, ...) __attribute__((format(printf, 1, 2)));

// "OUT_OF_MEMORY"; "UNKNOWN(77)" for a value that this API does not know.
std::string status_name(dg_status_t status);
bool status_is_known(dg_status_t status);

}  // namespace dougong
