// SPDX-License-Identifier: Apache-2.0
#include "raw.h"
#include "scalar.h"

namespace dougong::cpu {

struct MaskedFill {
  template <class T>
  static void loop(char *const *operand, int64_t count, const void *element) {
    T *out = reinterpret_cast<T *>(operand[0]);
    const T *x = reinterpret_cast<const T *>(operand[1]);
    const uint8_t *mask = reinterpret_cast<const uint8_t *>(operand[2]);
    T item;
    std::memcpy(&item, element, sizeof item);
    auto fill = value(item);
    vectorised([=] {
#pragma GCC ivdep
      for (int64_t i = 0; i < count; ++i) {
        auto kept = value(x[i]);
        out[i] = Store<T>::from(mask[i] != 0 ? fill : kept);
      }
    });
  }
};

static constexpr Elementwise masked_fill_table = raw_table<MaskedFill>(0);

static dg_status_t masked_fill_launch(const dg_kernel_call_t *call) {
  Dtype dtype = dtype_of(call->inputs[0]->dtype);
  if (dtype == dtype_count) return fail(DG_STATUS_UNSUPPORTED, "masked_fill does not know this dtype");
  Element element = element_of(dtype, attributes<dg_masked_fill_attributes_t>(call).value);
  return elementwise_run(call, masked_fill_table.loops[dtype], true, element.bytes);
}

extern const dg_kernel_t dg_kernel_masked_fill = kernel(DG_OP_MASKED_FILL, any_layout_in_place, masked_fill_launch);

}  // namespace dougong::cpu
