// The first fifty steps of the tutorial's convolutional network, its loop to the letter.
//
//     10_mnist_cnn [DIR]      DIR holds the MNIST files; without it the example draws its digits
//
// The model is called without `training`, as in the tutorial: dropout is off, batch normalisation uses its moving
// statistics and does not update them. The loss is not reduced, so the gradients are those of the sum over the batch.
// The whole program, with progress, test and picture, is examples/mnist.
#include "capstan/capstan.h"
#include "mnist/digits.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

Sequential build_model(int classes) {
  std::vector<Layer> list;
  bool first = true;
  for (const std::vector<int>& block : {std::vector<int>{16}, {32, 32}, {64, 64, 64}}) {
    for (int filters : block) {
      layers::Conv2DOptions options{.padding = "same"};
      if (first) options.input_shape = {28, 28, 1};
      first = false;
      list.push_back(layers::Conv2D(filters, {3, 3}, options));
      list.push_back(layers::Activation("relu"));
      list.push_back(layers::BatchNormalization({.axis = -1}));
    }
    list.push_back(layers::MaxPooling2D({2, 2}));
  }
  list.push_back(layers::Flatten());
  list.push_back(layers::Dense(256));
  list.push_back(layers::Activation("relu"));
  list.push_back(layers::BatchNormalization());
  list.push_back(layers::Dropout(0.5));
  list.push_back(layers::Dense(classes));
  list.push_back(layers::Activation("softmax"));
  return Sequential(list);
}

}  // namespace

int main(int argc, char** argv) {
  set_seed(1);
  examples::Transcript out;
  constexpr std::int64_t kBatch = 64;
  constexpr std::int64_t kTest = 1000;

  Tensor train_x, train_y, test_x, test_y;
  if (argc > 1) {
    const auto [train, test] = datasets::mnist::load_data(argv[1]);
    train_x = train.first;
    train_y = train.second;
    test_x = test.first;
    test_y = test.second;
  } else {
    const mnist::DrawnDigits train = mnist::draw_digits(50 * kBatch, 1);
    const mnist::DrawnDigits test = mnist::draw_digits(kTest, 2);
    train_x = constant(train.images, {50 * kBatch, 28, 28});
    train_y = constant(train.labels);
    test_x = constant(test.images, {kTest, 28, 28});
    test_y = constant(test.labels);
  }
  train_x = cast(expand_dims(train_x, -1), float32) / 255.0;
  test_x = cast(expand_dims(test_x(slice(0, kTest)), -1), float32) / 255.0;
  train_y = to_categorical(train_y, 10);
  test_y = to_categorical(test_y(slice(0, kTest)), 10);

  out.print("[INFO] creating model...");
  const Sequential model = build_model(10);
  const optimizers::Adam opt({.learning_rate = schedules::InverseTimeDecay(1e-3, 1, 1e-3 / 25)});
  out.print("parameters %lld", static_cast<long long>(model.count_params()));

  const auto step = [&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor pred = model(x);
    const Tensor loss = losses::categorical_crossentropy(y, pred);
    opt.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    return loss;
  };
  for (std::int64_t i = 0; i < 50; ++i) {
    const Slice rows = slice(i * kBatch, (i + 1) * kBatch);
    const Tensor loss = step(train_x(rows), train_y(rows));
    if (i == 0) out.print("loss shape %s", loss.shape().to_string().c_str());
    if (i % 10 == 0 || i == 49) {
      out.print("step %lld mean loss %.4f", static_cast<long long>(i), reduce_mean(loss).item<double>());
    }
  }
  model.compile({.optimizer = opt, .loss = losses::categorical_crossentropy, .metrics = {"acc"}});
  out.print("[INFO] test accuracy: %.4f", model.evaluate(test_x, test_y)["acc"]);
  // What the original gave in five starts on the real digits, with room for the drawn ones.
  return out.finish({
      {"[INFO] creating model..."},
      {"parameters 258794"},
      {"loss shape [64]"},
      {"step 0 mean loss #", {{2.28, 2.32}}},
      {"step 10 mean loss #", {{1.5, 2.25}}},
      {"step 20 mean loss #", {{0.4, 1.7}}},
      {"step 30 mean loss #", {{0.2, 1.3}}},
      {"step 40 mean loss #", {{0.1, 1.0}}},
      {"step 49 mean loss #", {{0.05, 0.9}}},
      {"[INFO] test accuracy: #", {{0.70, 1.0}}},
  });
}
