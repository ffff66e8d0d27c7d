// Gradients for the input instead of the weights: what a model looks at, and how to fool it.
//
//     32_adversarial [FILE]     FILE receives the picture; capstan_adversarial.png in the folder for temporary files
//
// A saliency map is the size of the gradient of a class's score for each pixel (Simonyan, Vedaldi, Zisserman 2013). The
// fast gradient sign method moves every pixel by the same small amount in the direction in which the loss rises
// (Goodfellow, Shlens, Szegedy 2014). The picture has three rows: digits, saliency, and the digits that fool the model.
#include "capstan/capstan.h"
#include "mnist/digits.h"
#include "mnist/png.h"
#include "support/transcript.h"

#include <filesystem>

using namespace capstan;

namespace {

constexpr std::int64_t kTrain = 4000;
constexpr std::int64_t kTest = 1000;
constexpr std::int64_t kShown = 10;
constexpr int kSide = 28;
constexpr int kZoom = 3;
constexpr double kStep = 0.1;

struct Digits {
  Tensor images;  // [count, 28, 28, 1], from 0 to 1
  Tensor labels;
};

Digits digits(std::int64_t count, std::uint64_t seed) {
  const mnist::DrawnDigits drawn = mnist::draw_digits(count, seed);
  return {cast(constant(drawn.images, {count, kSide, kSide, 1}), float32) / 255.0, cast(constant(drawn.labels), int32)};
}

double accuracy(const Sequential& model, const Tensor& images, const Tensor& labels) {
  const Tensor right = equal(argmax(model(images), -1, int32), labels);
  return reduce_mean(cast(right, float32)).item<double>();
}

// The size of the gradient of each image's winning score, scaled so that the strongest pixel is 1.
Tensor saliency(const Sequential& model, const Tensor& images) {
  GradientTape tape;
  tape.watch(images);
  const Tensor score = reduce_max(model(images), 1);  // [batch]; an image's score depends on its own pixels only
  const Tensor size = abs(tape.gradient(score, images));
  return size / reduce_max(size, {1, 2, 3}, {.keepdims = true});
}

Tensor fooling(const Sequential& model, const Tensor& images, const Tensor& labels) {
  GradientTape tape;
  tape.watch(images);
  const Tensor loss = sparse_softmax_cross_entropy_with_logits(labels, model(images));
  return clip_by_value(images + kStep * sign(tape.gradient(loss, images)), 0.0, 1.0);
}

// Rows of images as one picture: each row is [kShown, 28, 28, 1].
mnist::Picture picture(const std::vector<Tensor>& rows) {
  // [row, image, y, x, 1] becomes [row, y, image, x, 3], all rows below each other; then each pixel becomes a square.
  const Tensor grid = reshape(transpose(stack(rows), {0, 2, 1, 3, 4}), {-1, kSide * kShown, 1});
  const Tensor pixels = tile(repeat(repeat(grid, kZoom, 0), kZoom, 1), {1, 1, 3});
  return {static_cast<int>(pixels.dim(1)), static_cast<int>(pixels.dim(0)),
          cast(255 * pixels + 0.5, uint8).to_vector<std::uint8_t>()};
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  set_seed(1);
  examples::Transcript out;
  const Digits train = digits(kTrain, 1);
  const Digits test = digits(kTest, 2);
  const Sequential model({
      layers::Conv2D(8, {5, 5}, {.strides = 2, .activation = "relu", .input_shape = {kSide, kSide, 1}}),
      layers::Conv2D(16, {5, 5}, {.strides = 2, .activation = "relu"}),
      layers::Flatten(),
      layers::Dense(10),
  });
  const optimizers::Adam optimizer({.learning_rate = 3e-3});
  auto step = function([&](const Tensor& images, const Tensor& labels) {
    GradientTape tape;
    const Tensor loss = reduce_mean(sparse_softmax_cross_entropy_with_logits(labels, model(images)));
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
  });
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (const auto& [images, labels] : from_tensor_slices(train.images, train.labels).shuffle(kTrain).batch(50)) {
      step(images, labels);
    }
  }
  out.print("accuracy on new digits: %.3f", accuracy(model, test.images, test.labels));

  const Tensor noisy = clip_by_value(test.images + kStep * sign(random::normal(test.images.shape())), 0.0, 1.0);
  out.print("every pixel moved by %.1f at random: %.3f", kStep, accuracy(model, noisy, test.labels));
  const Tensor fooled = fooling(model, test.images, test.labels);
  out.print("every pixel moved by %.1f along the gradient: %.3f", kStep, accuracy(model, fooled, test.labels));

  // A saliency map has its weight where there is something to see.
  const Tensor map = saliency(model, test.images);
  const Tensor near_ink = max_pool2d(test.images, {5, 5}, {1, 1}, "SAME") > 0.5;
  const Tensor share = reduce_sum(map * cast(near_ink, float32)) / reduce_sum(map);
  out.print("pixels near ink: %.2f of all, with %.2f of the saliency",
            reduce_mean(cast(near_ink, float32)).item<double>(), share.item<double>());

  const Slice shown = slice(0, kShown);
  const std::string path = argc > 1 ? argv[1] : (fs::temp_directory_path() / "capstan_adversarial.png").string();
  mnist::write_png(path, picture({test.images(shown), map(shown), fooled(shown)}));
  out.print("picture written: %s", fs::file_size(path) > 1000 ? "yes" : "no");
  return out.finish({
      {"accuracy on new digits: #", {{0.85, 1.0}}},
      {"every pixel moved by 0.1 at random: #", {{0.8, 1.0}}},
      {"every pixel moved by 0.1 along the gradient: #", {{0.0, 0.3}}},
      {"pixels near ink: # of all, with # of the saliency", {{0.3, 0.4}, {0.5, 0.8}}},
      {"picture written: yes"},
  });
}
