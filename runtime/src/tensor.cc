// SPDX-License-Identifier: Apache-2.0
#include "tensor.h"

#include "allocator.h"
#include "autograd.h"
#include "stream.h"

namespace dougong {

Storage::Storage(Device &device, uint64_t size) : device(device), size(size) {
  if (recorder()) note_birth(*this);
  if (size == 0) return;
  block = device.allocator().allocate(size, device.current_stream());
  handle = block->handle;
  offset = block->offset;
}

Storage::Storage(Device &device, void *handle, uint64_t offset, uint64_t size, bool read_only, void (*release)(void *),
                 void *owner)
    : device(device),
      handle(handle),
      offset(offset),
      size(size),
      read_only(read_only),
      release_(release),
      owner_(owner) {}

Storage::~Storage() {
  if (birth) birth->note_death();
  if (block) device.allocator().free(block);
  if (release_) release_(owner_);
}

TensorImpl::~TensorImpl() = default;

// Tensors come and go all the time: each thread keeps a few of the last ones' memory.
namespace {
constexpr int spare_limit = 64;
struct Spares {
  void *memory[spare_limit];
  int count = 0;
  bool closed = false;
  ~Spares() {
    closed = true;
    while (count > 0) ::operator delete(memory[--count]);
  }
};
thread_local Spares spares;
}  // namespace

void *TensorImpl::operator new(size_t size) {
  if (spares.count > 0) return spares.memory[--spares.count];
  return ::operator new(size);
}

void TensorImpl::operator delete(void *memory, size_t) {
  if (!spares.closed && spares.count < spare_limit)
    spares.memory[spares.count++] = memory;
  else
    ::operator delete(memory);
}

Shape dense_strides(const Shape &shape) {
  Shape strides;
  strides.resize(shape.size());
  int64_t step = 1;
  for (int64_t i = int64_t(shape.size()) - 1; i >= 0; --i) {
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_dense(const Shape &shape, const Shape &strides) {
  int64_t step = 1;
  bool dense = true;
  for (int64_t i = int64_t(shape.size()) - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    dense &= strides[i] == step;
    step *= shape[i];
  }
  return dense;
}

Tensor Tensor::over(const Ref<Storage> &storage, dg_dtype_t dtype, const Shape &shape, const Shape &strides,
                    uint64_t byte_offset) {
  auto *impl = new TensorImpl;
  Tensor tensor(impl);
  const int ndim = int(shape.size());
  for (int i = 0; i < ndim; ++i) impl->shape_[i] = shape[i], impl->strides_[i] = strides[i];
  impl->numel = shape.numel();
  impl->contiguous = is_dense(shape, strides);
  impl->descriptor = {storage->handle,
                      storage->device.properties().dlpack_device_type,
                      storage->device.index(),
                      ndim,
                      dtype,
                      impl->shape_,
                      impl->strides_,
                      storage->offset + byte_offset};
  impl->storage = storage;
  return tensor;
}

Tensor Tensor::empty(const Shape &shape, dg_dtype_t dtype, Device &device) {
  for (int64_t n : shape)
    if (n < 0) fail(DG_STATUS_INVALID_ARGUMENT, "a shape may not hold negative sizes; found %s", shape.text().c_str());
  int64_t bytes;
  if (__builtin_mul_overflow(shape.numel(), int64_t(dtype_size(dtype)), &bytes))
    fail(DG_STATUS_INVALID_ARGUMENT, "a %s tensor of shape %s has too many bytes", dtype_name(dtype).c_str(),
         shape.text().c_str());
  return over(make_ref<Storage>(device, uint64_t(bytes)), dtype, shape, dense_strides(shape), 0);
}

Span byte_span(const dg_tensor_t &tensor) {
  Span span{0, 0};
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return {0, 0};
    const int64_t reach = (tensor.shape[i] - 1) * tensor.strides[i];
    (reach < 0 ? span.low : span.high) += reach;
  }
  const auto size = int64_t(dtype_size(tensor.dtype));
  return {span.low * size, (span.high + 1) * size};
}

// Sorted by stride, each axis must step over all that the smaller ones cover. True for every view that slicing,
// transposing and broadcasting make; a few odd as_strided views are called overlapping though they are not.
bool overlaps_itself(const dg_tensor_t &tensor) {
  std::pair<int64_t, int64_t> axes[DG_MAX_NDIM];
  int count = 0;
  for (int i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return false;
    if (tensor.shape[i] > 1) axes[count++] = {std::abs(tensor.strides[i]), tensor.shape[i]};
  }
  std::sort(axes, axes + count);
  int64_t covered = 1;
  for (int i = 0; i < count; ++i) {
    if (axes[i].first < covered) return true;
    covered += axes[i].first * (axes[i].second - 1);
  }
  return false;
}

static bool same_view(const dg_tensor_t &a, const dg_tensor_t &b) {
  if (a.ndim != b.ndim || a.dtype != b.dtype || a.byte_offset != b.byte_offset) return false;
  for (int i = 0; i < a.ndim; ++i) {
    if (a.shape[i] != b.shape[i]) return false;
    if (a.shape[i] > 1 && a.strides[i] != b.strides[i]) return false;
  }
  return true;
}

Overlap overlap(const Tensor &a, const Tensor &b) {
  if (a.numel() == 0 || b.numel() == 0 || a.descriptor().data != b.descriptor().data || &a.device() != &b.device())
    return Overlap::none;
  const dg_tensor_t &x = a.descriptor(), &y = b.descriptor();
  if (same_view(x, y)) return Overlap::same;
  const Span s = byte_span(x), t = byte_span(y);
  const int64_t xo = int64_t(x.byte_offset), yo = int64_t(y.byte_offset);
  return xo + s.low < yo + t.high && yo + t.low < xo + s.high ? Overlap::partial : Overlap::none;
}

bool Tensor::requires_grad() const { return get()->autograd && get()->autograd->requires_grad; }

Tensor Tensor::detach() const { return over(get()->storage, dtype(), shape(), strides(), byte_offset()); }

}  // namespace dougong
