// The tutorial's convolutional network, trained on handwritten digits in a custom loop with a gradient tape.
//
// The steps of training and test are functions: traced in the first call, run as graphs afterwards, with the same
// numbers as plain code (--eager).
//
// Run it with --help for its options. Without --data it draws its own digits, so that it runs anywhere.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/capstan.h"
#include "digits.h"
#include "options.h"
#include "picture.h"

using namespace capstan;

namespace {

constexpr std::int64_t kBatchSize = 64;
constexpr double kInitialRate = 1e-3;
constexpr double kTutorialEpochs = 25;  // its decay is rate / epochs

// Component 1: the model architecture.
Sequential build_model(std::int64_t width, std::int64_t height, std::int64_t depth, int classes) {
  return Sequential({
      // CONV => RELU => BN => POOL
      layers::Conv2D(16, {3, 3}, {.padding = "same", .input_shape = {height, width, depth}}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::MaxPooling2D({2, 2}),

      // (CONV => RELU => BN) * 2 => POOL
      layers::Conv2D(32, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::Conv2D(32, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::MaxPooling2D({2, 2}),

      // (CONV => RELU => BN) * 3 => POOL
      layers::Conv2D(64, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::Conv2D(64, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::Conv2D(64, {3, 3}, {.padding = "same"}),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::MaxPooling2D({2, 2}),

      // FC => RELU
      layers::Flatten(),
      layers::Dense(256),
      layers::Activation("relu"),
      layers::BatchNormalization(),
      layers::Dropout(0.5),

      // softmax classifier
      layers::Dense(classes),
      layers::Activation("softmax"),
  });
}

struct Digits {
  Tensor train_x, train_y, test_x, test_y;  // uint8 images [n, 28, 28] and labels [n]
};

Tensor images_of(const std::vector<std::uint8_t>& pixels) {
  return constant(pixels, {static_cast<std::int64_t>(pixels.size()) / (28 * 28), 28, 28});
}

Digits load_digits(const mnist::Options& options) {
  if (!options.data.empty()) {
    std::printf("[INFO] loading the MNIST digits in %s...\n", options.data.c_str());
    auto [train, test] = datasets::mnist::load_data(options.data);
    return {train.first, train.second, test.first, test.second};
  }
  std::printf("[INFO] drawing %s digits (--data DIR trains on the real ones)...\n",
              std::to_string(options.train_digits + options.test_digits).c_str());
  const mnist::DrawnDigits train = mnist::draw_digits(options.train_digits, 2 * options.seed);
  const mnist::DrawnDigits test = mnist::draw_digits(options.test_digits, 2 * options.seed + 1);
  return {images_of(train.images), constant(train.labels), images_of(test.images), constant(test.labels)};
}

// Adds a channel axis and scales the pixels to [0, 1].
Tensor prepare(const Tensor& images) { return cast(expand_dims(images, -1), float32) / 255.0; }

// What is wrong with the test digits, the surest mistakes first.
void draw_mistakes(const std::string& path, const Tensor& images, const Tensor& labels, const Tensor& probabilities) {
  const auto pixels = images.to_vector<std::uint8_t>();
  const auto truth = labels.to_vector<std::uint8_t>();
  const auto predicted = argmax(probabilities, 1).to_vector<std::uint8_t>();
  const auto confidence = reduce_max(probabilities, 1).to_vector<float>();
  const std::size_t shown = mnist::write_mistakes_png(path, {pixels, truth, predicted, confidence});
  std::printf("[INFO] the %zu worst mistakes are drawn in %s\n", shown, path.c_str());
}

// The loss and the accuracy of a model on test digits, in batches. One trace serves them all, the short last one too.
class Test {
 public:
  struct Result {
    double loss;
    double accuracy;
  };

  explicit Test(const Sequential& model)
      : step_(
            [this, model](const Tensor& x, const Tensor& y) {
              const Tensor predictions = model(x, {.training = false});
              loss_.update_state(losses::categorical_crossentropy(y, predictions));
              accuracy_.update_state(y, predictions);
            },
            {.name = "test_step", .input_signature = {TensorSpec({-1, 28, 28, 1}), TensorSpec({-1, 10})}}) {}
  Test(const Test&) = delete;
  Test& operator=(const Test&) = delete;

  Result operator()(const Tensor& x, const Tensor& y) {
    loss_.reset_state();
    accuracy_.reset_state();
    for (std::int64_t begin = 0; begin < x.dim(0); begin += kBatch) {
      const Slice rows = slice(begin, std::min(begin + kBatch, x.dim(0)));
      step_(x(rows), y(rows));
    }
    return {loss_.result().item<double>(), accuracy_.result().item<double>()};
  }

 private:
  static constexpr std::int64_t kBatch = 256;

  metrics::Mean loss_;
  metrics::CategoricalAccuracy accuracy_;
  Function<std::function<void(const Tensor& x, const Tensor& y)>> step_;
};

int run(const mnist::Options& options) {
  using Clock = std::chrono::steady_clock;
  if (options.threads > 0) set_num_threads(options.threads);
  set_seed(options.seed);
  run_functions_eagerly(options.eager);

  Digits digits = load_digits(options);
  const Tensor train_x = prepare(digits.train_x);
  const Tensor test_x = prepare(digits.test_x);
  const Tensor train_y = to_categorical(digits.train_y, 10);
  const Tensor test_y = to_categorical(digits.test_y, 10);

  std::printf("[INFO] creating model...\n");
  const Sequential model = build_model(28, 28, 1, 10);
  std::printf("[INFO] %lld parameters, %d threads\n", static_cast<long long>(model.count_params()), num_threads());

  // Component 3: the optimizer; the rate falls as 1e-3 / (1 + 4e-5 step).
  const optimizers::Adam optimizer(
      {.learning_rate = schedules::InverseTimeDecay(kInitialRate, 1, kInitialRate / kTutorialEpochs)});
  const std::vector<Variable> variables = model.trainable_variables();
  metrics::Mean mean_loss;
  metrics::CategoricalAccuracy accuracy;

  // Component 4: one step forward and backward.
  auto step = function([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor predictions = options.literal ? model(x) : model(x, {.training = true});
    const Tensor loss = losses::categorical_crossentropy(y, predictions);  // Component 2, one loss per digit
    optimizer.apply_gradients(tape.gradient(loss, variables), variables);
    mean_loss.update_state(loss);
    accuracy.update_state(y, predictions);
  });
  Test test(model);

  const std::int64_t updates = train_x.dim(0) / kBatchSize;
  double best = 0;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    const auto start = Clock::now();
    mean_loss.reset_state();
    accuracy.reset_state();
    ProgressBar bar(updates,
                    {.label = "[INFO] epoch " + std::to_string(epoch + 1) + "/" + std::to_string(options.epochs)});
    for (std::int64_t i = 0; i < updates; ++i) {
      const Slice rows = slice(i * kBatchSize, (i + 1) * kBatchSize);
      step(train_x(rows), train_y(rows));
      bar.step();
    }
    bar.finish();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double test_accuracy = test(test_x, test_y).accuracy;
    best = std::max(best, test_accuracy);
    std::printf("[INFO] epoch %d/%d took %.1f s: loss %.4f, accuracy %.4f, test accuracy %.4f\n", epoch + 1,
                options.epochs, seconds, mean_loss.result().item<double>(), accuracy.result().item<double>(),
                test_accuracy);
    std::fflush(stdout);
  }

  const Test::Result result = test(test_x, test_y);
  std::printf("[INFO] trained on %s digits%s\n", options.data.empty() ? "drawn" : "real MNIST",
              options.literal ? ", the tutorial's loop to the letter" : "");
  std::printf("[INFO] test loss: %.4f\n[INFO] test accuracy: %.4f (best %.4f)\n", result.loss, result.accuracy,
              std::max(best, result.accuracy));
  draw_mistakes(options.picture, digits.test_x, digits.test_y, model.predict(test_x, {.batch_size = 256}));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<mnist::Options> options = mnist::parse_options(argc, argv, &exit_code);
  if (!options) return exit_code;
  try {
    return run(*options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
