// Where does a camera stand that sees known points? Gauss and Newton's method on poses, with the jacobian of the
// projection from a tape.
//
// A pose is a 4x4 matrix, and a small motion is the exponential of a combination of six generators: shifts along and
// turns about the axes. Each step asks for the derivatives of the pixels for the six numbers, at 0, and moves the pose
// by what it finds; so the pose is a rigid motion throughout.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <cmath>
#include <numbers>

using namespace capstan;

namespace {

constexpr std::int64_t kPoints = 40;
constexpr double kNoise = 0.5;

// Shifts along x, y, z; turns about x, y, z.
Tensor generators() {
  std::vector<double> g(6 * 16);
  const auto entry = [&](std::size_t k, std::size_t row, std::size_t column) -> double& {
    return g[16 * k + 4 * row + column];
  };
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
    entry(i, i, 3) = 1;
    entry(3 + i, k, j) = 1;
    entry(3 + i, j, k) = -1;
  }
  return constant(g, {6, 4, 4});
}

Tensor motion(const Tensor& six) { return expm(einsum("k,kij->ij", {six, generators()})); }

// Pixels [n, 2] of points [n, 3] for a camera of 640 by 480 pixels at this pose.
Tensor project(const Tensor& pose, const Tensor& points) {
  const Tensor seen = matmul(points, pose(slice(0, 3), slice(0, 3)), {.transpose_b = true}) + pose(slice(0, 3), 3);
  return 500 * seen(slice(), slice(0, 2)) / seen(slice(), slice(2, 3)) + constant({320, 240}, float64);
}

// The turn, in degrees, and the shift between two poses.
std::pair<double, double> distance(const Tensor& a, const Tensor& b) {
  const Tensor between = matmul(a, inv(b));
  const Tensor turn = between(slice(0, 3), slice(0, 3));
  const double cosine = (trace(turn).item<double>() - 1) / 2;
  // An arc cosine alone would lose half of the digits near 1.
  const double sine = norm(turn - transpose(turn)).item<double>() / std::sqrt(8.0);
  return {std::atan2(sine, cosine) * 180 / std::numbers::pi, norm(between(slice(0, 3), 3)).item<double>()};
}

}  // namespace

int main() {
  set_seed(1);
  examples::Transcript out;
  // Points in a box in front of a camera that is turned and shifted.
  const Tensor points = random::uniform({kPoints, 3}, -1, 1, float64) + constant({0, 0, 4}, float64);
  const Tensor truth = motion(constant({0.3, -0.2, 0.5, 0.2, -0.3, 0.4}, float64));
  const Tensor exact = project(truth, points);

  auto linearized = function([&](const Tensor& pose, const Tensor& pixels) {
    const Tensor six = zeros({6}, float64);
    GradientTape tape;
    tape.watch(six);
    const Tensor residual = reshape(project(matmul(motion(six), pose), points) - pixels, {-1});
    return std::pair(residual, tape.jacobian(residual, six));
  });
  const auto gauss_newton_step = [&](const Tensor& pose, const Tensor& pixels) {
    const auto [r, j] = linearized(pose, pixels);
    const Tensor step = lstsq(j, expand_dims(-r, 1));
    return matmul(motion(squeeze(step, {1})), pose);
  };

  Tensor pose = eye(4, {}, float64);
  for (int step = 0; step < 6; ++step) {
    const auto [degrees, shift] = distance(pose, truth);
    out.print("step %d: off by %.1e degrees and %.1e metres", step, degrees, shift);
    pose = gauss_newton_step(pose, exact);
  }

  // With half a pixel of noise the pose is off by what its covariance says: the squared error in units of deviations
  // has the mean 6, one for each degree of freedom. The residuals have 2 n - 6.
  double errors = 0, squares = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Tensor pixels = exact + random::normal({kPoints, 2}, 0, kNoise, float64);
    Tensor found = truth;
    for (int step = 0; step < 4; ++step) found = gauss_newton_step(found, pixels);
    const auto [r, j] = linearized(found, pixels);
    const Tensor information = matmul(j, j, {.transpose_a = true}) / (kNoise * kNoise);
    const Tensor twist = logm(matmul(found, inv(truth)));
    const Tensor six = einsum("ij,kij->k", {twist, generators()}) / constant({1, 1, 1, 2, 2, 2}, float64);
    errors += einsum("i,ij,j->", {six, information, six}).item<double>() / kTrials;
    squares += reduce_sum(square(r)).item<double>() / (kNoise * kNoise) / kTrials;
  }
  out.print("squared error in deviations: %.2f, expected 6", errors);
  out.print("squared residuals in deviations: %.1f, expected %d", squares, static_cast<int>(2 * kPoints - 6));
  return out.finish({
      {"step 0: off by # degrees and # metres", {{30.8, 31.0}, {0.6, 0.65}}},
      {"step 1: off by # degrees and # metres", {{0, 10}, {0, 0.3}}},
      {"step 2: off by # degrees and # metres", {{0, 0.2}, {0, 0.05}}},
      {"step 3: off by # degrees and # metres", {{0, 1e-3}, {0, 1e-3}}},
      {"step 4: off by # degrees and # metres", {{0, 1e-7}, {0, 1e-7}}},
      {"step 5: off by # degrees and # metres", {{0, 1e-11}, {0, 1e-11}}},
      {"squared error in deviations: #, expected 6", {{5, 7}}},
      {"squared residuals in deviations: #, expected 74", {{71, 77}}},
  });
}
