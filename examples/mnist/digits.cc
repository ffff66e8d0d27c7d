#include "examples/mnist/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "examples/mnist/glyphs.h"

namespace mnist {
namespace {

constexpr int kSide = 28;
constexpr int kPixels = kSide * kSide;

uint64_t scrambled(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// A counter-based generator (splitmix64): number n is a function of the key and n alone.
class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : state_(scrambled(seed + scrambled(stream + kStep))) {}

  uint64_t bits() { return scrambled(state_ += kStep); }
  size_t below(size_t n) { return (bits() >> 32) * n >> 32; }
  // In [0, 1), a multiple of 2^-24.
  float unit() { return static_cast<float>(bits() >> 40) * 0x1p-24f; }
  float between(float low, float high) { return low + (high - low) * unit(); }
  // The sum of four uniform numbers: nearly normal, with deviation 1, and never beyond 3.5. The
  // order of the additions is part of the result.
  float normal() {
    float sum = -2.0f;
    for (int i = 0; i < 4; ++i) sum += unit();
    return sum * 1.7320508f;
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t state_;
};

Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y}; }
Point operator*(float s, Point p) { return {s * p.x, s * p.y}; }
bool same(Point a, Point b) { return a.x == b.x && a.y == b.y; }

// A Catmull-Rom curve through the points, as short straight pieces.
void append_curve(const Stroke& points, std::vector<Point>& line) {
  constexpr int kPieces = 5;
  line.push_back(points.front());
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const Point b = points[i], c = points[i + 1];
    if (same(b, c)) continue;
    // At an end and at a corner the curve leaves in the direction of its neighbour.
    const Point a = i == 0 || same(points[i - 1], b) ? b : points[i - 1];
    const Point d = i + 2 == points.size() || same(points[i + 2], c) ? c : points[i + 2];
    const Point leave = 0.5f * (c - a), arrive = 0.5f * (d - b);
    for (int k = 1; k <= kPieces; ++k) {
      const float t = static_cast<float>(k) / kPieces, u = 1 - t;
      line.push_back(u * u * (1 + 2 * t) * b + t * u * u * leave + t * t * (1 + 2 * u) * c - t * t * u * arrive);
    }
  }
}

// A smooth displacement of the plane: a random quadratic in each coordinate. Points that coincide
// stay together.
struct Bend {
  std::array<float, 6> xs, ys;

  explicit Bend(Random& random) {
    constexpr float kStrength = 0.21f;
    for (float& x : xs) x = kStrength * random.normal();
    for (float& y : ys) y = kStrength * random.normal();
  }

  Point operator()(Point p) const {
    const std::array<float, 6> terms = {0.5f * p.x, 0.5f * p.y, p.x * p.y, p.x * p.x, p.y * p.y, p.x * p.y * p.y};
    Point moved = p;
    for (size_t i = 0; i < terms.size(); ++i) moved = moved + Point{xs[i] * terms[i], ys[i] * terms[i]};
    return moved;
  }
};

// Stretches, shears and turns.
struct Slant {
  float width, shear, cosine, sine;

  explicit Slant(Random& random) {
    width = random.between(0.62f, 1.05f);
    shear = 0.10f + 0.20f * random.normal();
    // The half angle's tangent gives sine and cosine exactly rounded.
    const float half = 0.075f * random.normal();
    cosine = (1 - half * half) / (1 + half * half);
    sine = 2 * half / (1 + half * half);
  }

  Point operator()(Point p) const {
    const Point q = {width * p.x - shear * p.y, p.y};
    return {cosine * q.x - sine * q.y, sine * q.x + cosine * q.y};
  }
};

using Lines = std::vector<std::vector<Point>>;

// The strokes of one digit as polylines, around the origin, about one unit high.
void write_digit(const Style& style, Random& random, Lines& lines) {
  constexpr float kTremor = 0.034f;
  const Bend bend(random);
  const Slant slant(random);
  lines.resize(style.size());
  Stroke points;
  for (size_t s = 0; s < style.size(); ++s) {
    points.clear();
    for (size_t i = 0; i < style[s].size(); ++i) {
      if (i > 0 && same(style[s][i - 1], style[s][i])) {
        points.push_back(points.back());  // a corner stays one
        continue;
      }
      const Point tremor = {kTremor * random.normal(), kTremor * random.normal()};
      points.push_back(slant(bend(0.01f * style[s][i] - Point{0.5f, 0.5f} + tremor)));
    }
    lines[s].clear();
    append_curve(points, lines[s]);
  }
}

// Scales and moves the lines so that the ink fills a box of about 20 pixels in the middle of the
// picture.
void fit_into_box(Lines& lines, float pen_radius, Random& random) {
  Point low = lines[0][0], high = low;
  for (const auto& line : lines) {
    for (const Point p : line) {
      low = {std::min(low.x, p.x), std::min(low.y, p.y)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y)};
    }
  }
  const Point size = high - low;
  const float box = random.between(17.0f, 21.0f) - 2 * pen_radius;
  const float scale = box / std::max({size.x, size.y, 0.1f});
  const Point middle = 0.5f * (low + high);
  const Point target = {0.5f * (kSide - 1) + 0.8f * random.normal(), 0.5f * (kSide - 1) + 0.8f * random.normal()};
  for (auto& line : lines) {
    for (Point& p : line) p = target + scale * (p - middle);
  }
}

struct Pen {
  float radius, softness, pressure_change;

  explicit Pen(Random& random) {
    radius = random.between(0.65f, 1.75f);
    softness = random.between(0.45f, 0.85f);
    pressure_change = 0.15f * random.normal();
  }
};

float distance(Point p, Point a, Point b) {
  const Point ab = b - a, ap = p - a;
  const float length = ab.x * ab.x + ab.y * ab.y;
  const float t = length > 0 ? std::clamp((ap.x * ab.x + ap.y * ab.y) / length, 0.0f, 1.0f) : 0.0f;
  const Point off = ap - t * ab;
  return std::sqrt(off.x * off.x + off.y * off.y);
}

// Ink is the largest coverage of any piece: overlapping strokes are not darker.
void draw_line(const std::vector<Point>& line, const Pen& pen, std::array<float, kPixels>& ink) {
  auto pixel = [](float at) { return std::clamp(static_cast<int>(at), 0, kSide - 1); };
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    const Point a = line[i], b = line[i + 1];
    const float along = static_cast<float>(i) / static_cast<float>(line.size()) - 0.5f;
    const float radius = pen.radius * (1 + pen.pressure_change * along);
    const float reach = radius + pen.softness;
    for (int y = pixel(std::min(a.y, b.y) - reach); y <= pixel(std::max(a.y, b.y) + reach + 1); ++y) {
      for (int x = pixel(std::min(a.x, b.x) - reach); x <= pixel(std::max(a.x, b.x) + reach + 1); ++x) {
        const float d = distance({static_cast<float>(x), static_cast<float>(y)}, a, b);
        const float coverage = std::clamp((reach - d) / (2 * pen.softness), 0.0f, 1.0f);
        float& value = ink[y * kSide + x];
        value = std::max(value, coverage);
      }
    }
  }
}

// Grain in the ink always, specks on the paper in one digit of four.
void develop(const std::array<float, kPixels>& ink, Random& random, uint8_t* image) {
  const float brightness = random.between(205.0f, 255.0f);
  const float grain = random.between(0.0f, 0.15f);
  const float specks = random.below(4) == 0 ? random.between(10.0f, 60.0f) : 0.0f;
  for (int i = 0; i < kPixels; ++i) {
    float value = 0;
    if (ink[i] > 0) value = brightness * ink[i] * (1 - grain * random.unit());
    if (specks > 0) {
      const float u = random.unit();
      value += specks * u * u * u * u;
    }
    image[i] = static_cast<uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
  }
}

}  // namespace

DrawnDigits draw_digits(int64_t count, uint64_t seed) {
  DrawnDigits digits;
  const size_t n = count > 0 ? static_cast<size_t>(count) : 0;
  digits.images.resize(n * kPixels);
  digits.labels.resize(n);
  Lines lines;
  for (size_t i = 0; i < n; ++i) {
    Random random(seed, i);
    const size_t label = random.below(10);
    const auto& styles = glyphs()[label];
    write_digit(styles[random.below(styles.size())], random, lines);
    const Pen pen(random);
    fit_into_box(lines, pen.radius, random);
    std::array<float, kPixels> ink{};
    for (const auto& line : lines) draw_line(line, pen, ink);
    develop(ink, random, digits.images.data() + i * kPixels);
    digits.labels[i] = static_cast<uint8_t>(label);
  }
  return digits;
}

}  // namespace mnist
