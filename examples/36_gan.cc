// A generator and a discriminator with an optimizer each: two tapes record one forward pass side by side.
//
// Each tape is asked for the gradients of its own loss for its own network. The generator learns to draw points of a
// normal distribution with a given mean and covariance from standard noise, which takes two weights matrices at most,
// so what it has learned can be compared with numbers.
#include "capstan/capstan.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr std::int64_t kBatch = 256;
constexpr int kSteps = 2000;

Tensor real_points(std::int64_t count) {
  const Tensor mixing = constant({{1.0, 0.6}, {0.0, 0.5}});  // The covariance is {{1, 0.6}, {0.6, 0.61}}.
  return matmul(random::normal({count, 2}), mixing) + constant({2.0, -1.0});
}

}  // namespace

int main() {
  set_seed(1);
  examples::Transcript out;
  const Sequential generator({
      layers::Dense(16, {.activation = "tanh", .input_shape = {2}}),
      layers::Dense(2),
  });
  const Sequential discriminator({
      layers::Dense(32, {.activation = "tanh", .input_shape = {2}}),
      layers::Dense(32, {.activation = "tanh"}),
      layers::Dense(1),
  });
  const optimizers::Adam generator_optimizer(
      {.learning_rate = schedules::PolynomialDecay(1e-3, kSteps, 1e-5), .beta_1 = 0.5});
  const optimizers::Adam discriminator_optimizer(
      {.learning_rate = schedules::PolynomialDecay(4e-3, kSteps, 1e-5), .beta_1 = 0.5});
  const losses::BinaryCrossentropy cross_entropy({.from_logits = true});

  auto train_step = function([&] {
    const Tensor noise = random::normal({kBatch, 2});
    GradientTape generator_tape;
    GradientTape discriminator_tape;
    const Tensor made_score = discriminator(generator(noise));
    const Tensor real_score = discriminator(real_points(kBatch));
    const Tensor generator_loss = cross_entropy(ones_like(made_score), made_score);
    const Tensor discriminator_loss =
        cross_entropy(ones_like(real_score), real_score) + cross_entropy(zeros_like(made_score), made_score);
    const auto generator_gradients = generator_tape.gradient(generator_loss, generator.trainable_variables());
    const auto discriminator_gradients =
        discriminator_tape.gradient(discriminator_loss, discriminator.trainable_variables());
    generator_optimizer.apply_gradients(generator_gradients, generator.trainable_variables());
    discriminator_optimizer.apply_gradients(discriminator_gradients, discriminator.trainable_variables());
    return std::pair(generator_loss, discriminator_loss);
  });
  for (int step = 0; step <= kSteps; ++step) {
    const auto [generator_loss, discriminator_loss] = train_step();
    if (step % 500 == 0) {
      out.print("step %d: losses %.2f and %.2f", step, generator_loss.item<double>(),
                discriminator_loss.item<double>());
    }
  }

  // Where nobody can tell real from made, the losses are log 2 and 2 log 2.
  const Tensor made = generator(random::normal({20000, 2}));
  const Tensor mean = reduce_mean(made, 0);
  const Tensor centred = made - mean;
  const Tensor covariance = matmul(centred, centred, {.transpose_a = true}) / 20000.0;
  out.print("mean %.2f %.2f", mean[0].item<double>(), mean[1].item<double>());
  out.print("covariance %.2f %.2f %.2f", covariance(0, 0).item<double>(), covariance(0, 1).item<double>(),
            covariance(1, 1).item<double>());
  return out.finish({
      {"step 0: losses # and #", {{0.5, 1.0}, {1.0, 1.8}}},
      {"step 500: losses # and #", {{0.6, 1.0}, {1.0, 1.5}}},
      {"step 1000: losses # and #", {{0.65, 0.85}, {1.25, 1.45}}},
      {"step 1500: losses # and #", {{0.65, 0.85}, {1.25, 1.45}}},
      {"step 2000: losses # and #", {{0.65, 0.8}, {1.3, 1.42}}},
      {"mean # #", {{1.85, 2.15}, {-1.15, -0.85}}},
      {"covariance # # #", {{0.8, 1.2}, {0.45, 0.75}, {0.45, 0.75}}},
  });
}
