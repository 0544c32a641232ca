// Tensors (batch, channels, ...) by channel: batch_norm and its gradient. Large images are rows that belong to one
// channel each. Small ones are columns of the matrix (batch, channels * size), so that vectors run across channels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dense.h"
#include "simd.h"

namespace dougong::cpu {

// Work is done for the channels begin .. end - 1: some at a time where they are rows, so that they stay cached.
struct Images {
  int64_t batch, channels, size, begin, end;

  explicit Images(const dg_tensor_t &x) : batch(x.shape[0]), channels(x.shape[1]), size(1), begin(0), end(channels) {
    for (int32_t axis = 2; axis < x.ndim; ++axis) size *= x.shape[axis];
  }
  // f(images) for each part of the channels.
  template <class F>
  void each_part(const F &f) const {
    if (small()) return f(*this);
    constexpr int64_t cached = 1 << 15;
    int64_t step = cached / (batch * size > 0 ? batch * size : 1) + 1;
    Images part = *this;
    for (part.begin = 0; part.begin < channels; part.begin = part.end) {
      part.end = channels - part.begin < step ? channels : part.begin + step;
      f(part);
    }
  }
  bool small() const { return size <= 32; }
  int64_t width() const { return channels * size; }
  double count() const { return double(batch) * double(size); }
  int64_t place(int64_t channel, int64_t image) const { return (image * channels + channel) * size; }

  // values[column] = one for each channel: a value for each column of the matrix.
  template <class C, class T>
  void spread(const T *of_channels, C *of_columns) const {
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t i = 0; i < size; ++i) of_columns[c * size + i] = C(of_channels[c]);
  }
  // The sums over a channel's columns.
  void gather(const double *of_columns, double *of_channels) const {
    for (int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < size; ++i) sum += of_columns[c * size + i];
      of_channels[c] = sum;
    }
  }
};

// For each channel the sum of f(place) over its elements, where f gives the value at a place in memory: `f(place,
// channel)` for rows, `f(place, column)` for columns.
template <class F>
void channel_sums(const Images &images, double *sums, const F &f) {
  if (images.small()) {
    int64_t width = images.width();
    Scratch<double> columns(width);
    double *into = columns.data();
    for (int64_t i = 0; i < width; ++i) into[i] = 0;
    vectorised([=, &images] {
      for (int64_t image = 0; image < images.batch; ++image)
        for (int64_t i = 0; i < width; ++i) into[i] += f(image * width + i, i);
    });
    return images.gather(into, sums);
  }
  for (int64_t c = images.begin; c < images.end; ++c) {
    double total = 0, *into = &total;
    vectorised([=, &images] {
      for (int64_t image = 0; image < images.batch; ++image) {
        int64_t first = images.place(c, image);
        *into += fold(
            images.size, 0.0, [=](int64_t i) { return f(first + i, c); }, [](double a, double b) { return a + b; });
      }
    });
    sums[c] = total;
  }
}

// f(place, channel) or f(place, column), as above, for every element.
template <class F>
void each_element(const Images &images, const F &f) {
  vectorised([=, &images] {
    if (images.small()) {
      int64_t width = images.width();
      for (int64_t image = 0; image < images.batch; ++image)
#pragma GCC ivdep
        for (int64_t i = 0; i < width; ++i) f(image * width + i, i);
      return;
    }
    for (int64_t channel = images.begin; channel < images.end; ++channel)
      for (int64_t image = 0; image < images.batch; ++image) {
        int64_t first = images.place(channel, image);
#pragma GCC ivdep
        for (int64_t i = 0; i < images.size; ++i) f(first + i, channel);
      }
  });
}

// A value for each channel, or for each column where images are small: what the functions above are told to look up.
template <class C>
struct Lookup {
  Scratch<C> values;
  template <class T>
  Lookup(const Images &images, const T *of_channels) : values(images.small() ? images.width() : images.channels) {
    if (images.small())
      images.spread(of_channels, values.data());
    else
      for (int64_t c = images.begin; c < images.end; ++c) values[c] = C(of_channels[c]);
  }
  const C *data() const { return values.data(); }
};

// What a value of float64 has beyond the precision of C.
template <class C>
void remainders(const Images &images, const double *values, double *out) {
  for (int64_t c = images.begin; c < images.end; ++c) out[c] = values[c] - double(C(values[c]));
}

}  // namespace dougong::cpu
