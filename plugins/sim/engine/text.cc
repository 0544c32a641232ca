// SPDX-License-Identifier: Apache-2.0
#include "text.h"

#include <charconv>

namespace sim {

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (size_t begin = 0, end; begin != std::string::npos + 1; begin = end + 1) {
    end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string::npos ? end : end - begin));
  }
  return parts;
}

bool read_number(const std::string &text, uint64_t *out_number) {
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *out_number);
  return !text.empty() && stop == end && error == std::errc();
}

}  // namespace sim
