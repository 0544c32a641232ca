// SPDX-License-Identifier: Apache-2.0
#include "elementwise.h"

namespace dougong::cpu {

struct Hardtanh {
  double min_val, max_val;
  explicit Hardtanh(const dg_hardtanh_attributes_t &a) : min_val(a.min_val), max_val(a.max_val) {}
  template <class T>
  T operator()(T x) const {
    T low = T(min_val), high = T(max_val);
    T raised = x < low ? low : x;
    return raised > high ? high : raised;
  }
};

extern const dg_kernel_t dg_kernel_hardtanh = unary_with<Hardtanh, dg_hardtanh_attributes_t>(DG_OP_HARDTANH);

}  // namespace dougong::cpu
