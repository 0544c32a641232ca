// Activation recompute: a call that saves none of its inner values, and is made again when the backward pass asks for
// the first of them.
//
// The tape of the first run stays: only the values in it are left out, one slot each, in the order of saving. The
// second run has a tape of its own, whose values go into those slots, and which is then dropped. So the gradients are,
// bit for bit, those of a call that saves everything.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tensor.h"

namespace dougong {

class Recomputation;

// One value that was left out.
struct RecomputeSlot {
  std::shared_ptr<Recomputation> call;
  Shape shape;
  dg_dtype_t dtype = DG_DTYPE_NONE;
  Tensor value;  // once the call was made again
  uint64_t version = 0;
};

class Recomputation : public std::enable_shared_from_this<Recomputation> {
 public:
  // `again` makes the call anew, with a tape. It lives as long as the tape does, so it may not hold the results.
  explicit Recomputation(std::function<void()> again) : again_(std::move(again)) {}

  // While a scope lives, what this thread saves for the backward pass is left out.
  class Scope {
   public:
    Scope(Recomputation &call, bool again);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

   private:
    Recomputation *before_;
    bool before_again_;
  };

  // The call that this thread is in, or null.
  static Recomputation *current();

  // Takes a value that is being saved. Returns its slot in the first run, and null in the second, whose tape needs
  // none.
  std::shared_ptr<RecomputeSlot> take(const Tensor &tensor);
  // The value of the slot; makes the call again if it is not there.
  const Tensor &value(RecomputeSlot &slot);

 private:
  void run_again();
  void fill(const Tensor &tensor);

  std::function<void()> again_;
  std::vector<std::weak_ptr<RecomputeSlot>> slots_;  // a slot is gone when the backward pass is done with it
  size_t next_ = 0;                                  // the slot to fill
  bool running_ = false;
};

}  // namespace dougong
