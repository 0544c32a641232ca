// Intrusive reference counting: objects that C++ and Python share carry their own atomic count.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace dougong {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted &) = delete;
  RefCounted &operator=(const RefCounted &) = delete;

  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  void release() const {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // False if the last reference is gone already: for lists that do not own what they list.
  bool try_retain() const {
    int64_t count = count_.load(std::memory_order_relaxed);
    while (count > 0)
      if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) return true;
    return false;
  }
  int64_t use_count() const { return count_.load(std::memory_order_acquire); }

 protected:
  virtual ~RefCounted() = default;

 private:
  mutable std::atomic<int64_t> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  explicit Ref(T *object) : object_(object) {
    if (object_) object_->retain();
  }
  Ref(const Ref &other) : Ref(other.object_) {}
  template <class Derived>
  Ref(const Ref<Derived> &other) : Ref(static_cast<T *>(other.get())) {}
  Ref(Ref &&other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref &operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->release();
  }

  T *get() const { return object_; }
  T *operator->() const { return object_; }
  T &operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref &other) const { return object_ == other.object_; }
  bool operator!=(const Ref &other) const { return object_ != other.object_; }

 private:
  T *object_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_ref(Args &&...args) {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace dougong
