#include "src/kernels/image/warp.h"

#include <algorithm>
#include <cmath>

#include "src/core/thread_pool.h"

namespace capstan {

namespace {

// Elements of the result per task; fixed, so that the split depends on the shape only.
constexpr std::int64_t kTaskElements = 1 << 13;

// The pixels around a place, and how much each counts. Those outside have the index -1.
struct Neighbours {
  std::int64_t pixel[4];
  double weight[4];
  int count = 0;
};

// The pixels of an image around the place that the pixel (x, y) of the result comes from.
class Places {
 public:
  Places(const WarpSize& size, const double* maps, std::int64_t image)
      : size_(size), map_(maps + (size.is_one_map ? 0 : 8 * image)) {}

  // False if the place is outside altogether.
  bool find(std::int64_t column, std::int64_t row, Neighbours& found) const {
    const auto u = static_cast<double>(column), v = static_cast<double>(row);
    const double k = map_[6] * u + map_[7] * v + 1;
    const double from_x = (map_[0] * u + map_[1] * v + map_[2]) / k;
    const double from_y = (map_[3] * u + map_[4] * v + map_[5]) / k;
    if (!std::isfinite(from_x) || !std::isfinite(from_y)) return false;
    const double x = place_inside(from_x, size_.width, size_.fill);
    const double y = place_inside(from_y, size_.height, size_.fill);
    // Indices are made of places near the image only.
    if (!(x > -1 && y > -1 && x < static_cast<double>(size_.width) && y < static_cast<double>(size_.height))) {
      return false;
    }
    if (!size_.is_bilinear) {
      found.count = 1;
      found.weight[0] = 1;
      found.pixel[0] = index(static_cast<std::int64_t>(std::round(x)), static_cast<std::int64_t>(std::round(y)));
      return found.pixel[0] >= 0;
    }
    const double left = std::floor(x), top = std::floor(y);
    const auto i = static_cast<std::int64_t>(left), j = static_cast<std::int64_t>(top);
    const double right = x - left, down = y - top;
    found.count = 4;
    found.pixel[0] = index(i, j);
    found.pixel[1] = index(i + 1, j);
    found.pixel[2] = index(i, j + 1);
    found.pixel[3] = index(i + 1, j + 1);
    found.weight[0] = (1 - right) * (1 - down);
    found.weight[1] = right * (1 - down);
    found.weight[2] = (1 - right) * down;
    found.weight[3] = right * down;
    return true;
  }

 private:
  std::int64_t index(std::int64_t x, std::int64_t y) const {
    return x < 0 || y < 0 || x >= size_.width || y >= size_.height ? -1 : y * size_.width + x;
  }

  const WarpSize& size_;
  const double* map_;
};

template <class T>
void warp(const WarpSize& size, const double* maps, double fill_value, const T* in, T* out) {
  const std::int64_t per_row = size.width * size.channels, rows = size.count * size.height;
  if (rows == 0 || per_row == 0) return;
  const std::int64_t per_task = std::max<std::int64_t>(1, kTaskElements / per_row);
  const T fill = static_cast<T>(fill_value);
  parallel_for((rows + per_task - 1) / per_task, [&](std::int64_t task) {
    Neighbours around;
    for (std::int64_t row = task * per_task; row < std::min(rows, (task + 1) * per_task); ++row) {
      const std::int64_t image = row / size.height;
      const Places places(size, maps, image);
      const T* from = in + image * size.height * per_row;
      T* to = out + row * per_row;
      for (std::int64_t column = 0; column < size.width; ++column, to += size.channels) {
        if (!places.find(column, row % size.height, around)) {
          std::fill_n(to, size.channels, fill);
          continue;
        }
        std::fill_n(to, size.channels, T(0));
        for (int i = 0; i < around.count; ++i) {
          const T weight = static_cast<T>(around.weight[i]);
          if (weight == 0) continue;  // what is next to a pixel that is met may be infinite, or outside
          if (around.pixel[i] < 0) {
            for (std::int64_t c = 0; c < size.channels; ++c) to[c] += weight * fill;
          } else {
            const T* pixel = from + around.pixel[i] * size.channels;
            for (std::int64_t c = 0; c < size.channels; ++c) to[c] += weight * pixel[c];
          }
        }
      }
    }
  });
}

// An image is one task: which pixels two rows add to is not known.
template <class T>
void warp_adjoint(const WarpSize& size, const double* maps, const T* g, T* out) {
  const std::int64_t per_image = size.height * size.width * size.channels;
  if (size.count == 0 || per_image == 0) return;
  parallel_for(size.count, [&](std::int64_t image) {
    const Places places(size, maps, image);
    const T* from = g + image * per_image;
    T* to = out + image * per_image;
    std::fill_n(to, per_image, T(0));
    Neighbours around;
    for (std::int64_t row = 0; row < size.height; ++row) {
      for (std::int64_t column = 0; column < size.width; ++column, from += size.channels) {
        if (!places.find(column, row, around)) continue;
        for (int i = 0; i < around.count; ++i) {
          if (around.pixel[i] < 0) continue;
          const T weight = static_cast<T>(around.weight[i]);
          T* pixel = to + around.pixel[i] * size.channels;
          for (std::int64_t c = 0; c < size.channels; ++c) pixel[c] += weight * from[c];
        }
      }
    }
  });
}

}  // namespace

double place_inside(double place, std::int64_t length, WarpFill fill) {
  const auto n = static_cast<double>(length);
  if (fill == WarpFill::kConstant) return place;
  if (length == 1) return 0;
  if (fill == WarpFill::kReflect) {  // d c b a | a b c d | d c b a
    if (place < 0) {
      place += 2 * n * std::trunc(-place / (2 * n));
      place = place < -n ? place + 2 * n : -place - 1;
    } else if (place > n - 1) {
      place -= 2 * n * std::trunc(place / (2 * n));
      if (place >= n) place = 2 * n - place - 1;
    }
  } else if (fill == WarpFill::kWrap) {  // a b c d | a b c d | a b c d
    if (place < 0) {
      place += n * (std::trunc(-place / (n - 1)) + 1);
    } else if (place > n - 1) {
      place -= n * std::trunc(place / (n - 1));
    }
  }
  return std::clamp(place, 0.0, n - 1);
}

void warp_images(const WarpSize& size, const double* maps, double fill_value, const float* in, float* out) {
  warp(size, maps, fill_value, in, out);
}
void warp_images(const WarpSize& size, const double* maps, double fill_value, const double* in, double* out) {
  warp(size, maps, fill_value, in, out);
}
void warp_images_adjoint(const WarpSize& size, const double* maps, const float* g, float* out) {
  warp_adjoint(size, maps, g, out);
}
void warp_images_adjoint(const WarpSize& size, const double* maps, const double* g, double* out) {
  warp_adjoint(size, maps, g, out);
}

}  // namespace capstan
