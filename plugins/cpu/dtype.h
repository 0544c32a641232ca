// Element types in C++: their storage, the type that kernels compute in, and conversions between them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <type_traits>

namespace dougong::cpu {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t byte;
};

// The order of every table that is indexed by dtype.
enum Dtype : int32_t { F32, F64, F16, BF16, I8, I16, I32, I64, U8, BOOL, dtype_count };

inline Dtype dtype_of(dg_dtype_t dtype) {
  switch (dtype) {
    case DG_DTYPE_FLOAT32:
      return F32;
    case DG_DTYPE_FLOAT64:
      return F64;
    case DG_DTYPE_FLOAT16:
      return F16;
    case DG_DTYPE_BFLOAT16:
      return BF16;
    case DG_DTYPE_INT8:
      return I8;
    case DG_DTYPE_INT16:
      return I16;
    case DG_DTYPE_INT32:
      return I32;
    case DG_DTYPE_INT64:
      return I64;
    case DG_DTYPE_UINT8:
      return U8;
    case DG_DTYPE_BOOL:
      return BOOL;
    default:
      return dtype_count;
  }
}

constexpr uint8_t item_sizes[dtype_count] = {4, 8, 2, 2, 1, 2, 4, 8, 1, 1};
inline int64_t item_size(const dg_tensor_t &tensor) { return (tensor.dtype >> 8 & 0xff) / 8; }
constexpr bool is_half(Dtype dtype) { return dtype == F16 || dtype == BF16; }

// The type that a kernel computes in: float for the 16-bit floats, the type itself else.
template <class T>
struct compute_type {
  using type = T;
};
template <>
struct compute_type<Half> {
  using type = float;
};
template <>
struct compute_type<BFloat16> {
  using type = float;
};
template <class T>
using Compute = typename compute_type<T>::type;

template <class To, class From>
inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// ---- Storage to value. All of these are free of branches, so that loops over them become vector code. ----

inline float value(Half x) {
  uint32_t magnitude = uint32_t(x.bits & 0x7fff) << 13;
  uint32_t finite = bit_cast<uint32_t>(bit_cast<float>(magnitude) * 0x1p112f);
  uint32_t bits = magnitude >= 0x0f800000 ? magnitude | 0x7f800000 : finite;
  return bit_cast<float>(bits | uint32_t(x.bits & 0x8000) << 16);
}
inline float value(BFloat16 x) { return bit_cast<float>(uint32_t(x.bits) << 16); }
inline bool value(Bool x) { return x.byte != 0; }
template <class T>
inline T value(T x) {
  return x;
}

// ---- Value to storage: round to nearest even, NaN stays NaN ----

template <class T>
struct Store {
  static T from(T x) { return x; }
};
template <>
struct Store<Bool> {
  static Bool from(bool x) { return {uint8_t(x)}; }
};
template <>
struct Store<BFloat16> {
  static BFloat16 from(float x) {
    uint32_t bits = bit_cast<uint32_t>(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    uint32_t nan = bits >> 16 | 0x40;
    return {uint16_t((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded)};
  }
};
template <>
struct Store<Half> {
  static Half from(float x) {
    uint32_t bits = bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffff;
    uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
    // Adding 0.5 lets the adder round at 2^-24, the spacing of the subnormals.
    uint32_t subnormal = bit_cast<uint32_t>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
    uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
    half = magnitude >= 0x47800000 ? 0x7c00 : half;
    half = magnitude > 0x7f800000 ? 0x7e00 : half;
    return {uint16_t(half | (bits >> 16 & 0x8000))};
  }
};

// ---- Conversion of values ----

// The float that a 16-bit float can be rounded from once: inexact results are made odd, so that no tie is invented.
inline float round_to_odd(double x) {
  float nearest = float(x);
  uint32_t bits = bit_cast<uint32_t>(nearest);
  double magnitude = x < 0 ? -x : x, found = nearest < 0 ? -double(nearest) : double(nearest);
  bits -= found > magnitude ? 1 : 0;
  bits |= double(nearest) != x ? 1 : 0;
  return bit_cast<float>(bits);
}
inline float round_to_odd(int64_t x) {
  int64_t shortened = (x >> 11 | int64_t((x & 0x7ff) != 0)) * 2048;
  bool exact = x > -(int64_t(1) << 53) && x < int64_t(1) << 53;
  return round_to_odd(double(exact ? x : shortened));
}

// float to integer truncates and saturates, NaN gives 0; integer to integer wraps; anything but zero is true.
template <class To, class From>
inline To convert(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From low = From(std::numeric_limits<To>::min());
    constexpr From end = From(uint64_t(1) << (std::numeric_limits<To>::digits - 1)) * 2;  // max + 1, exactly
    bool inside = x >= low && x < end;
    To whole = To(inside ? x : From(0));
    To outside = x >= end ? std::numeric_limits<To>::max() : x < low ? std::numeric_limits<To>::min() : To(0);
    return inside ? whole : outside;
  } else {
    return To(x);
  }
}

template <class T>
inline T from_scalar(const dg_scalar_t &scalar) {
  return scalar.kind == DG_SCALAR_INT ? convert<T>(scalar.integer) : convert<T>(scalar.real);
}

// Arithmetic that wraps: the type in which T is added and multiplied without overflow being undefined.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;

// Calls f with a value of the storage type of the dtype; the status of `f`, or INTERNAL for a dtype that no op allows.
template <class F>
inline dg_status_t with_dtype(Dtype dtype, F &&f) {
  switch (dtype) {
    case F32:
      return f(float());
    case F64:
      return f(double());
    case F16:
      return f(Half());
    case BF16:
      return f(BFloat16());
    case I8:
      return f(int8_t());
    case I16:
      return f(int16_t());
    case I32:
      return f(int32_t());
    case I64:
      return f(int64_t());
    case U8:
      return f(uint8_t());
    case BOOL:
      return f(Bool());
    default:
      return DG_STATUS_UNSUPPORTED;
  }
}
template <class F>
inline dg_status_t with_float(Dtype dtype, F &&f) {
  switch (dtype) {
    case F32:
      return f(float());
    case F64:
      return f(double());
    case F16:
      return f(Half());
    case BF16:
      return f(BFloat16());
    default:
      return DG_STATUS_UNSUPPORTED;
  }
}

}  // namespace dougong::cpu
