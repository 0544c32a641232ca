// Reading and writing short texts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sim {

// The parts between separators; none of an empty text.
std::vector<std::string> split(const std::string &text, char separator);

// A decimal number without a sign. False if the text is none, or too large.
bool read_number(const std::string &text, uint64_t *out_number);

// "a, b, c".
template <class List, class Name>
std::string join(const List &list, Name name) {
  std::string text;
  for (const auto &item : list) text += (text.empty() ? "" : ", ") + std::string(name(item));
  return text;
}

}  // namespace sim
