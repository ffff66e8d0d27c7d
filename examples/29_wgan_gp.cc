// A Wasserstein GAN with gradient penalty (Gulrajani and others 2017): a gradient of a norm of a gradient.
//
// The critic's loss holds the length of the critic's own gradient for its input, between real and generated points; so
// its gradient for the critic's weights is a second derivative. A tape inside the tape is all that it takes, and both
// live inside one traced function.
#include "capstan/capstan.h"
#include "support/transcript.h"

#include <numbers>

using namespace capstan;

namespace {

constexpr std::int64_t kBatch = 128;
constexpr std::int64_t kNoise = 4;
constexpr double kPenalty = 1;
constexpr int kSteps = 1500;
constexpr int kCriticSteps = 5;

// Points near a circle of radius 2.
Tensor real_points(std::int64_t count) {
  const Tensor angle = random::uniform({count, 1}, 0, 2 * std::numbers::pi);
  return 2 * concat({cos(angle), sin(angle)}, 1) + random::normal({count, 2}, 0, 0.05);
}

// How steep the critic is somewhere on the way from each real to a generated point: [count].
Tensor slope_between(const Sequential& critic, const Tensor& real, const Tensor& made) {
  const Tensor share = random::uniform({real.dim(0), 1});
  const Tensor between = share * real + (1 - share) * made;
  GradientTape tape;
  tape.watch(between);
  const Tensor gradient = tape.gradient(critic(between), between);
  return sqrt(reduce_sum(square(gradient), 1) + 1e-12);  // The root has no second derivative at 0.
}

}  // namespace

int main() {
  set_seed(1);
  examples::Transcript out;
  const Sequential generator({
      layers::Dense(64, {.activation = "relu", .input_shape = {kNoise}}),
      layers::Dense(64, {.activation = "relu"}),
      layers::Dense(2),
  });
  const Sequential critic({
      layers::Dense(64, {.activation = "leaky_relu", .input_shape = {2}}),
      layers::Dense(64, {.activation = "leaky_relu"}),
      layers::Dense(1),
  });
  // The rates fall to nearly nothing, so that the two do not circle round each other for ever.
  const optimizers::Adam generator_optimizer(
      {.learning_rate = schedules::PolynomialDecay(5e-4, kSteps, 1e-5), .beta_1 = 0, .beta_2 = 0.9});
  const optimizers::Adam critic_optimizer(
      {.learning_rate = schedules::PolynomialDecay(5e-3, kSteps * kCriticSteps, 1e-5), .beta_1 = 0, .beta_2 = 0.9});

  auto critic_step = function([&] {
    const Tensor real = real_points(kBatch);
    const Tensor made = generator(random::normal({kBatch, kNoise}));
    GradientTape tape;
    const Tensor distance = reduce_mean(critic(real)) - reduce_mean(critic(made));
    const Tensor penalty = reduce_mean(square(slope_between(critic, real, made) - 1));
    const Tensor loss = kPenalty * penalty - distance;
    critic_optimizer.apply_gradients(tape.gradient(loss, critic.trainable_variables()), critic.trainable_variables());
    return distance;
  });
  auto generator_step = function([&] {
    GradientTape tape;
    const Tensor loss = -reduce_mean(critic(generator(random::normal({kBatch, kNoise}))));
    generator_optimizer.apply_gradients(tape.gradient(loss, generator.trainable_variables()),
                                        generator.trainable_variables());
  });

  for (int step = 0; step <= kSteps; ++step) {
    Tensor distance;
    for (int i = 0; i < kCriticSteps; ++i) distance = critic_step();
    generator_step();
    if (step % 500 == 0) out.print("step %d: distance %.3f", step, distance.item<double>());
  }

  const Tensor real = real_points(2000);
  const Tensor made = generator(random::normal({2000, kNoise}));
  out.print("mean norm of the critic's gradient: %.3f", reduce_mean(slope_between(critic, real, made)).item<double>());
  const Tensor radius = norm(made, "euclidean", 1);
  out.print("radius of what it makes: %.2f, standard deviation %.2f", reduce_mean(radius).item<double>(),
            reduce_std(radius).item<double>());
  const Tensor quarter = cast(made(slice(), 0) > 0, float32) * cast(made(slice(), 1) > 0, float32);
  out.print("in the first quarter: %.2f", reduce_mean(quarter).item<double>());
  return out.finish({
      {"step 0: distance #", {{0.3, 1.2}}},
      {"step 500: distance #", {{0.05, 0.5}}},
      {"step 1000: distance #", {{0.0, 0.3}}},
      {"step 1500: distance #", {{-0.05, 0.15}}},
      {"mean norm of the critic's gradient: #", {{0.9, 1.1}}},
      {"radius of what it makes: #, standard deviation #", {{1.85, 2.1}, {0.05, 0.3}}},
      {"in the first quarter: #", {{0.2, 0.3}}},
  });
}
