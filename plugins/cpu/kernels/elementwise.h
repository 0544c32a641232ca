// Elementwise ops: one loop over dense memory for each dtype; the driver brings every layout and the 16-bit floats to
// it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.h"

namespace dougong::cpu {

constexpr int max_operands = 7;  // adamw: three outputs and four inputs

// `operand` holds the outputs, then the inputs: `count` dense elements each, 16-bit floats widened to float unless the
// op is `raw`. An optional operand that was left out is null. An output may be the same memory as an input.
using Loop = void (*)(char *const *operand, int64_t count, const void *attributes);

struct Elementwise {
  Loop loops[dtype_count];  // by the dtype of the input `typed`; for 16-bit floats float's unless raw
  int32_t typed = 0;
  bool raw = false;  // 16-bit floats are moved as they are
};

// The launch of every elementwise kernel; user_data is its Elementwise.
dg_status_t elementwise_launch(const dg_kernel_call_t *call);
// The same with a loop that the caller chose, which gets these attributes.
dg_status_t elementwise_run(const dg_kernel_call_t *call, Loop loop, bool raw, const void *attributes);

// The next item of an array of storage type T as a value, and back.
template <class F, class Out, class A>
void unary_loop(char *const *operand, int64_t count, const void *) {
  Out *out = reinterpret_cast<Out *>(operand[0]);
  const A *a = reinterpret_cast<const A *>(operand[1]);
  vectorised([=] {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = Store<Out>::from(F()(value(a[i])));
  });
}

template <class F, class Out, class A>
void binary_loop(char *const *operand, int64_t count, const void *) {
  Out *out = reinterpret_cast<Out *>(operand[0]);
  const A *a = reinterpret_cast<const A *>(operand[1]), *b = reinterpret_cast<const A *>(operand[2]);
  vectorised([=] {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = Store<Out>::from(F()(value(a[i]), value(b[i])));
  });
}

// F is made of the attributes of the op.
template <class F, class Attributes, class T>
void unary_with_loop(char *const *operand, int64_t count, const void *attributes) {
  const F f(*static_cast<const Attributes *>(attributes));
  T *out = reinterpret_cast<T *>(operand[0]);
  const T *a = reinterpret_cast<const T *>(operand[1]);
  vectorised([=] {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) out[i] = f(a[i]);
  });
}

template <class F, class T>
using Same = T;
template <class F, class T>
using Predicate = Bool;

// Which dtypes an op has: the groups of kernels/definitions.py.
enum class Group { floats, integers, numbers, all, bits };  // bits: integers and bool

template <class F, template <class, class> class Out, Group group>
struct Unary {
  template <class T>
  static constexpr Loop loop = unary_loop<F, Out<F, T>, T>;
};
template <class F, template <class, class> class Out, Group group>
struct Binary {
  template <class T>
  static constexpr Loop loop = binary_loop<F, Out<F, T>, T>;
};

template <class F, class Attributes>
struct UnaryWith {
  template <class T>
  static constexpr Loop loop = unary_with_loop<F, Attributes, T>;
};

template <class Kind, Group group>
constexpr Elementwise make_table() {
  Elementwise table{};
  if constexpr (group != Group::bits && group != Group::integers) {
    for (Dtype dtype : {F32, F16, BF16}) table.loops[dtype] = Kind::template loop<float>;
    table.loops[F64] = Kind::template loop<double>;
  }
  if constexpr (group != Group::floats) {
    table.loops[I8] = Kind::template loop<int8_t>;
    table.loops[I16] = Kind::template loop<int16_t>;
    table.loops[I32] = Kind::template loop<int32_t>;
    table.loops[I64] = Kind::template loop<int64_t>;
    table.loops[U8] = Kind::template loop<uint8_t>;
  }
  if constexpr (group == Group::all || group == Group::bits) table.loops[BOOL] = Kind::template loop<Bool>;
  return table;
}

template <class Kind, Group group>
inline constexpr Elementwise table_of = make_table<Kind, group>();

// The entry of an op that computes F()(a) or F()(a, b) for each element, in the dtype of its inputs.
template <class F, Group group, template <class, class> class Out = Same>
constexpr dg_kernel_t unary(const char *op) {
  return kernel(op, any_layout_in_place, elementwise_launch, &table_of<Unary<F, Out, group>, group>);
}
template <class F, Group group, template <class, class> class Out = Same>
constexpr dg_kernel_t binary(const char *op) {
  return kernel(op, any_layout_in_place, elementwise_launch, &table_of<Binary<F, Out, group>, group>);
}
// Of floats, with attributes: F(attributes)(a).
template <class F, class Attributes>
constexpr dg_kernel_t unary_with(const char *op) {
  return kernel(op, any_layout_in_place, elementwise_launch, &table_of<UnaryWith<F, Attributes>, Group::floats>);
}
template <class F>
constexpr dg_kernel_t comparison(const char *op) {
  return binary<F, Group::all, Predicate>(op);
}

}  // namespace dougong::cpu
