// Elementary functions without branches, so that loops over them become vector code. The float32 polynomials are
// minimax fits on the intervals that the comments name; float64 takes the C library's functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "../dtype.h"

namespace dougong::cpu {

// 2^n for -126 <= n <= 127.
inline float power_of_two(int32_t n) { return bit_cast<float>(uint32_t(n + 127) << 23); }

template <class... Coefficients>
inline float polynomial(float x, float c0, Coefficients... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return c0;
  } else {
    return c0 + x * polynomial(x, rest...);
  }
}

// exp(high + low) for a low part that is small against 1. Error below 1 ulp; subnormal results are right too.
inline float exp_sum(float high, float low) {
  constexpr float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f, shift = 12582912.0f;
  high = high > 89.0f ? 89.0f : high;
  high = high < -104.0f ? -104.0f : high;
  float shifted = high * log2_e + shift;
  int32_t n = bit_cast<int32_t>(shifted) - bit_cast<int32_t>(shift);
  float whole = shifted - shift;
  float r = ((high - whole * ln2_high) - whole * ln2_low) + low;
  // |r| <= ln(2) / 2: exp(r) = 1 + r + r^2 P(r)
  float p = polynomial(r, 0.50000001f, 0.166665183f, 0.0416662042f, 0.00836895371f, 0.00139506003f);
  float mantissa = 1.0f + (r + r * r * p);
  int32_t half = n >> 1;
  return mantissa * power_of_two(half) * power_of_two(n - half);
}

inline float exp(float x) { return exp_sum(x, 0.0f); }
inline double exp(double x) { return std::exp(x); }

inline float log(float x) {
  bool subnormal = x < 0x1p-126f;
  float scaled = subnormal ? x * 0x1p23f : x;
  // scaled = m * 2^n with sqrt(1/2) <= m < sqrt(2)
  int32_t bits = int32_t(bit_cast<uint32_t>(scaled) - 0x3f3504f3u);
  int32_t n = bits >> 23;
  float m = bit_cast<float>((bits & 0x7fffff) + 0x3f3504f3), e = float(n - (subnormal ? 23 : 0));
  float f = m - 1.0f;
  // log(1 + f) = f - f^2 / 2 + f^3 P(f)
  float p = polynomial(f, 0.333333104f, -0.249999865f, 0.200022313f, -0.166692614f, 0.142185632f, -0.123840942f,
                       0.118734751f, -0.117916194f, 0.0691641631f);
  float small = f * f * f * p + e * -2.12194440e-4f - 0.5f * f * f;
  float result = small + f + e * 0.693359375f;
  result = x == std::numeric_limits<float>::infinity() ? x : result;
  result = x == 0.0f ? -std::numeric_limits<float>::infinity() : result;
  return x >= 0.0f ? result : std::numeric_limits<float>::quiet_NaN();
}
inline double log(double x) { return std::log(x); }

// By log, with what 1 + x loses made good by the quotient.
inline float log1p(float x) {
  float sum = 1.0f + x, kept = sum - 1.0f;
  float result = log(sum) * (x / kept);
  result = kept == 0.0f ? x : result;
  return x == std::numeric_limits<float>::infinity() ? x : result;
}
inline double log1p(double x) { return std::log1p(x); }

template <class T>
inline T expm1(T x) {
  return std::expm1(x);
}

inline float tanh(float x) {
  float t = std::fabs(x), z = x * x;
  // |x| < 0.625: x + x^3 P(x^2)
  float near = t + t * z * polynomial(z, -0.333332839f, 0.133314912f, -0.0537434953f, 0.020650579f, -0.00571703655f);
  float far = 1.0f - 2.0f / (exp(2.0f * t) + 1.0f);
  return std::copysign(t < 0.625f ? near : far, x);
}
inline double tanh(double x) { return std::tanh(x); }

// The standard normal distribution function at -t, for t >= 0: exp(-t^2 / 2) Q(u) / (1 + t), u = (t - 4) / (t + 4).
// Its relative error stays small, since the part of t^2 that float cannot hold goes into the exponent as well.
inline float normal_tail(float t) {
  t = t > 14.5f ? 14.5f : t;
  float high = bit_cast<float>(bit_cast<uint32_t>(t) & 0xfffff000);
  float low = (t - high) * (t + high);
  float u = (t - 4.0f) / (t + 4.0f);
  float q = polynomial(u, 0.472053207f, -0.0967034669f, 0.0139995961f, 0.0285999807f, -0.0321972696f, 0.0179402028f,
                       -0.005004382f, -0.000303759365f, 0.000692858837f, -6.05581685e-05f, -7.16120067e-05f);
  return exp_sum(-0.5f * high * high, -0.5f * low) * (q / (1.0f + t));
}

// The standard normal distribution function and its density.
inline float normal_cdf(float x) {
  float tail = normal_tail(std::fabs(x));
  return x < 0.0f ? tail : 1.0f - tail;
}
inline double normal_cdf(double x) {
  constexpr double high = -0.70710678118654752440, low = 4.8336466567264565e-17;  // together -1 / sqrt(2)
  double z = x * high, lost = std::fma(x, high, -z) + x * low;
  double correction = std::fabs(x) < 40 ? 1.1283791670955126 * std::exp(-z * z) * lost : 0.0;
  return 0.5 * (std::erfc(z) - correction);
}
inline float normal_pdf(float x) {
  float t = std::fabs(x);
  t = t > 14.5f ? 14.5f : t;
  float high = bit_cast<float>(bit_cast<uint32_t>(t) & 0xfffff000);
  return 0.398942280f * exp_sum(-0.5f * high * high, -0.5f * (t - high) * (t + high));
}
inline double normal_pdf(double x) { return 0.39894228040143267794 * std::exp(-0.5 * x * x); }

inline float erf(float x) {
  float t = std::fabs(x), z = x * x;
  // |x| < 1: x P(x^2)
  float near = t * polynomial(z, 1.12837917f, -0.376126271f, 0.112836002f, -0.0268544446f, 0.00518953534f,
                              -0.000802084127f, 7.88911951e-05f);
  float far = 1.0f - 2.0f * normal_tail(t * 1.41421356f);
  return std::copysign(t < 1.0f ? near : far, x);
}
inline double erf(double x) { return std::erf(x); }

// 1 / (1 + exp(-x)) without overflow on either side.
template <class T>
inline T sigmoid(T x) {
  T e = exp(-std::fabs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}

}  // namespace dougong::cpu
