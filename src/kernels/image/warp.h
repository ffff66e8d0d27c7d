// Images looked up at the places that a projective map leads to, and the transpose of that.
//
// Places are computed in float64 and rounded nowhere else; sums are taken in the type of the pixels. What a place
// beyond the edges stands for is TensorFlow's rule for it.
#pragma once

#include <cstdint>

namespace capstan {

enum class WarpFill : std::uint8_t { kConstant, kNearest, kReflect, kWrap };

// Images [count, height, width, channels], with one map of eight numbers for all or one for each.
struct WarpSize {
  std::int64_t count = 0, height = 0, width = 0, channels = 0;
  bool is_one_map = true;
  bool is_bilinear = true;
  WarpFill fill = WarpFill::kConstant;
};

// A place brought inside [0, length - 1], but for kConstant. The place is finite.
double place_inside(double place, std::int64_t length, WarpFill fill);

// out[b, y, x] = in[b] at ((m0 x + m1 y + m2) / k, (m3 x + m4 y + m5) / k) with k = m6 x + m7 y + 1. Pixels outside,
// and places that are not finite, are `fill_value`.
void warp_images(const WarpSize& size, const double* maps, double fill_value, const float* in, float* out);
void warp_images(const WarpSize& size, const double* maps, double fill_value, const double* in, double* out);

// The transpose: adds g[b, y, x] to those pixels that it was read from, by the same weights. Writes all of `out`.
void warp_images_adjoint(const WarpSize& size, const double* maps, const float* g, float* out);
void warp_images_adjoint(const WarpSize& size, const double* maps, const double* g, double* out);

}  // namespace capstan
