// The steps of a recording, and the memory that they name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attribute_copy.h"
#include "kernel_index.h"
#include "op.h"
#include "tensor.h"

namespace dougong {

// A piece of memory that recorded calls use, by its number.
struct RecordedMemory {
  Device *device = nullptr;
  uint64_t size = 0;
  int first = -1, last = -1;  // steps that use it
  bool existed = false;       // before the first step
  bool constant = false;      // a number that was made a tensor
  int writers = 0;            // steps that write to it
  bool fixed = false;         // holds the same values in each replay, computed once
  Ref<Storage> storage;       // null for an intermediate, which lives in an arena
  void *handle = nullptr;
  uint64_t offset = 0;  // of its first byte from the handle
};

using Memories = std::vector<RecordedMemory>;

// A tensor of a recorded call: its place is filled in once the memory is planned.
struct Argument {
  dg_tensor_t descriptor{};
  int memory = -1;        // -1 for an input that was left out
  uint64_t relative = 0;  // bytes from the memory's first byte
};

class Step {
 public:
  virtual ~Step() = default;
  virtual void place(const Memories &memories) = 0;
  virtual void run() = 0;
  virtual const char *name() const = 0;  // the op's, or what is done
  // The memories that it reads, and those that it writes to.
  virtual void visit(const std::function<void(int memory, bool written)> &see) const = 0;
  // It computes the same in each replay if what it reads is the same.
  virtual bool deterministic() { return !varies; }
  bool varies = false;  // a rehearsal may change it
};

class KernelStep final : public Step {
 public:
  KernelStep(const OpDef &op, const KernelEntry &entry, Device &device, const dg_kernel_call_t &call,
             std::vector<Argument> arguments);
  ~KernelStep() override;
  void place(const Memories &memories) override;
  void run() override;
  const char *name() const override { return op.name; }
  void visit(const std::function<void(int, bool)> &see) const override;
  bool deterministic() override { return !varies && !random("seed"); }

  void set_attributes(const void *attributes);
  const void *attributes() const { return attributes_.data(); }
  // There are attributes, none is a list, and no plan depends on them.
  bool has_plain_attributes() const;
  // The same call but for what attributes hold.
  bool has_shapes_of(const dg_kernel_call_t &call) const;
  // A number that was made a tensor takes the place of another one.
  void set_constant(int input, const Tensor &tensor);
  // Where a call that draws random numbers has its seed ("seed") and first counter ("offset"); null for other calls.
  uint64_t *random(const char *name) {
    return static_cast<uint64_t *>(attributes_.find(op, name, AttributeKind::uint64));
  }

  const OpDef &op;
  const KernelEntry &entry;
  std::vector<Argument> arguments;  // inputs, then outputs
  uint64_t workspace_size = 0;
  int workspace = -1;  // a memory

 private:
  void copy_sizes();
  void make_plan();
  void drop_plan();
  Device &device_;
  dg_kernel_call_t call_;
  std::vector<int64_t> sizes_;  // shapes and strides of all arguments
  std::vector<const dg_tensor_t *> pointers_;
  AttributeCopy attributes_;
  std::vector<std::pair<int, Tensor>> constants_;
};

// Bytes within a memory.
struct RecordedPlace {
  int memory;
  uint64_t relative;
  Device *device = nullptr;
  void *handle = nullptr;
  uint64_t offset = 0;
  void find(const Memories &memories);
};

// A copy from one device to another.
class TransferStep final : public Step {
 public:
  TransferStep(RecordedPlace to, RecordedPlace from, uint64_t size) : to_(to), from_(from), size_(size) {}
  // A number that was made a tensor takes the place of another one.
  void set_source(const Ref<Storage> &from, uint64_t offset) {
    constant_ = from, from_.handle = from->handle, from_.offset = offset;
  }
  void place(const Memories &memories) override;
  void run() override;
  const char *name() const override { return "transfer"; }
  void visit(const std::function<void(int, bool)> &see) const override {
    see(from_.memory, false), see(to_.memory, true);
  }

 private:
  RecordedPlace to_, from_;
  Ref<Storage> constant_;
  uint64_t size_;
};

// Bytes that came from the host, and are the same in each replay.
class UploadStep final : public Step {
 public:
  UploadStep(RecordedPlace to, const void *bytes, uint64_t size)
      : to_(to), bytes_(static_cast<const char *>(bytes), size) {}
  void set_bytes(const void *bytes, uint64_t size) { bytes_.assign(static_cast<const char *>(bytes), size); }
  void place(const Memories &memories) override;
  void run() override;
  const char *name() const override { return "upload"; }
  void visit(const std::function<void(int, bool)> &see) const override { see(to_.memory, true); }

 private:
  RecordedPlace to_;
  std::string bytes_;
};

// Places for pieces of memory, in one arena: those whose steps overlap do not share bytes.
struct Interval {
  uint64_t size;  // a multiple of the arena's granule
  int first, last;
  uint64_t offset;
};
// Fills in the offsets; returns the bytes of the arena. Large pieces go first, each into the tightest gap.
uint64_t plan_arena(std::vector<Interval> &intervals);

}  // namespace dougong
