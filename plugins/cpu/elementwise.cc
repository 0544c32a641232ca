// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include "kernels/nest.h"
#include "kernels/strided.h"
#include "parallel.h"

namespace dougong::cpu {
namespace {

// The tensors of a call, outputs first.
struct Operands {
  const dg_tensor_t *tensor[max_operands];
  int32_t count, outputs;

  explicit Operands(const dg_kernel_call_t *call)
      : count(call->output_count + call->input_count), outputs(call->output_count) {
    for (int32_t i = 0; i < outputs; ++i) tensor[i] = call->outputs[i];
    for (int32_t i = outputs; i < count; ++i) tensor[i] = call->inputs[i - outputs];
  }

  // The number of elements if all operands are dense, else -1.
  int64_t dense_count() const {
    const dg_tensor_t &first = *tensor[0];
    int64_t size = 1;
    for (int32_t axis = first.ndim; axis-- > 0;) {
      int64_t n = first.shape[axis];
      if (n == 1) continue;
      for (int32_t i = 0; i < count; ++i) {
        if (tensor[i] && tensor[i]->strides[axis] != size) return -1;
      }
      size *= n;
    }
    return size;
  }

  bool any_half() const {
    for (int32_t i = 0; i < count; ++i) {
      if (tensor[i] && (tensor[i]->dtype == DG_DTYPE_FLOAT16 || tensor[i]->dtype == DG_DTYPE_BFLOAT16)) return true;
    }
    return false;
  }

  Nest<max_operands> nest() const {
    Nest<max_operands> nest;
    for (int32_t axis = 0; axis < tensor[0]->ndim; ++axis) {
      int64_t strides[max_operands] = {};
      for (int32_t i = 0; i < count; ++i) strides[i] = tensor[i] ? tensor[i]->strides[axis] * item_size(*tensor[i]) : 0;
      nest.add_axis(tensor[0]->shape[axis], strides);
    }
    nest.finish();
    return nest;
  }
};

// One row of a nest, cut into chunks that fit the buffers.
class Row {
 public:
  Row(const Operands &operands, const Nest<max_operands> &nest, bool raw) : operands_(operands), nest_(nest) {
    for (int32_t i = 0; i < operands.count; ++i) {
      if (!operands.tensor[i]) continue;
      dtype_[i] = dtype_of(operands.tensor[i]->dtype);
      widen_[i] = !raw && is_half(dtype_[i]);
      direct_[i] = !widen_[i] && (nest.row_stride()[i] == item_sizes[dtype_[i]]);
      all_direct_ &= direct_[i];
      constant_[i] = i >= operands.outputs && nest.row_stride()[i] == 0;
    }
  }

  // Some operand is neither dense along the row nor constant.
  bool strided() const {
    for (int32_t i = 0; i < operands_.count; ++i) {
      int64_t stride = operands_.tensor[i] ? nest_.row_stride()[i] : 0;
      if (stride != 0 && stride != item_sizes[dtype_[i]]) return true;
    }
    return false;
  }

  void run(char *const (&row)[max_operands], Loop loop, const void *attributes) {
    if (all_direct_) return loop(row, nest_.row_size(), attributes);
    for (int64_t first = 0; first < nest_.row_size(); first += chunk_size) {
      int64_t left = nest_.row_size() - first, n = left < chunk_size ? left : chunk_size;
      run_chunk(row, first, n, loop, attributes);
    }
  }

 private:
  void run_chunk(char *const (&row)[max_operands], int64_t first, int64_t n, Loop loop, const void *attributes) {
    char *operand[max_operands] = {};
    for (int32_t i = 0; i < operands_.count; ++i) {
      if (!operands_.tensor[i]) continue;
      char *place = row[i] + first * nest_.row_stride()[i];
      operand[i] = direct_[i] ? place : buffer_[i].bytes;
      bool loaded = constant_[i] && first > 0;
      if (i >= operands_.outputs && !direct_[i] && !loaded)
        load(operand[i], place, nest_.row_stride()[i], n, dtype_[i], widen_[i]);
    }
    loop(operand, n, attributes);
    for (int32_t i = 0; i < operands_.outputs; ++i) {
      if (operands_.tensor[i] && !direct_[i])
        store(row[i] + first * nest_.row_stride()[i], nest_.row_stride()[i], operand[i], n, dtype_[i], widen_[i]);
    }
  }

  const Operands &operands_;
  const Nest<max_operands> &nest_;
  Dtype dtype_[max_operands];
  bool widen_[max_operands], direct_[max_operands], constant_[max_operands], all_direct_ = true;
  Buffer buffer_[max_operands];
};

// Operands that are not dense along a row bring a page for each element: short rows let the next ones find them again.
void run_nest(const Operands &operands, Nest<max_operands> nest, char *const (&start)[max_operands], Loop loop,
              bool raw, const void *attributes) {
  Row row(operands, nest, raw);
  int64_t size = nest.row_size(), step = row.strided() ? chunk_size : size;
  for (int64_t first = 0; first < size; first += step) {
    char *base[max_operands] = {};
    for (int32_t i = 0; i < operands.count; ++i) {
      if (operands.tensor[i]) base[i] = start[i] + first * nest.row_stride()[i];
    }
    nest.shape[nest.ndim - 1] = size - first < step ? size - first : step;
    nest.each_row(base, [&](char *const(&pointer)[max_operands]) { row.run(pointer, loop, attributes); });
  }
}

// The outermost axis is cut among the threads.
dg_status_t run_any_layout(const Operands &operands, Loop loop, bool raw, const void *attributes) {
  const Nest<max_operands> nest = operands.nest();
  const int64_t outer = nest.shape[0], inner = outer > 0 ? nest.size() / outer : 0;
  const int64_t grain = inner > 0 ? (parallel_grain + inner - 1) / inner : 1;
  parallel_for(outer, grain, nest.ndim == 1 ? chunk_size : 1, [&](int64_t first, int64_t end) {
    Nest<max_operands> part = nest;
    part.shape[0] = end - first;
    char *start[max_operands] = {};
    for (int32_t i = 0; i < operands.count; ++i)
      if (operands.tensor[i]) start[i] = address(*operands.tensor[i]) + first * nest.stride[0][i];
    run_nest(operands, part, start, loop, raw, attributes);
  });
  return DG_STATUS_OK;
}

}  // namespace

dg_status_t elementwise_run(const dg_kernel_call_t *call, Loop loop, bool raw, const void *attributes) {
  Operands operands(call);
  int64_t count = operands.dense_count();
  if (count < 0 || (!raw && operands.any_half())) return run_any_layout(operands, loop, raw, attributes);
  parallel_for(count, parallel_grain, 64, [&](int64_t first, int64_t end) {
    char *operand[max_operands] = {};
    for (int32_t i = 0; i < operands.count; ++i)
      if (operands.tensor[i]) operand[i] = address(*operands.tensor[i]) + first * item_size(*operands.tensor[i]);
    loop(operand, end - first, attributes);
  });
  return DG_STATUS_OK;
}

dg_status_t elementwise_launch(const dg_kernel_call_t *call) {
  const Elementwise &op = *static_cast<const Elementwise *>(call->user_data);
  Dtype dtype = dtype_of(call->inputs[op.typed]->dtype);
  if (dtype == dtype_count || !op.loops[dtype])
    return fail(DG_STATUS_UNSUPPORTED, "the op does not allow dtype 0x%08x", call->inputs[op.typed]->dtype);
  return elementwise_run(call, op.loops[dtype], op.raw, call->attributes);
}

}  // namespace dougong::cpu
