// The numbers of a kernel call by name, as a generated source asks for them.
//
// For an operand x (an input or output of the op): `x_size0`, `x_stride0`, ..., `x_offset` (in elements). Of an
// elementwise call `size0`, ... are the sizes of the joined axes, which all operands share, and `x_stride0`, ... belong
// to them. `numel` is the number of elements of the first output. An attribute a is `a`, an element of a list `a0`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "generated_kernels.h"

namespace dougong {

class CallNumbers {
 public:
  CallNumbers(const OpDef &op, const dg_kernel_call_t &call);

  // Equal for calls that one source serves.
  const std::string &form() const { return form_; }
  SourceRequest request() const;

  int operand(const std::string &name) const;      // throws INTERNAL for an unknown name
  int offset_of(const std::string &name) const;    // the operand of `x_offset`, or -1
  int64_t integer(const std::string &name) const;  // of sizes, strides and integer attributes
  // Writes a number as a value of that type, unless `to` is null; returns its bytes.
  uint32_t store(const std::string &name, const std::string &type, void *to) const;

 private:
  struct Operand {
    std::string name;
    const dg_tensor_t *tensor;  // null: left out
    std::vector<int64_t> sizes, strides;
    bool dense;
  };
  void read_operands(const dg_kernel_call_t &call);
  void join_axes();
  bool needs_wide_index() const;
  void read_attributes();
  void write_form();
  bool find_list(const std::string &name, int64_t &value) const;
  double real(const std::string &name) const;

  const OpDef &op_;
  const void *attributes_;
  std::vector<Operand> operands_;
  std::vector<int64_t> sizes_;  // of an elementwise call
  int64_t numel_ = 0;
  bool wide_index_ = false, few_ = false;
  std::vector<std::pair<std::string, std::string>> structural_;
  std::vector<std::pair<std::string, int>> lists_;
  std::string form_;
};

}  // namespace dougong
