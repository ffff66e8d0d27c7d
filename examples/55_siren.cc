// An image from its slopes alone, by a network of sines (SIREN: Sitzmann, Martel, Bergman, Lindell, Wetzstein 2020).
//
//     55_siren [--picture FILE]
//
// The network is a function from a place to a brightness. In training it never sees a brightness: its derivatives for
// the place, which a tape gives, are fitted to the slopes of the image. Sines have derivatives of all orders that are
// as rich as they are; a network of relus could not do this. The image has a formula, so what was learned is compared
// with it: the image up to a constant, its slopes, and second derivatives, which it was never told either. The picture
// shows image, slopes and curvature, above those of the formula, below those of the network.
#include "capstan/capstan.h"
#include "support/arguments.h"
#include "support/pictures.h"
#include "support/transcript.h"

#include <cmath>

using namespace capstan;

namespace {

constexpr double kFrequency = 6;
constexpr std::int64_t kWidth = 48, kSide = 48;
constexpr int kSteps = 1500;

// sin(w (x . kernel + bias)), with weights so that the argument is about as wide in every layer as in the first one.
class Sine : public LayerBody {
  void build(const Shape& shape) override {
    const auto in = static_cast<double>(shape[-1]);
    const double limit = shape[-1] == 2 ? 1 / in : std::sqrt(6 / in) / kFrequency;
    const Initializer uniform = initializers::RandomUniform(-limit, limit);
    kernel_ = add_weight({.name = "kernel", .shape = {shape[-1], kWidth}, .initializer = uniform});
    bias_ = add_weight({.name = "bias", .shape = {kWidth}, .initializer = uniform});
  }
  Tensor call(const Tensor& x, const CallOptions&) override { return sin(kFrequency * (matmul(x, kernel_) + bias_)); }

  Variable kernel_, bias_;
};

// Of a function at places [n, 2]: values [n, 1], slopes [n, 2], and the sum of the second derivatives [n, 1].
struct Derivatives {
  Tensor values, slopes, curvature;
};

// Four hills exp(-r^2 / s^2), and what the formula says of them.
Derivatives hills(const Tensor& places) {
  struct Hill {
    double height, x, y, s;
  };
  Derivatives sum;
  for (const Hill& hill :
       {Hill{1, -0.4, -0.3, 0.4}, {-0.8, 0.4, -0.4, 0.3}, {0.7, 0.3, 0.5, 0.35}, {0.5, -0.5, 0.5, 0.25}}) {
    const double s2 = hill.s * hill.s;
    const Tensor apart = places - constant({hill.x, hill.y});
    const Tensor r2 = reduce_sum(square(apart), -1, {.keepdims = true});
    const Tensor value = hill.height * exp(-r2 / s2);
    const Derivatives one = {value, -2 / s2 * apart * value, (4 * r2 / (s2 * s2) - 4 / s2) * value};
    const auto add = [](Tensor& to, const Tensor& x) { to = to.has_value() ? to + x : x; };
    add(sum.values, one.values);
    add(sum.slopes, one.slopes);
    add(sum.curvature, one.curvature);
  }
  return sum;
}

// A value depends on its own place only, so the gradient of the sum is the slope at each.
Tensor slopes_of(const Sequential& network, const Tensor& places) {
  GradientTape tape;
  tape.watch(places);
  const Tensor values = network(places);
  return tape.gradient(values, places);
}

Derivatives derivatives(const Sequential& network, const Tensor& places) {
  GradientTape tape({.persistent = true});
  tape.watch(places);
  const Tensor slopes = slopes_of(network, places);
  const Tensor along_x = slopes(slice(), slice(0, 1)), along_y = slopes(slice(), slice(1, 2));
  const Tensor curvature =
      tape.gradient(along_x, places)(slice(), slice(0, 1)) + tape.gradient(along_y, places)(slice(), slice(1, 2));
  return {network(places), slopes, curvature};
}

double deviation(const Tensor& a, const Tensor& b) { return sqrt(reduce_mean(square(a - b))).item<double>(); }

// From the smallest to the largest number of a formula's image, as grey: both images on one scale.
std::vector<Tensor> grey(const Tensor& truth, const Tensor& found) {
  const Tensor low = reduce_min(truth), high = reduce_max(truth);
  const auto scaled = [&](const Tensor& x) { return reshape((x - low) / (high - low), {1, kSide, kSide, 1}); };
  return {scaled(truth), scaled(found)};
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv, {"--picture FILE  receives the picture"});
  set_seed(1);
  examples::Transcript out;
  const Sequential network({LayerOf<Sine>(), LayerOf<Sine>(), layers::Dense(1)});
  network.build({-1, 2});

  // 1. Slopes at places that are drawn anew in every step.
  const optimizers::Adam optimizer({.learning_rate = schedules::CosineDecay(5e-3, kSteps)});
  auto step = function([&] {
    const Tensor places = random::uniform({256, 2}, -1, 1);
    GradientTape tape;
    const Tensor loss = reduce_mean(square(slopes_of(network, places) - hills(places).slopes));
    const auto& weights = network.trainable_variables();
    // The bias of the last layer has no part in any slope, and so no gradient.
    optimizer.apply_gradients(tape.gradient(loss, weights, {.unconnected_gradients = UnconnectedGradients::kZero}),
                              weights);
    return loss;
  });
  for (int i = 0; i <= kSteps; ++i) {
    const Tensor loss = step();
    if (i % 500 == 0) out.print("step %d: mean square of what slopes lack %.1e", i, loss.item<double>());
  }

  // 2. The image on a grid. Slopes do not tell how bright all of it is, so that is taken from the formula.
  const Tensor line = linspace(constant(-1.0f), 1.0f, kSide);
  const auto grid = meshgrid({line, line});
  const Tensor places = stack({reshape(grid[0], {-1}), reshape(grid[1], {-1})}, -1);
  const Derivatives truth = hills(places), found = derivatives(network, places);
  const Tensor image = found.values + reduce_mean(truth.values - found.values);
  out.print("image: %.4f off, its deviation is %.2f", deviation(image, truth.values),
            reduce_std(truth.values).item<double>());
  out.print("slopes: %.4f off, their deviation is %.2f", deviation(found.slopes, truth.slopes),
            reduce_std(truth.slopes).item<double>());
  out.print("curvature: %.4f off, its deviation is %.2f", deviation(found.curvature, truth.curvature),
            reduce_std(truth.curvature).item<double>());

  // 3. The tape's derivatives against differences of the network's values.
  const double h = 0.01;
  const Tensor right = network(places + constant({h, 0.0})), left = network(places - constant({h, 0.0}));
  out.print("differences of values: %.4f off", deviation((right - left) / (2 * h), found.slopes(slice(), slice(0, 1))));

  std::vector<Tensor> above, below;
  for (const auto& pair : {grey(truth.values, image), grey(truth.slopes(slice(), 0), found.slopes(slice(), 0)),
                           grey(truth.curvature, found.curvature)}) {
    above.push_back(pair[0]);
    below.push_back(pair[1]);
  }
  const std::string path = examples::picture_path(arguments.value("--picture"), "capstan_siren.png");
  out.print("picture written: %s", examples::write_pictures(path, {concat(above, 0), concat(below, 0)}) ? "yes" : "no");
  return out.finish({
      {"step 0: mean square of what slopes lack #", {{1, 20}}},
      {"step 500: mean square of what slopes lack #", {{0, 0.1}}},
      {"step 1000: mean square of what slopes lack #", {{0, 0.02}}},
      {"step 1500: mean square of what slopes lack #", {{0, 0.01}}},
      {"image: # off, its deviation is #", {{0, 0.02}, {0.2, 0.5}}},
      {"slopes: # off, their deviation is #", {{0, 0.1}, {0.8, 1.5}}},
      {"curvature: # off, its deviation is #", {{0, 1}, {4, 12}}},
      {"differences of values: # off", {{0, 0.01}}},
      {"picture written: yes"},
  });
}
