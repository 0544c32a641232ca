// Shapes and lists of integers of a few axes, without allocation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>

#include "status.h"

namespace dougong {

// Somebody else's list of integers. A null list stands for "not given".
struct IntList {
  const int64_t *data = nullptr;
  size_t count = 0;

  IntList() = default;
  IntList(const int64_t *data, size_t count) : data(data), count(count) {}
  const int64_t *begin() const { return data; }
  const int64_t *end() const { return data + count; }
  size_t size() const { return count; }
  int64_t operator[](size_t i) const { return data[i]; }
  bool given() const { return data != nullptr; }
};

// Up to DG_MAX_NDIM integers, by value.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> values) { assign(values.begin(), values.size()); }
  Shape(const int64_t *values, size_t count) { assign(values, count); }
  Shape(IntList list) { assign(list.data, list.count); }
  Shape(const Shape &other) { assign(other.values_, other.size_); }
  Shape &operator=(const Shape &other) {
    assign(other.values_, other.size_);
    return *this;
  }

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t *data() { return values_; }
  const int64_t *data() const { return values_; }
  int64_t *begin() { return values_; }
  int64_t *end() { return values_ + size_; }
  const int64_t *begin() const { return values_; }
  const int64_t *end() const { return values_ + size_; }
  // Negative indices count from the end.
  int64_t operator[](int64_t i) const { return values_[i < 0 ? i + int64_t(size_) : i]; }
  int64_t &operator[](int64_t i) { return values_[i < 0 ? i + int64_t(size_) : i]; }
  void push_back(int64_t value) {
    if (size_ == DG_MAX_NDIM) too_many(size_ + 1);
    values_[size_++] = value;
  }
  void resize(size_t count, int64_t value = 0) {
    if (count > DG_MAX_NDIM) too_many(count);
    for (size_t i = size_; i < count; ++i) values_[i] = value;
    size_ = uint32_t(count);
  }
  bool operator==(const Shape &other) const {
    return size_ == other.size_ && std::memcmp(values_, other.values_, size_ * sizeof(int64_t)) == 0;
  }
  bool operator!=(const Shape &other) const { return !(*this == other); }
  operator IntList() const { return {values_, size_}; }

  // The number of elements. Throws INVALID_ARGUMENT if it is over 2^63 - 1.
  int64_t numel() const {
    int64_t total = 1;
    bool overflow = false;
    for (int64_t n : *this) {
      if (n == 0) return 0;
      overflow |= __builtin_mul_overflow(total, n, &total);
    }
    if (overflow) fail(DG_STATUS_INVALID_ARGUMENT, "a tensor of shape %s has too many elements", text().c_str());
    return total;
  }
  // "(2, 3)", as Python prints a tuple.
  std::string text() const {
    std::string result = "(";
    for (size_t i = 0; i < size_; ++i) result += (i ? ", " : "") + std::to_string(values_[i]);
    return result + (size_ == 1 ? ",)" : ")");
  }

 private:
  void assign(const int64_t *values, size_t count) {
    if (count > DG_MAX_NDIM) too_many(count);
    for (size_t i = 0; i < count; ++i) values_[i] = values[i];
    size_ = uint32_t(count);
  }
  [[noreturn]] static void too_many(size_t count) {
    fail(DG_STATUS_INVALID_ARGUMENT, "a tensor has at most %d axes; %zu were asked for", DG_MAX_NDIM, count);
  }

  uint32_t size_ = 0;
  int64_t values_[DG_MAX_NDIM];
};

}  // namespace dougong
