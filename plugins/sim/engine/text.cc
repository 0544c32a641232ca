// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <charconv>

namespace sim {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; !text.empty();) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return parts;
}

bool read_number(const std::string &text, uint64_t *out_number) {
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out_number);
  return !text.empty() && stop == end && error == std::errc();
}

}  // namespace sim
