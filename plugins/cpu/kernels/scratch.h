// Temporary host memory of a kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace dougong::cpu {

// `count` elements, content undefined. Throws bad_alloc.
template <class T>
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(int64_t count) { allocate(count); }
  ~Scratch() { std::free(data_); }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  void allocate(int64_t count) {
    std::free(data_);
    data_ = static_cast<T *>(std::aligned_alloc(64, (size_t(count) * sizeof(T) + 64) & ~size_t(63)));
    if (!data_) throw std::bad_alloc();
  }
  T *data() const { return data_; }
  T &operator[](int64_t i) const { return data_[i]; }

 private:
  T *data_ = nullptr;
};

}  // namespace dougong::cpu
