// The attributes of a call, kept longer than the call.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "op.h"

namespace dougong {

// A copy of an op's attribute struct, with all that its lists point to. It stays where it is: a kernel may read it.
class AttributeCopy {
 public:
  AttributeCopy() = default;
  AttributeCopy(const AttributeCopy &) = delete;
  void assign(const OpDef &op, const void *attributes);  // null for an op that has none
  const void *data() const { return struct_.empty() ? nullptr : struct_.data(); }
  // The attribute of that name and kind, or null if the op has none.
  void *find(const OpDef &op, const char *name, AttributeKind kind);

 private:
  std::vector<uint64_t> struct_;
  std::vector<std::vector<int64_t>> lists_;  // by attribute
};

}  // namespace dougong
