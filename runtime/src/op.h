// What an op is to the runtime: one entry of a table that is generated from kernels/ops.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_kernel.h>
#include <dougong/dg_ops.h>

#include <array>
#include <string>
#include <vector>

#include "tensor.h"

namespace dougong {

class GradCall;

enum class AttributeKind : uint8_t { integer, real, boolean, scalar, dtype, axis, axes, ints, uint64, enumeration };

constexpr int8_t no_variable = -1;

struct InputDef {
  const char *name;
  int8_t variable;   // the type variable, or no_variable
  bool accumulate;   // the accumulator dtype of the variable
  dg_dtype_t dtype;  // without a variable: this dtype
  bool optional;
  bool variadic;
};

struct AttributeDef {
  const char *name;
  AttributeKind kind;
  uint16_t offset;  // within the op's attribute struct
  bool required;
  int8_t of;                  // axis, axes: the input whose axes are counted
  int32_t length;             // ints: one number stands for that many; 0 for any number
  int8_t variable;            // dtype: the type variable that it binds
  const char *const *values;  // enumeration: names, ended by null
  const char *default_text;   // for people: "-1"
};

struct OutputDef {
  const char *name;
  int8_t variable;
  bool accumulate;
  dg_dtype_t dtype;
  int8_t alias;  // the input whose memory it is, or -1
};

struct TypeDef {
  const char *name;
  const dg_dtype_t *dtypes;  // ended by DG_DTYPE_NONE
  dg_dtype_t integers;       // integer and bool inputs become this, or DG_DTYPE_NONE
  bool index;                // never promoted
};

constexpr int max_inputs = 8;  // but for the one variadic input of an op that has it
constexpr int max_outputs = 4;

// A call on its way: inputs have their final dtypes, attributes are normalised.
struct OpCall {
  const Tensor *inputs;
  int input_count;
  const void *attributes;
};

using Outputs = std::array<Tensor, max_outputs>;
enum class OpId : uint16_t;

struct OpDef {
  const char *name;
  const char *summary;
  const InputDef *inputs;
  const AttributeDef *attributes;
  const OutputDef *outputs;
  const TypeDef *types;
  uint8_t input_count, attribute_count, output_count, type_count;
  uint8_t return_count;  // the first outputs are what callers see
  bool elementwise;      // inputs broadcast to the output
  bool variadic;         // the one input is a list
  bool front;            // callers go through fronts.cc
  bool has_alias;
  bool generated;  // the generator writes kernels for it
  uint16_t attributes_size;
  const void *defaults;                              // an attribute struct with the default values, or null
  void (*require)(const OpCall &call);               // throws; null: nothing to check
  void (*infer)(const OpCall &call, Shape *shapes);  // output shapes; null: the inputs broadcast
  void (*gradient)(GradCall &call);                  // null: not differentiable
  // What the gradient for input i needs: bits of inputs, then of outputs.
  const uint16_t *saves_inputs, *saves_outputs;
  const bool *differentiable;  // whether input i has a gradient
  // Step 3 of the ladder: the outputs from other ops; null: a primitive. An output that is left undefined is so.
  void (*decompose)(const OpCall &call, Device &device, Outputs &outputs);
  const OpId *parts;  // the ops that it is made of, ended by the op itself
};

extern const OpDef op_table[];
extern const int op_count;
inline const OpDef &op_def(OpId id) { return op_table[size_t(id)]; }
inline int op_index(const OpDef &op) { return int(&op - op_table); }
const OpDef *find_op(const std::string &name);

// A Python number, or the value of an attribute.
struct Scalar : dg_scalar_t {
  bool boolean = false;  // was a bool: promotes as one
  Scalar(const dg_scalar_t &value) : dg_scalar_t(value) {}
  Scalar(double value) : dg_scalar_t{DG_SCALAR_FLOAT, 0, 0, value, 0} {}
  Scalar(int64_t value) : dg_scalar_t{DG_SCALAR_INT, 0, value, 0, 0} {}
  Scalar(int value) : Scalar(int64_t(value)) {}
  Scalar(bool value) : dg_scalar_t{DG_SCALAR_INT, 0, value, 0, 0}, boolean(true) {}
};

// An input of a call: a tensor, nothing (an optional one left out), or a number, which is weak: it takes the dtype of
// the tensors beside it.
struct Arg {
  Arg() = default;
  Arg(const Tensor &tensor) : tensor(tensor) {}
  Arg(Tensor &&tensor) : tensor(std::move(tensor)) {}
  Arg(Scalar value) : scalar(value), is_scalar(true) {}
  Arg(double value) : Arg(Scalar(value)) {}
  Arg(int value) : Arg(Scalar(value)) {}
  Arg(int64_t value) : Arg(Scalar(value)) {}
  Tensor tensor;
  Scalar scalar{0};
  bool is_scalar = false;
};

}  // namespace dougong
