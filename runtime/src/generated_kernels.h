// Step 2 of the ladder: kernels that are generated from the op files in the language of the plugin's compiler.
//
// An op that the generator knows gets one KernelEntry a device, behind the plugin's own. Its plan finds the program of
// the call's form: dtypes, ranks, which tensors are dense, and attributes that change the source. A program that is not
// there yet is written by the generator (in Python), compiled, and kept. Sizes and strides are arguments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/ext/dg_compiler.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel_index.h"

namespace dougong {

// What a source is written for.
struct SourceRequest {
  struct Operand {
    std::string name, dtype;  // no dtype: left out
    int ndim;
    bool dense;
  };
  std::string op, dialect;
  std::vector<Operand> operands;  // inputs, then outputs
  int rank = 0;                   // of an elementwise call, after axes were joined
  bool few = false;               // not many elements in the first output
  bool wide_index = false;        // offsets need 64 bits
  bool doubles = true;            // the chip has float64
  uint32_t max_group = 1, shared_memory = 0;
  std::vector<std::pair<std::string, std::string>> attributes;  // those that change the source, as JSON
  std::vector<std::pair<std::string, int>> lists;               // how long the others are
};

// One function of the source, and how it is launched. Names stand for numbers of the call: see `CallNumbers`.
struct PassSource {
  std::string function;
  std::vector<std::pair<std::string, std::string>> arguments;  // (name, type): buffer, int, long, ulong, float, double
  std::vector<std::string> groups[3];                          // names whose product is divided by `divisors`, upwards
  uint64_t divisors[3] = {1, 1, 1};
  uint32_t group[3] = {1, 1, 1};
};

struct ProgramSource {
  bool supported = false;
  std::string source, key;  // the key names the kept binary
  std::string binary;       // empty if there is none yet
  std::vector<std::string> options;
  std::vector<PassSource> passes;
};

// Set by the bindings: the generator, and the keeper of binaries.
struct GeneratorHooks {
  std::function<ProgramSource(const SourceRequest &, const std::string &compiler_id)> write;
  std::function<void(const std::string &key, const std::string &binary)> keep;
};
extern GeneratorHooks generator_hooks;

// The entry for an op, or null if the device has no compiler or the generator does not know the op.
std::unique_ptr<KernelEntry> generated_kernel(const OpDef &op, Device &device);

}  // namespace dougong
