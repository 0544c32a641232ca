// A scalar attribute as an element of a dtype.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.h"

namespace dougong::cpu {

template <class T>
T element_from(const dg_scalar_t &scalar) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    bool integer = scalar.kind == DG_SCALAR_INT;
    return Store<T>::from(integer ? round_to_odd(scalar.integer) : round_to_odd(scalar.real));
  } else {
    using Value = decltype(value(T()));
    return Store<T>::from(from_scalar<Value>(scalar));
  }
}

// An element of up to 8 bytes: converted as `cast` converts.
struct alignas(8) Element {
  char bytes[8];
};
inline Element element_of(Dtype dtype, const dg_scalar_t &scalar) {
  Element element{};
  with_dtype(dtype, [&](auto type) {
    auto item = element_from<decltype(type)>(scalar);
    std::memcpy(element.bytes, &item, sizeof item);
    return DG_STATUS_OK;
  });
  return element;
}

}  // namespace dougong::cpu
