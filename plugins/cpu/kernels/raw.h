// Elementwise ops that only choose between values: any type of the same size stands for another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "elementwise.h"

namespace dougong::cpu {

// Kind::loop<Storage> for each dtype, 16-bit floats as their bits.
template <class Kind>
constexpr Elementwise raw_table(int32_t typed) {
  Elementwise table{};
  for (Dtype dtype : {F16, BF16, I16}) table.loops[dtype] = Kind::template loop<uint16_t>;
  for (Dtype dtype : {F32, I32}) table.loops[dtype] = Kind::template loop<uint32_t>;
  for (Dtype dtype : {F64, I64}) table.loops[dtype] = Kind::template loop<uint64_t>;
  for (Dtype dtype : {I8, U8}) table.loops[dtype] = Kind::template loop<uint8_t>;
  table.loops[BOOL] = Kind::template loop<Bool>;
  table.typed = typed;
  table.raw = true;
  return table;
}

}  // namespace dougong::cpu
