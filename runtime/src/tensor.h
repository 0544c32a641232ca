// Tensors: a descriptor over a piece of device memory, shared by reference.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_types.h>

#include <atomic>
#include <memory>

#include "device.h"
#include "dtype.h"
#include "observe.h"
#include "ref.h"
#include "shape.h"

namespace dougong {

struct Block;
class Tensor;
struct AutogradMeta;

// Memory that several tensors may look at. It came from the device's allocator, or from somebody else (NumPy, DLPack),
// who is told by `release` when the last tensor is gone.
class Storage : public RefCounted {
 public:
  Storage(Device &device, uint64_t size);  // size 0 allocates nothing
  Storage(Device &device, void *handle, uint64_t offset, uint64_t size, bool read_only, void (*release)(void *),
          void *owner);
  ~Storage() override;

  Device &device;
  void *handle = nullptr;
  uint64_t offset = 0;  // bytes, of the storage's first byte from the handle
  uint64_t size = 0;    // bytes
  bool read_only = false;
  std::atomic<uint64_t> version{0};         // counts writes in place, so that autograd sees a saved value change
  std::atomic<int64_t> recorded_write{-1};  // the version after the last write in place that autograd recorded
  Block *block = nullptr;
  bool constant = false;  // holds a number that was made a tensor: nobody writes to it
  bool recorded = false;  // a recording reads or writes it: see note_change
  Ref<Birth> birth;       // if it was made while recording

 private:
  void (*release_)(void *) = nullptr;
  void *owner_ = nullptr;
};

class TensorImpl : public RefCounted {
 public:
  TensorImpl() = default;
  ~TensorImpl() override;

  dg_tensor_t descriptor{};  // shape and strides point into this object
  Ref<Storage> storage;
  std::unique_ptr<AutogradMeta> autograd;  // null: neither needs a gradient nor has a history
  void *python = nullptr;                  // the Python object that wraps this one, if there is one; not owned
  int64_t numel = 0;
  bool contiguous = true;
  bool is_view = false;
  Ref<TensorImpl> base;  // of a view that was made while the tape ran: the tensor with all of the memory

  static void *operator new(size_t size);
  static void operator delete(void *memory, size_t size);

 private:
  friend class Tensor;
  int64_t shape_[DG_MAX_NDIM];
  int64_t strides_[DG_MAX_NDIM];
};

// A reference to a tensor; empty for "none".
class Tensor : public Ref<TensorImpl> {
 public:
  Tensor() = default;
  explicit Tensor(TensorImpl *impl) : Ref(impl) {}

  // Fresh memory, content undefined.
  static Tensor empty(const Shape &shape, dg_dtype_t dtype, Device &device);
  // A tensor over existing memory; strides in elements, offset in bytes from the storage's first byte.
  static Tensor over(const Ref<Storage> &storage, dg_dtype_t dtype, const Shape &shape, const Shape &strides,
                     uint64_t byte_offset);

  bool defined() const { return get() != nullptr; }
  const dg_tensor_t &descriptor() const { return get()->descriptor; }
  Device &device() const { return get()->storage->device; }
  dg_dtype_t dtype() const { return get()->descriptor.dtype; }
  int64_t ndim() const { return get()->descriptor.ndim; }
  int64_t numel() const { return get()->numel; }
  uint64_t nbytes() const { return uint64_t(numel()) * dtype_size(dtype()); }
  Shape shape() const { return {get()->descriptor.shape, size_t(ndim())}; }
  Shape strides() const { return {get()->descriptor.strides, size_t(ndim())}; }
  int64_t size(int64_t axis) const { return get()->descriptor.shape[axis]; }
  int64_t stride(int64_t axis) const { return get()->descriptor.strides[axis]; }
  bool is_contiguous() const { return get()->contiguous; }
  // Bytes from the storage's first byte.
  uint64_t byte_offset() const { return get()->descriptor.byte_offset - get()->storage->offset; }
  // Host memory: the address of the first element. Only for devices whose memory the host may touch.
  char *host_data() const { return static_cast<char *>(get()->descriptor.data) + get()->descriptor.byte_offset; }

  bool requires_grad() const;
  // The same memory without a history.
  Tensor detach() const;
};

inline bool same_shape(const Tensor &a, const Tensor &b) {
  const dg_tensor_t &x = a.descriptor(), &y = b.descriptor();
  return x.ndim == y.ndim && std::equal(x.shape, x.shape + x.ndim, y.shape);
}

// Strides of dense row-major memory.
Shape dense_strides(const Shape &shape);
// Whether the elements lie densely in row-major order; axes of size 1 do not count, and an empty tensor is dense.
bool is_dense(const Shape &shape, const Shape &strides);
// The bytes from the first to behind the last element that a view touches, relative to its byte_offset: [low, high).
struct Span {
  int64_t low, high;
};
Span byte_span(const dg_tensor_t &tensor);
// Two elements of the view may be the same memory.
bool overlaps_itself(const dg_tensor_t &tensor);

enum class Overlap { none, same, partial };
// How two tensors lie to each other: apart, exactly the same view, or partly over each other.
Overlap overlap(const Tensor &a, const Tensor &b);

}  // namespace dougong
