// From an op call to a kernel: dtypes, shapes, memory, the ladder, and the record for autograd.
//
// The ladder, for each call the first that exists: (1) the plugin's own kernel; (2) a generated kernel; (3) a
// decomposition; (4) the CPU's kernel, with copies to the host and back. Step 2 has its place in `climb`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "op.h"

namespace dougong {

// Calls an op. `attributes` is the op's attribute struct, or null. `device` is for ops without inputs; null takes the
// current default. `out` gives tensors to write to: null, or one (perhaps empty) tensor an output.
Outputs call_op(const OpDef &op, Arg *inputs, int input_count, const void *attributes, Device *device = nullptr,
                const Tensor *out = nullptr);

// Hooks of the Python bindings, so that a plugin never works with the interpreter's lock held. Null without Python.
struct InterpreterLock {
  void *(*release)() = nullptr;  // null if this thread does not hold it
  void (*acquire)(void *state) = nullptr;
};
extern InterpreterLock interpreter_lock;

// Releases the interpreter's lock while it lives.
class Unlocked {
 public:
  explicit Unlocked(bool wanted = true) {
    if (wanted && interpreter_lock.release) state_ = interpreter_lock.release();
  }
  ~Unlocked() {
    if (state_) interpreter_lock.acquire(state_);
  }
  Unlocked(const Unlocked &) = delete;

 private:
  void *state_ = nullptr;
};

// A tensor with the same values in dense memory: itself if it is dense.
Tensor contiguous(const Tensor &tensor);
// A 0-d tensor of the value. On a synchronous device the same value may give the same tensor: nobody writes to it.
Tensor scalar_tensor(const Scalar &value, dg_dtype_t dtype, Device &device);
// The values on another device, dense there unless the memory is copied as it lies.
Tensor to_device(const Tensor &tensor, Device &device);
// Writes the source's values, broadcast and cast, into the destination. No autograd.
void copy_into(const Tensor &destination, const Tensor &source);

}  // namespace dougong
