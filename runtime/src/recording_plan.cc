// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "recording_steps.h"

namespace dougong {

namespace {

bool overlap_in_time(const Interval &a, const Interval &b) { return a.first <= b.last && b.first <= a.last; }

// The tightest gap between the pieces, which are sorted by offset, or the place behind them.
uint64_t best_offset(uint64_t size, const std::vector<const Interval *> &pieces) {
  uint64_t end = 0, best = UINT64_MAX, tightest = UINT64_MAX;
  for (const Interval *piece : pieces) {
    if (piece->offset >= end + size && piece->offset - end < tightest) best = end, tightest = piece->offset - end;
    end = std::max(end, piece->offset + piece->size);
  }
  return best == UINT64_MAX ? end : best;
}

}  // namespace

uint64_t plan_arena(std::vector<Interval> &intervals) {
  std::vector<Interval *> order(intervals.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = &intervals[i];
  std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) { return a->size > b->size; });
  std::vector<Interval *> placed;  // sorted by offset
  uint64_t total = 0;
  for (Interval *interval : order) {
    std::vector<const Interval *> neighbours;
    for (const Interval *other : placed)
      if (overlap_in_time(*interval, *other)) neighbours.push_back(other);
    interval->offset = best_offset(interval->size, neighbours);
    total = std::max(total, interval->offset + interval->size);
    const auto behind = [](const Interval *a, const Interval *b) { return a->offset < b->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), interval, behind), interval);
  }
  return total;
}

}  // namespace dougong
