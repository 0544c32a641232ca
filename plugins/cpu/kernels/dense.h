// Whole tensors as dense arrays of the type that kernels compute in: the memory itself where it is that already.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scratch.h"
#include "strided.h"

namespace dougong::cpu {

template <class C>
bool is_native(const dg_tensor_t &tensor) {
  return item_size(tensor) == int64_t(sizeof(C)) && is_dense(tensor);
}

// An input; null where an optional one was left out. Throws bad_alloc.
template <class C>
class DenseInput {
 public:
  explicit DenseInput(const dg_tensor_t *tensor) {
    if (!tensor) return;
    data_ = reinterpret_cast<const C *>(address(*tensor));
    if (is_native<C>(*tensor)) return;
    copy_.allocate(element_count(*tensor));
    load_tensor(copy_.data(), *tensor, true);
    data_ = copy_.data();
  }
  const C *data() const { return data_; }

 private:
  const C *data_ = nullptr;
  Scratch<C> copy_;
};

// An output: what was written to data() reaches the tensor by finish().
template <class C>
class DenseOutput {
 public:
  explicit DenseOutput(const dg_tensor_t &tensor) : tensor_(tensor), data_(reinterpret_cast<C *>(address(tensor))) {
    if (is_native<C>(tensor)) return;
    copy_.allocate(element_count(tensor));
    data_ = copy_.data();
  }
  C *data() const { return data_; }
  void finish() const {
    if (data_ == copy_.data()) store_tensor(tensor_, data_, true);
  }

 private:
  const dg_tensor_t &tensor_;
  C *data_;
  Scratch<C> copy_;
};

}  // namespace dougong::cpu
