// SPDX-License-Identifier: Apache-2.0
#include "op.h"

#include <unordered_map>

namespace dougong {

const OpDef *find_op(const std::string &name) {
  static const auto *by_name = [] {
    auto *map = new std::unordered_map<std::string, const OpDef *>;
    for (int i = 0; i < op_count; ++i) map->emplace(op_table[i].name, &op_table[i]);
    return map;
  }();
  const auto found = by_name->find(name);
  return found == by_name->end() ? nullptr : found->second;
}

}  // namespace dougong
