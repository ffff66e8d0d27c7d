// A network that draws rings after looking at some: a convolutional GAN (Radford, Metz, Chintala 2015).
//
//     54_dcgan [--picture FILE]
//
// The generator makes images of random numbers by transposed convolutions; the discriminator tells them from real ones.
// Each has an optimizer of its own, so the model has a step of training of its own, in which two tapes record side by
// side. Generative networks have no loss that falls; what is checked are properties of the rings: how much ink there
// is, how it differs from image to image, that the middle is hollow, and that all ink is equally far from it. The
// picture shows real rings above, and below those that were made.
#include "capstan/capstan.h"
#include "support/arguments.h"
#include "support/pictures.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr std::int64_t kSide = 16, kNoise = 8;

// Rings of random place and size: [count, 16, 16, 1], from 0 to 1.
Tensor rings(std::int64_t count) {
  const auto drawn = [&](double low, double high) { return random::uniform({count, 1, 1, 1}, low, high); };
  const Tensor line = range(static_cast<float>(kSide));
  const Tensor x = reshape(line, {1, 1, kSide, 1}) - drawn(6.5, 8.5),
               y = reshape(line, {1, kSide, 1, 1}) - drawn(6.5, 8.5);
  return clip_by_value(1.8 - abs(sqrt(square(x) + square(y)) - drawn(3, 5.5)), 0.0, 1.0);
}

class Gan : public ModelBody {
 public:
  Gan() { add_metrics({generator_loss_, discriminator_loss_}); }

  Sequential generator{{
      layers::Dense(4 * 4 * 32, {.use_bias = false, .input_shape = {kNoise}}),
      layers::BatchNormalization({.momentum = 0.9}),
      layers::Activation("relu"),
      layers::Reshape({4, 4, 32}),
      layers::Conv2DTranspose(16, {4, 4}, {.strides = 2, .padding = "same", .use_bias = false}),
      layers::BatchNormalization({.momentum = 0.9}),
      layers::Activation("relu"),
      layers::Conv2DTranspose(1, {4, 4}, {.strides = 2, .padding = "same", .activation = "sigmoid"}),
  }};
  Sequential discriminator{{
      layers::Conv2D(16, {4, 4}, {.strides = 2, .padding = "same", .input_shape = {kSide, kSide, 1}}),
      layers::LeakyReLU(),
      layers::Conv2D(32, {4, 4}, {.strides = 2, .padding = "same"}),
      layers::LeakyReLU(),
      layers::Flatten(),
      layers::Dropout(0.3),
      layers::Dense(1),
  }};

  // Random numbers to images.
  Tensor call(const Tensor& noise, const CallOptions&) override { return generator(noise); }

  StepLogs train_step(const Batch& batch) override {
    const Tensor real = batch.x.tensor();
    const Tensor noise = random::normal({real.dim(0), kNoise});
    GradientTape generator_tape, discriminator_tape;
    const Tensor made_score = discriminator(generator(noise, {.training = true}), {.training = true});
    const Tensor real_score = discriminator(real, {.training = true});
    const Tensor generator_loss = cross_entropy_(ones_like(made_score), made_score);
    const Tensor discriminator_loss =  // real is 0.9, so that it never gets too sure
        cross_entropy_(0.9 * ones_like(real_score), real_score) + cross_entropy_(zeros_like(made_score), made_score);

    const auto& generator_weights = generator.trainable_variables();
    const auto& discriminator_weights = discriminator.trainable_variables();
    const auto generator_gradients = generator_tape.gradient(generator_loss, generator_weights);
    const auto discriminator_gradients = discriminator_tape.gradient(discriminator_loss, discriminator_weights);
    optimizer().apply_gradients(generator_gradients, generator_weights);
    discriminator_optimizer_.apply_gradients(discriminator_gradients, discriminator_weights);
    generator_loss_.update_state(generator_loss);
    discriminator_loss_.update_state(discriminator_loss);
    return {{"generator", generator_loss_.result()}, {"discriminator", discriminator_loss_.result()}};
  }

 private:
  // That of the generator is the one which compile() gets.
  optimizers::Adam discriminator_optimizer_{{.learning_rate = 1e-3, .beta_1 = 0.5}};
  losses::BinaryCrossentropy cross_entropy_{{.from_logits = true}};
  metrics::Mean generator_loss_{"generator"}, discriminator_loss_{"discriminator"};
};

double mean(const Tensor& x) { return reduce_mean(x).item<double>(); }

// All ink of a ring is about equally far from the middle of its ink. This is the deviation of that distance, weighted
// by ink, averaged over the images.
double width(const Tensor& images) {
  const Tensor line = range(static_cast<float>(kSide));
  const Tensor x = reshape(line, {1, 1, kSide, 1}), y = reshape(line, {1, kSide, 1, 1});
  const Tensor weight = images / (reduce_sum(images, {1, 2, 3}, {.keepdims = true}) + 1e-6);
  const auto centre = [&](const Tensor& z) { return reduce_sum(weight * z, {1, 2, 3}, {.keepdims = true}); };
  const Tensor distance = sqrt(square(x - centre(x)) + square(y - centre(y)));
  return mean(sqrt(centre(square(distance)) - square(centre(distance)) + 1e-6));
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv, {"--picture FILE  receives the picture"});
  set_seed(1);
  examples::Transcript out;
  const Tensor real = rings(2000);
  const ModelOf<Gan> model;
  const Tensor noise = random::normal({500, kNoise});
  const Tensor untrained = model(noise);
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 1e-3, .beta_1 = 0.5})});
  model.fit(real, {}, {.batch_size = 50, .epochs = 15, .verbose = 2});

  const Tensor made = model.predict(noise);
  out.print("ink: real %.3f, made %.3f, made before the training %.3f", mean(real), mean(made), mean(untrained));
  out.print("deviation of a pixel: real %.3f, made %.3f", mean(reduce_std(real, 0)), mean(reduce_std(made, 0)));
  out.print("ink in the middle: real %.3f, made %.3f", mean(real(slice(), slice(7, 9), slice(7, 9))),
            mean(made(slice(), slice(7, 9), slice(7, 9))));
  out.print("width: real %.2f, made %.2f, made before the training %.2f", width(real), width(made), width(untrained));

  const Slice row = slice(0, 12), next = slice(12, 24);
  const std::string path = examples::picture_path(arguments.value("--picture"), "capstan_dcgan.png");
  out.print("picture written: %s",
            examples::write_pictures(path, {real(row), real(next), made(row), made(next)}) ? "yes" : "no");
  return out.finish({
      {"ink: real #, made #, made before the training #", {{0.2, 0.35}, {0.2, 0.35}, {0.45, 0.55}}},
      {"deviation of a pixel: real #, made #", {{0.2, 0.4}, {0.15, 0.4}}},
      {"ink in the middle: real #, made #", {{0, 0.1}, {0, 0.15}}},
      {"width: real #, made #, made before the training #", {{0.4, 1.0}, {0.4, 1.5}, {2, 4}}},
      {"picture written: yes"},
  });
}
