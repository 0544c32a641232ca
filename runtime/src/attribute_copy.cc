// SPDX-License-Identifier: Apache-2.0
#include "attribute_copy.h"

#include <cstring>

namespace dougong {

void AttributeCopy::assign(const OpDef &op, const void *attributes) {
  if (!attributes) return;
  struct_.resize((op.attributes_size + 7u) / 8u);
  char *copy = reinterpret_cast<char *>(struct_.data());
  std::memcpy(copy, attributes, op.attributes_size);
  for (int i = 0; i < op.attribute_count; ++i) {
    const AttributeDef &def = op.attributes[i];
    if (def.kind != AttributeKind::axes && def.kind != AttributeKind::ints) continue;
    auto *list = reinterpret_cast<IntList *>(copy + def.offset);
    if (!list->given()) continue;
    lists_.resize(op.attribute_count);
    std::vector<int64_t> &kept = lists_[size_t(i)];
    kept.assign(list->begin(), list->end());
    kept.push_back(0);  // never a null pointer, which would read as "not given"
    list->data = kept.data();
  }
}

void *AttributeCopy::find(const OpDef &op, const char *name, AttributeKind kind) {
  for (int i = 0; i < op.attribute_count; ++i)
    if (op.attributes[i].kind == kind && std::strcmp(op.attributes[i].name, name) == 0 && !struct_.empty())
      return reinterpret_cast<char *>(struct_.data()) + op.attributes[i].offset;
  return nullptr;
}

}  // namespace dougong
