// A mutant: a correct plugin with one planted fault. See README.md.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dougong/dg_device.h>
#include <dougong/dg_ops.h>

#include <cstring>
#include <string>
#include <vector>

namespace mutant {

// The correct plugin below, its tables copied as far as both sides know them.
struct Base {
  dg_plugin_t plugin;
  dg_device_api_t device;
};
const Base &base();

// Runs instead of the original's launch. `call` carries the original's user data and may be changed and forwarded.
using Launch = dg_status_t (*)(const dg_kernel_t &original, dg_kernel_call_t call);

// What a fault changes: the launch of each kernel, or slots of the two tables. With a `workspace`, kernels that have no
// plan get one that asks for so many bytes.
struct Fault {
  const char *name;
  Launch launch;
  void (*install)(dg_plugin_t &plugin, dg_device_api_t &device);
  uint64_t workspace;
};

// One table a file, ended by a null name.
extern const Fault layout_faults[];
extern const Fault number_faults[];
extern const Fault gradient_faults[];
extern const Fault contract_faults[];
extern const Fault plan_faults[];
extern const Fault memory_faults[];
extern const Fault stream_faults[];

inline bool is(const dg_kernel_t &kernel, const char *op) { return std::strcmp(kernel.op, op) == 0; }

// ---- Tensors on the host ------------------------------------------------------------------------------------------

inline size_t item_size(dg_dtype_t dtype) { return (dtype >> 8 & 0xff) / 8; }
inline bool is_float(dg_dtype_t dtype) {
  return dtype == DG_DTYPE_FLOAT16 || dtype == DG_DTYPE_BFLOAT16 || dtype == DG_DTYPE_FLOAT32 ||
         dtype == DG_DTYPE_FLOAT64;
}

// A descriptor that owns its sizes and strides.
struct Descriptor {
  explicit Descriptor(const dg_tensor_t &from);
  dg_tensor_t tensor() const;
  void make_dense();
  int64_t count() const;

  std::vector<int64_t> shape, strides;
  dg_tensor_t fields;
};

// A call whose descriptors can be changed.
class Call {
 public:
  explicit Call(const dg_kernel_call_t &from);
  const dg_kernel_call_t *get();
  bool has_input(size_t i) const { return i < present_.size() && present_[i]; }

  std::vector<Descriptor> inputs, outputs;  // an input that is not there has an empty descriptor

 private:
  dg_kernel_call_t call_;
  std::vector<bool> present_;
  std::vector<dg_tensor_t> tensors_;
  std::vector<const dg_tensor_t *> input_table_, output_table_;
};

// The elements of a tensor in row-major order, copied to the host when made and copied back by `store`.
class Elements {
 public:
  Elements(const dg_kernel_call_t &call, const dg_tensor_t &tensor);
  size_t size() const { return places_.size(); }
  unsigned char *operator[](size_t i) { return span_.data() + places_[i]; }
  uint64_t bits(size_t i);
  void set_bits(size_t i, uint64_t bits);
  bool is_nan(size_t i);
  bool is_subnormal(size_t i);
  double number(size_t i);  // of a float16, bfloat16, float32 or float64 tensor
  void store();
  dg_dtype_t dtype() const { return dtype_; }

 private:
  dg_kernel_call_t call_;
  dg_dtype_t dtype_;
  void *data_;
  uint64_t begin_;
  std::vector<unsigned char> span_;
  std::vector<int64_t> places_;
};

// Device memory that holds what a fault puts in place of a tensor; given back with the object.
class Substitute {
 public:
  Substitute(const dg_kernel_call_t &call, Descriptor *descriptor, dg_dtype_t dtype, const void *bytes);
  ~Substitute();
  Substitute(const Substitute &) = delete;

 private:
  dg_kernel_call_t call_;
  void *handle_ = nullptr;
};

// Waits for the call's stream.
dg_status_t settle(const dg_kernel_call_t &call);

dg_status_t forward(const dg_kernel_t &original, const dg_kernel_call_t &call);

// Forwards, waits, and lets `change` edit the elements of each output. Only on success.
template <class Change>
dg_status_t edit_outputs(const dg_kernel_t &original, const dg_kernel_call_t &call, Change change) {
  dg_status_t status = forward(original, call);
  if (status != DG_STATUS_OK || (status = settle(call)) != DG_STATUS_OK) return status;
  for (int32_t i = 0; i < call.output_count; ++i) {
    Elements elements(call, *call.outputs[i]);
    change(elements, i);
    elements.store();
  }
  return DG_STATUS_OK;
}

}  // namespace mutant
