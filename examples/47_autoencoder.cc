// A variational autoencoder (Kingma, Welling 2013) that learns to draw digits, with a step of training of its own.
//
//     47_autoencoder [--data DIR] [--picture FILE]
//
// The encoder gives a normal distribution of eight numbers for an image, the decoder an image for eight. The loss
// is how badly an image comes back, plus how far the distributions are from a standard normal one (their
// Kullback-Leibler divergence), so that any normal numbers make something like a digit. fit() does the rest of the
// training: epochs, order, metrics, progress. The picture shows digits, how they come back, ways from one digit to
// another, and what random numbers make.
#include "capstan/capstan.h"
#include "support/arguments.h"
#include "support/digits.h"
#include "support/pictures.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr std::int64_t kCode = 8;

class Autoencoder : public ModelBody {
 public:
  Autoencoder() { add_metrics({loss_, reconstruction_, divergence_}); }

  Sequential encoder{{
      layers::Flatten({.input_shape = {28, 28, 1}}), layers::Dense(256, {.activation = "relu"}),
      layers::Dense(2 * kCode),  // means, then logarithms of variances
  }};
  Sequential decoder{{
      layers::Dense(256, {.activation = "relu", .input_shape = {kCode}}),
      layers::Dense(28 * 28),
      layers::Reshape({28, 28, 1}),
  }};

  // The image that comes back if nothing is drawn at random.
  Tensor call(const Tensor& images, const CallOptions&) override {
    return sigmoid(decoder(split(encoder(images), 2, -1)[0]));
  }

  StepLogs train_step(const Batch& batch) override {
    GradientTape tape;
    const Tensor loss = losses_of(batch.x.tensor());
    const auto& weights = self().trainable_variables();
    optimizer().apply_gradients(tape.gradient(loss, weights), weights);
    return get_metrics_result();
  }

  StepLogs test_step(const Batch& batch) override {
    losses_of(batch.x.tensor());
    return get_metrics_result();
  }

 private:
  Tensor losses_of(const Tensor& images) {
    const auto moments = split(encoder(images), 2, -1);
    const Tensor &mean = moments[0], &log_variance = moments[1];
    // A draw that gradients pass: a standard normal one, moved and scaled.
    const Tensor code = mean + exp(0.5 * log_variance) * random::normal({images.dim(0), kCode});
    const Tensor lost = reduce_sum(sigmoid_cross_entropy_with_logits(images, decoder(code)), {1, 2, 3});
    const Tensor divergence = 0.5 * reduce_sum(exp(log_variance) + square(mean) - 1 - log_variance, -1);
    loss_.update_state(lost + divergence);
    reconstruction_.update_state(lost);
    divergence_.update_state(divergence);
    return reduce_mean(lost + divergence);
  }

  metrics::Mean loss_{"loss"}, reconstruction_{"reconstruction"}, divergence_{"divergence"};
};

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv,
                                      {"--data DIR      the MNIST files", "--picture FILE  receives the picture"});
  set_seed(1);
  examples::Transcript out;
  const auto [train, test] = examples::load_digits(arguments.value("--data"), 4000, 500);

  const ModelOf<Autoencoder> model;
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 2e-3})});
  const History history = model.fit(train.images, {}, {.batch_size = 32, .epochs = 12, .verbose = 2});
  out.print("loss %.0f, then %.0f", history["loss"].front(), history["loss"].back());

  const Evaluation result = model.evaluate(test.images, {});
  out.print("new digits: loss %.0f = reconstruction %.0f + divergence %.1f", result.loss, result["reconstruction"],
            result["divergence"]);
  // What would be lost if every image came back as the mean of all.
  const Tensor mean = clip_by_value(reduce_mean(train.images, 0, {.keepdims = true}), 1e-4, 1 - 1e-4);
  const Tensor by_mean = reduce_sum(test.images * -log(mean) + (1 - test.images) * -log(1 - mean), {1, 2, 3});
  out.print("the mean of all digits: reconstruction %.0f", reduce_mean(by_mean).item<double>());

  const Tensor shown = test.images(slice(0, 10));
  std::vector<Tensor> rows = {shown, model(shown)};
  const Tensor codes = split(model->encoder(shown), 2, -1)[0];
  const Tensor way = linspace(constant(0.0f), 1.0f, 10)(slice(), newaxis);
  for (int i = 0; i < 3; ++i) rows.push_back(sigmoid(model->decoder((1 - way) * codes(i) + way * codes(i + 1))));
  for (int i = 0; i < 3; ++i) rows.push_back(sigmoid(model->decoder(random::normal({10, kCode}))));
  const std::string path = examples::picture_path(arguments.value("--picture"), "capstan_autoencoder.png");
  out.print("picture written: %s", examples::write_pictures(path, rows) ? "yes" : "no");
  return out.finish({
      {"loss #, then #", {{150, 350}, {70, 150}}},
      {"new digits: loss # = reconstruction # + divergence #", {{70, 150}, {60, 140}, {5, 20}}},
      {"the mean of all digits: reconstruction #", {{170, 240}}},
      {"picture written: yes"},
  });
}
