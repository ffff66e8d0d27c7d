// Layers, losses, metrics, optimizers, schedules and datasets with arguments that make no sense: each call gives a
// result or one of the library's errors, soon.
#include <gtest/gtest.h>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/limits.h"
#include "tests/support/strange.h"

namespace capstan::testing {
namespace {

// More of them with CAPSTAN_CALLS in the environment.
const int kCalls = [] {
  const char* asked = std::getenv("CAPSTAN_CALLS");
  return asked != nullptr ? std::atoi(asked) : CAPSTAN_SANITIZED ? 200 : 1500;
}();

bool coin(Random& random) { return random.integer(0, 1) == 1; }
// Mostly what makes sense, so that a call gets further than its first mistake.
bool rarely(Random& random) { return random.integer(0, 5) == 0; }

std::int64_t length(Random& random) { return rarely(random) ? strange_integer(random) : random.integer(1, 4); }
double number(Random& random) { return rarely(random) ? strange_number(random) : random.uniform(0, 1); }
Size2D size(Random& random) { return {length(random), length(random)}; }
std::string text(Random& random, const std::vector<std::string>& sensible) {
  return rarely(random) ? pick<std::string>({"", "nonsense", "SAME", std::string(3000, 'x')}, random)
                        : pick(sensible, random);
}
std::string padding(Random& random) { return text(random, {"valid", "same"}); }
std::string format(Random& random) { return text(random, {"channels_last", "channels_first"}); }
ActivationFunction activation(Random& random) { return text(random, {"relu", "softmax", "linear", "gelu"}); }
DTypePolicy policy(Random& random) { return text(random, {"float32", "float64", "bfloat16", "mixed_bfloat16"}); }
Regularizer regularizer(Random& random) {
  if (rarely(random)) return regularizers::L1L2(number(random), number(random));
  return text(random, {"l1", "l2", "orthogonal_regularizer"});
}
Constraint constraint(Random& random) {
  if (rarely(random))
    return constraints::MaxNorm({.max_value = number(random), .axis = static_cast<int>(length(random))});
  if (rarely(random)) return constraints::MinMaxNorm({number(random), number(random), number(random)});
  return text(random, {"max_norm", "non_neg", "unit_norm", "min_max_norm"});
}
Initializer initializer(Random& random) {
  if (rarely(random)) {
    return initializers::VarianceScaling({.scale = number(random),
                                          .mode = text(random, {"fan_in", "fan_out", "fan_avg"}),
                                          .distribution = text(random, {"uniform", "truncated_normal"})});
  }
  if (rarely(random)) return initializers::RandomUniform(number(random), number(random));
  if (rarely(random)) return initializers::RandomNormal(number(random), number(random));
  return text(random, {"glorot_uniform", "he_normal", "zeros", "ones", "identity"});
}
Shape shape(Random& random, std::int64_t most) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(random.integer(0, most)));
  for (std::int64_t& one : lengths) one = length(random);
  return Shape(std::span<const std::int64_t>(lengths));
}

// A layer of any class, and the shape of an input that it may like.
struct AnyLayer {
  Layer layer;
  Shape input;
};
AnyLayer any_layer(Random& random) {
  const Shape image = {2, 4, 4, 3};
  switch (random.integer(0, 7)) {
    case 0:
      return {layers::Dense(length(random), {.activation = activation(random),
                                             .use_bias = coin(random),
                                             .kernel_initializer = initializer(random),
                                             .kernel_regularizer = regularizer(random),
                                             .activity_regularizer = regularizer(random),
                                             .kernel_constraint = constraint(random),
                                             .dtype = policy(random)}),
              {2, 4}};
    case 1:
      return {layers::Conv2D(length(random), size(random),
                             {.strides = size(random),
                              .padding = padding(random),
                              .data_format = format(random),
                              .kernel_initializer = initializer(random),
                              .bias_regularizer = regularizer(random),
                              .bias_constraint = constraint(random),
                              .dtype = policy(random)}),
              image};
    case 2:
      return {layers::MaxPooling2D(size(random), {size(random), padding(random), format(random)}), image};
    case 3:
      return {layers::AveragePooling2D(size(random), {size(random), padding(random), format(random)}), image};
    case 4:
      return {layers::BatchNormalization({.axis = rarely(random) ? static_cast<int>(length(random)) : -1,
                                          .momentum = number(random),
                                          .epsilon = number(random),
                                          .center = coin(random),
                                          .scale = coin(random),
                                          .gamma_initializer = initializer(random),
                                          .renorm = coin(random),
                                          .renorm_clipping = {.rmax = number(random), .dmax = number(random)},
                                          .renorm_momentum = number(random),
                                          .dtype = policy(random)}),
              image};
    case 5:
      return {layers::Dropout(number(random),
                              {.noise_shape = coin(random) ? std::optional(shape(random, 5)) : std::nullopt}),
              {2, 4}};
    case 6:
      return {layers::ReLU({number(random), number(random), number(random)}), {2, 4}};
    default:
      return {layers::Flatten({.data_format = format(random)}), image};
  }
}

TEST(BadArguments, OfLayersAreErrorsAndNothingElse) {
  const MemoryLimit limit;
  Random random("layers");
  int works = 0;
  for (int i = 0; i < kCalls; ++i) {
    works += survives(
        [&] {
          const AnyLayer any = any_layer(random);
          const Tensor sample = random::uniform(any.input, -1, 1);
          const Tensor x = rarely(random) ? strange_tensor(random, sample) : sample;
          const Tensor mask = rarely(random) ? strange_tensor(random, ones({2, 4}, bool_)) : Tensor();
          GradientTape tape;
          std::vector<Tensor> results = {any.layer(x, {.training = coin(random), .mask = mask})};
          for (const Tensor& loss : any.layer.losses()) results.push_back(loss);
          const std::vector<Variable>& weights = any.layer.trainable_variables();
          if (weights.empty()) return;
          const std::vector<Tensor> gradients = tape.gradient(results, weights);
          optimizers::SGD({.learning_rate = number(random)}).apply_gradients(gradients, weights);
          any.layer(rarely(random) ? strange_tensor(random, sample) : sample);
        },
        [&] { return "layer of call " + std::to_string(i); });
  }
  EXPECT_GT(works, kCalls / 20);
}

TEST(BadArguments, OfModelsAreErrorsAndNothingElse) {
  const MemoryLimit limit;
  Random random("models");
  int works = 0;
  for (int i = 0; i < kCalls / 3; ++i) {
    works += survives(
        [&] {
          Sequential model;
          for (std::int64_t k = random.integer(0, 3); k > 0; --k) model.add(any_layer(random).layer);
          if (coin(random)) model.build(shape(random, 5));
          model.compile({.loss = Loss(text(random, {"mse", "mae", "bce", "categorical_crossentropy"})),
                         .metrics = {Metric(text(random, {"accuracy", "acc"}))}});
          Tensor x = random::uniform({2, 4, 4, 3});
          Tensor y = random::uniform({2, 4, 4, 3});
          if (coin(random)) x = strange_tensor(random, x);
          if (coin(random)) y = strange_tensor(random, y);
          model.predict(x, {.batch_size = length(random)});
          model.evaluate(x, y, {.batch_size = length(random)});
          if (rarely(random)) model.set_weights({x});
          if (rarely(random)) static_cast<void>(model.get_layer(static_cast<int>(length(random))));
        },
        [&] { return "model of call " + std::to_string(i); });
  }
  EXPECT_GT(works, 0);
}

TEST(BadArguments, OfLossesAndMetricsAreErrorsAndNothingElse) {
  const MemoryLimit limit;
  Random random("losses");
  int works = 0;
  for (int i = 0; i < kCalls; ++i) {
    works += survives(
        [&] {
          const std::string reduction = text(random, {"sum", "none", "mean", "mean_with_sample_weight"});
          const int axis = rarely(random) ? static_cast<int>(strange_integer(random)) : -1;
          std::vector<Loss> all = {losses::MeanSquaredError({reduction}),
                                   losses::MeanAbsoluteError({reduction}),
                                   losses::Huber({number(random), reduction}),
                                   losses::BinaryCrossentropy({coin(random), number(random), axis, reduction}),
                                   losses::CategoricalCrossentropy({coin(random), number(random), axis, reduction}),
                                   losses::SparseCategoricalCrossentropy({.from_logits = coin(random),
                                                                          .ignore_class = strange_integer(random),
                                                                          .axis = axis,
                                                                          .reduction = reduction}),
                                   losses::SparseCategoricalCrossentropy({.from_logits = coin(random)})};
          const Tensor dense = random::uniform({4, 3});
          const Tensor labels = coin(random) ? constant({0, 2, 1, 1}) : dense;
          const auto some = [&](const Tensor& sample) {
            return coin(random) ? strange_tensor(random, sample) : sample;
          };
          const Tensor p = some(dense);
          const Tensor t = some(labels);
          const Tensor weight = coin(random) ? some(ones({4})) : Tensor();
          const Tensor mask = rarely(random) ? some(ones({4}, bool_)) : Tensor();
          if (coin(random)) {
            GradientTape tape;
            tape.watch(p);
            tape.gradient(pick(all, random)(t, p, weight, mask), p);
          } else {
            const std::vector<Metric> list = {metrics::Mean(), metrics::SparseCategoricalAccuracy(),
                                              metrics::CategoricalAccuracy(),
                                              metrics::BinaryAccuracy("b", number(random)), Metric(pick(all, random))};
            const Metric& metric = pick(list, random);
            metric.update_state(t, p, weight);
            metric.result();
          }
        },
        [&] { return "loss of call " + std::to_string(i); });
  }
  EXPECT_GT(works, kCalls / 20);
}

TEST(BadArguments, OfOptimizersAreErrorsAndNothingElse) {
  const MemoryLimit limit;
  Random random("optimizers");
  int works = 0;
  const auto maybe = [&]() -> std::optional<double> {
    return rarely(random) ? std::optional(number(random)) : std::nullopt;
  };
  for (int i = 0; i < kCalls; ++i) {
    works += survives(
        [&] {
          const Schedule schedule = schedules::CosineDecay(number(random), number(random), {.alpha = number(random)});
          const LearningRate rate = rarely(random) ? LearningRate(schedule) : LearningRate(number(random));
          const int steps = rarely(random) ? static_cast<int>(strange_integer(random)) : 0;
          std::vector<Optimizer> all = {optimizers::SGD({.learning_rate = rate,
                                                         .momentum = number(random),
                                                         .nesterov = coin(random),
                                                         .weight_decay = maybe(),
                                                         .clipnorm = maybe(),
                                                         .use_ema = coin(random),
                                                         .ema_momentum = number(random),
                                                         .ema_overwrite_frequency = static_cast<int>(length(random))}),
                                        optimizers::Adam({.learning_rate = rate,
                                                          .beta_1 = number(random),
                                                          .beta_2 = number(random),
                                                          .epsilon = number(random),
                                                          .amsgrad = coin(random),
                                                          .clipvalue = maybe(),
                                                          .loss_scale_factor = maybe(),
                                                          .gradient_accumulation_steps = steps})};
          std::vector<Variable> variables = {Variable(ones({2, 3})), Variable(ones({3}, float64)), Variable(1.0f)};
          set_constraint(variables[0], constraint(random));
          if (rarely(random)) variables.push_back(Variable());
          if (rarely(random)) variables.push_back(variables[0]);
          if (rarely(random)) variables.push_back(Variable(ones({2}, int32)));
          const Optimizer& optimizer = pick(all, random);
          for (int step = 0; step < 3; ++step) {
            std::vector<Tensor> gradients;
            for (const Variable& variable : variables) {
              const Tensor value = variable.has_value() ? variable.value() : Tensor();
              gradients.push_back(rarely(random)                        ? Tensor()
                                  : rarely(random) && value.has_value() ? strange_tensor(random, value)
                                                                        : value);
            }
            if (rarely(random)) gradients.pop_back();
            optimizer.apply_gradients(gradients, variables);
          }
        },
        [&] { return "optimizer of call " + std::to_string(i); });
  }
  EXPECT_GT(works, kCalls / 20);
}

TEST(BadArguments, OfSchedulesAreErrorsAndNothingElse) {
  Random random("schedules");
  int works = 0;
  const auto n = [&] { return number(random); };
  for (int i = 0; i < kCalls; ++i) {
    works += survives(
        [&] {
          const std::vector<Schedule> all = {
              schedules::InverseTimeDecay(n(), n(), n(), {coin(random)}),
              schedules::ExponentialDecay(n(), n(), n(), {coin(random)}),
              schedules::PolynomialDecay(n(), n(), n(), n(), coin(random)),
              schedules::CosineDecay(n(), n(), {.alpha = n(), .warmup_target = n(), .warmup_steps = n()}),
              schedules::CosineDecayRestarts(n(), n(), {n(), n(), n()}),
              schedules::PiecewiseConstantDecay({strange_integer(random), strange_integer(random)}, {n(), n(), n()})};
          for (const Schedule& schedule : all) schedule(strange_integer(random));
        },
        [&] { return "schedules of call " + std::to_string(i); });
  }
  EXPECT_GT(works, kCalls / 20);
}

TEST(BadArguments, OfDatasetsAreErrorsAndNothingElse) {
  const MemoryLimit limit;
  Random random("datasets");
  int works = 0;
  for (int i = 0; i < kCalls; ++i) {
    works += survives(
        [&] {
          const Tensor x = coin(random) ? strange_tensor(random, ones({4, 2})) : ones({4, 2});
          const Tensor y = coin(random)     ? x
                           : rarely(random) ? strange_tensor(random, ones({4}, int32))
                                            : ones({4}, int32);
          auto dataset = from_tensor_slices(x, y);
          for (std::int64_t k = random.integer(0, 4); k > 0; --k) {
            // More elements than anyone waits for can be described, but not all be skipped or gathered.
            const std::int64_t n = length(random);
            if (dataset.size() > 100000 && n > 0) {
              dataset = dataset.take(n % 1000);
              continue;
            }
            switch (random.integer(0, 4)) {
              case 0:
                dataset = dataset.shuffle(n);
                break;
              case 1:
                dataset = dataset.batch(n, {.drop_remainder = coin(random)});
                break;
              case 2:
                dataset = dataset.repeat(n);
                break;
              case 3:
                dataset = dataset.take(n);
                break;
              default:
                dataset = dataset.skip(n);
            }
          }
          dataset.size();
          int seen = 0;
          for (const auto& element : dataset) {
            static_cast<void>(element);
            if (++seen == 50) break;
          }
          to_categorical(y, length(random));
        },
        [&] { return "dataset of call " + std::to_string(i); });
  }
  EXPECT_GT(works, kCalls / 20);
}

}  // namespace
}  // namespace capstan::testing
