// Reductions along any axes of any layout.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../parallel.h"
#include "nest.h"
#include "simd.h"
#include "strided.h"

namespace dougong::cpu {

// The loops of a reduction: over what is kept, in x and y, and over what is folded, in x.
struct Reduction {
  Nest<2> kept;
  Nest<1> folded;
  char *x, *y;
  Dtype dtype;
  int64_t count;  // elements that are folded into one

  // `axis` null: all axes.
  Reduction(const dg_tensor_t &x, const dg_tensor_t &y, const int64_t *axis, size_t axis_count, bool keepdim);

  // The innermost kept axis is dense in x and the folded one is not: many results at once read memory in order.
  bool by_columns() const {
    return kept.row_stride()[0] == item_sizes[dtype] && kept.row_size() >= 8 &&
           folded.row_stride()[0] != item_sizes[dtype];
  }
};

constexpr int64_t tile_width = 128;

// A row op has State, identity(), row(x, count) -> State, combine(a, b) -> State, and column(state, x).
// `T` is the storage type of x; rows arrive as Compute<T>.

// The pieces that fold_row makes of a dense row, each by some thread, combined in their order.
template <class T, class Op>
typename Op::State fold_long_row(const typename Op::Value *x, int64_t count, int64_t piece, const Op &op) {
  constexpr int64_t most = 256;
  typename Op::State state = op.identity(), states[most];
  for (int64_t first = 0; first < count; first += most * piece) {
    const int64_t left = count - first, pieces = (left + piece - 1) / piece < most ? (left + piece - 1) / piece : most;
    parallel_for(pieces, 1, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = first + i * piece, n = count - at < piece ? count - at : piece;
        states[i] = op.row(x + at, n);
      }
    });
    for (int64_t i = 0; i < pieces; ++i) state = op.combine(state, states[i]);
  }
  return state;
}

// The result for the elements below `x`.
template <class T, class Op>
typename Op::State fold_row(const Reduction &r, char *x, const Op &op) {
  using C = typename Op::Value;
  alignas(64) C buffer[chunk_size];
  typename Op::State state = op.identity();
  int64_t stride = r.folded.row_stride()[0];
  bool direct = sizeof(T) == sizeof(C) && stride == int64_t(sizeof(T));
  constexpr int64_t longest = 16 * chunk_size;
  if (direct && r.folded.ndim == 1 && r.folded.row_size() >= 2 * longest)
    return fold_long_row<T>(reinterpret_cast<const C *>(x), r.folded.row_size(), longest, op);
  r.folded.each_row({x}, [&](char *const(&pointer)[1]) {
    for (int64_t first = 0; first < r.folded.row_size();) {
      int64_t left = r.folded.row_size() - first, most = direct ? longest : chunk_size, n = left < most ? left : most;
      const char *place = pointer[0] + first * stride;
      if (!direct) load(buffer, place, stride, n, r.dtype, true);
      state = op.combine(state, op.row(direct ? reinterpret_cast<const C *>(place) : buffer, n));
      first += n;
    }
  });
  return state;
}

// The results for `width` <= tile_width neighbouring elements. Partial results keep the error of long sums small.
template <class T, class Op>
void fold_columns(const Reduction &r, char *x, int64_t width, const Op &op, typename Op::State *states) {
  using C = typename Op::Value;
  alignas(64) C buffer[tile_width];
  alignas(64) typename Op::State partial[tile_width];
  int64_t rows = 0;
  for (int64_t j = 0; j < width; ++j) states[j] = partial[j] = op.identity();
  auto flush = [&] {
    for (int64_t j = 0; j < width; ++j) {
      states[j] = op.combine(states[j], partial[j]);
      partial[j] = op.identity();
    }
    rows = 0;
  };
  r.folded.each_row({x}, [&](char *const(&pointer)[1]) {
    for (int64_t i = 0; i < r.folded.row_size(); ++i) {
      const char *place = pointer[0] + i * r.folded.row_stride()[0];
      if (sizeof(T) != sizeof(C)) load(buffer, place, sizeof(T), width, r.dtype, true);
      const C *row = sizeof(T) != sizeof(C) ? buffer : reinterpret_cast<const C *>(place);
      typename Op::State *into = partial;
      const Op &columns = op;
      vectorised([=] {
        for (int64_t j = 0; j < width; ++j) into[j] = columns.column(j, into[j], row[j]);
      });
      if (++rows == 128) flush();
    }
  });
  flush();
}

// The results of `kept`, which is r's from `first` on.
template <class One, class Tile>
void each_result_of(const Reduction &r, const Nest<2> &kept, int64_t first, One &one, Tile &tile) {
  auto [x_stride, y_stride] = kept.row_stride();
  const bool by_columns = r.by_columns();
  kept.each_row({r.x + first * kept.stride[0][0], r.y + first * kept.stride[0][1]}, [&](char *const(&pointer)[2]) {
    int64_t size = kept.row_size(), step = by_columns ? tile_width : 1;
    for (int64_t i = 0; i < size; i += step) {
      char *x = pointer[0] + i * x_stride, *y = pointer[1] + i * y_stride;
      if (by_columns)
        tile(x, y, y_stride, size - i < tile_width ? size - i : tile_width);
      else
        one(x, y);
    }
  });
}

// one(x, y) for each result, or tile(x, y, y stride, width) for neighbouring ones.
template <class One, class Tile>
void each_result(const Reduction &r, One &&one, Tile &&tile) {
  const int64_t outer = r.kept.shape[0], inner = outer > 0 ? r.kept.size() / outer * r.count : 0;
  const int64_t grain = inner > 0 ? (parallel_grain + inner - 1) / inner : 1;
  parallel_for(outer, grain, r.kept.ndim == 1 ? tile_width : 1, [&](int64_t first, int64_t end) {
    Nest<2> part = r.kept;
    part.shape[0] = end - first;
    each_result_of(r, part, first, one, tile);
  });
}

// The whole reduction: y = finish(state).
template <class T, class Op, class Finish>
void reduce(const Reduction &r, const Op &op, const Finish &finish) {
  using Out = decltype(finish(op.identity()));
  each_result(
      r,
      [&](char *x, char *y) {
        Out result = finish(fold_row<T>(r, x, op));
        std::memcpy(y, &result, sizeof result);
      },
      [&](char *x, char *y, int64_t y_stride, int64_t width) {
        typename Op::State states[tile_width];
        fold_columns<T>(r, x, width, op, states);
        for (int64_t j = 0; j < width; ++j) {
          Out result = finish(states[j]);
          std::memcpy(y + j * y_stride, &result, sizeof result);
        }
      });
}

// A float64 result rounded once to T.
template <class T>
T rounded(double x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return Store<T>::from(round_to_odd(x));
  else
    return T(x);
}

template <class C>
struct SumOp {
  using Value = C;
  using State = Sum<C>;
  static State identity() { return State(0); }
  static State row(const C *x, int64_t count) {
    State result;
    State *out = &result;
    vectorised([=] { *out = sum_row(x, count); });
    return result;
  }
  static State combine(State a, State b) { return a + b; }
  static State column(int64_t, State state, C x) { return state + State(x); }
};

template <class C, class Order>
struct BestOp {
  using Value = C;
  using State = C;
  static State identity() { return Order::template identity<C>(); }
  static State row(const C *x, int64_t count) {
    State result;
    State *out = &result;
    vectorised([=] { *out = best_of_row<Order>(x, count); });
    return result;
  }
  static State combine(State a, State b) { return Order::better(a, b) ? a : b; }
  static State column(int64_t, State state, C x) { return combine(state, x); }
};

// The launch of max and min.
template <class Order, class Attributes>
dg_status_t best_launch(const dg_kernel_call_t *call) {
  const Attributes &a = attributes<Attributes>(call);
  Reduction r(*call->inputs[0], *call->outputs[0], a.axis, a.axis_count, a.keepdim);
  return with_dtype(r.dtype, [&](auto type) {
    using T = decltype(type);
    using C = std::conditional_t<std::is_same_v<T, Bool>, uint8_t, Compute<T>>;
    reduce<T>(r, BestOp<C, Order>(), [](C best) {
      if constexpr (std::is_same_v<T, Bool>)
        return Bool{uint8_t(best != 0)};
      else
        return Store<T>::from(best);
    });
    return DG_STATUS_OK;
  });
}

}  // namespace dougong::cpu
