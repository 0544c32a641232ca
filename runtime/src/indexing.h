// Reading and writing by tensors of indices, and writes in place that the tape records.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensor.h"

namespace dougong {

// An index that holds tensors: the other parts of it are done, and made `view`.
struct AdvancedIndex {
  Tensor view;
  Shape axes;                   // of the view, ascending: those that are indexed
  std::vector<Tensor> indices;  // integers, one tensor an axis; they broadcast to each other
  bool together = true;         // their axes stand where the indexed ones were; false: in front of all others
};

Tensor read_indexed(const AdvancedIndex &index);
// Writes the source, broadcast and in any dtype, to a view. Nothing is recorded.
void write_view(const Tensor &view, const Tensor &source);
// Writes the source, broadcast, to what read_indexed reads. Nothing is recorded.
void write_indexed(const AdvancedIndex &index, const Tensor &source);

// The tensor with `source`, broadcast, at the places, which count elements in row-major order: a new tensor with a
// history.
Tensor with_places_written(const Tensor &tensor, const Tensor &places, const Tensor &source);
// Writes the result, of the tensor's shape, into its memory, and gives it the result's history. The base of a view gets
// its history too; other views of it may not be used any more. Throws as check_in_place does.
void replace_in_place(const Tensor &tensor, const Tensor &result, const char *what);

}  // namespace dougong
