// What was learned on many examples serves where there are few: transfer by freezing.
//
//     49_transfer [--data DIR] [--picture FILE]
//
// A network learns to tell the digits 0 to 6 from thousands of examples. Then 7 to 9 are to be told from five examples
// of each. The layers up to the last but one, cut out as a Model(inputs, inner outputs), give features; they are
// frozen, and only a new last layer is trained. For comparison the whole network is trained on the few examples from
// scratch. At the end all layers are trained a little with a small rate (fine tuning). The picture shows the few
// examples.
#include "capstan/capstan.h"
#include "support/arguments.h"
#include "support/digits.h"
#include "support/pictures.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr int kKnown = 7;  // classes of the first network; the rest are new
constexpr int kNew = 10 - kKnown;
constexpr std::int64_t kFew = 5;

// A model, and what it has inside: tensors that lead to other models of the same layers.
struct Network {
  Tensor images, features;
  Model model;
};

Network network(int classes) {
  const Tensor images = Input({28, 28, 1});
  Tensor h = layers::Conv2D(16, {3, 3}, {.strides = 2, .activation = "relu"})(images);
  h = layers::Conv2D(32, {3, 3}, {.strides = 2, .activation = "relu"})(h);
  h = layers::Flatten()(h);
  const Tensor features = layers::Dense(64, {.activation = "relu"})(h);
  return {images, features, Model(images, layers::Dense(classes)(features))};
}

void train(const Model& model, const examples::Digits& digits, std::int64_t epochs, double rate) {
  model.compile({.optimizer = optimizers::Adam({.learning_rate = rate}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(digits.images, digits.labels, {.epochs = epochs, .verbose = 0});
}

double accuracy(const Model& model, const examples::Digits& digits) {
  return model.evaluate(digits.images, digits.labels)["accuracy"];
}

// The digits 7 to 9 under the numbers 0 to 2.
examples::Digits unknown(const examples::Digits& digits) {
  const examples::Digits some = examples::between(digits, kKnown, 9);
  return {some.images, some.labels - kKnown};
}

// The first examples of each class.
examples::Digits few(const examples::Digits& digits) {
  std::vector<Tensor> images, labels;
  for (int digit = 0; digit < kNew; ++digit) {
    const examples::Digits same = examples::between(digits, digit, digit);
    images.push_back(same.images(slice(0, kFew)));
    labels.push_back(same.labels(slice(0, kFew)));
  }
  return {concat(images, 0), concat(labels, 0)};
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv,
                                      {"--data DIR      the MNIST files", "--picture FILE  receives the picture"});
  set_seed(1);
  examples::Transcript out;
  const auto [all, test] = examples::load_digits(arguments.value("--data"), 6000, 1000);
  const examples::Digits small = few(unknown(all));
  const examples::Digits test_small = unknown(test);

  // 1. A network that knows 0 to 6.
  const Network base = network(kKnown);
  train(base.model, examples::between(all, 0, kKnown - 1), 6, 3e-3);
  out.print("0 to 6: accuracy %.3f", accuracy(base.model, examples::between(test, 0, kKnown - 1)));

  // 2. Its part up to the features, by the output of an inner layer. Frozen: no training changes its weights.
  const Model features(base.images, base.features);
  features.set_trainable(false);
  const std::vector<Tensor> before = features.get_weights();

  // 3. A new last layer on it.
  const Model transferred(base.images, layers::Dense(kNew)(features(base.images)));
  out.print("weights to train: %zu of %zu", transferred.trainable_variables().size(), transferred.weights().size());
  train(transferred, small, 100, 1e-2);
  const double with = accuracy(transferred, test_small);
  out.print("7 to 9 from 15 examples, on what was learned before: accuracy %.3f", with);
  bool same = true;
  for (std::size_t i = 0; i < before.size(); ++i) same = same && equal_tensors(before[i], features.get_weights()[i]);
  out.print("frozen weights have changed: %s", same ? "no" : "yes");

  // 4. The same from scratch.
  const Model scratch = network(kNew).model;
  train(scratch, small, 60, 3e-3);
  out.print("the same from scratch: accuracy %.3f", accuracy(scratch, test_small));

  // 5. Fine tuning: everything, with a small rate. compile() again, since which weights are trained has changed.
  features.set_trainable(true);
  train(transferred, small, 20, 1e-4);
  out.print("after fine tuning: accuracy %.3f", accuracy(transferred, test_small));

  std::vector<Tensor> rows;
  for (std::int64_t digit = 0; digit < kNew; ++digit) {
    rows.push_back(small.images(slice(kFew * digit, kFew * (digit + 1))));
  };
  const std::string path = examples::picture_path(arguments.value("--picture"), "capstan_transfer.png");
  out.print("picture written: %s", examples::write_pictures(path, rows) ? "yes" : "no");
  return out.finish({
      {"0 to 6: accuracy #", {{0.95, 1.0}}},
      {"weights to train: 2 of 8"},
      {"7 to 9 from 15 examples, on what was learned before: accuracy #", {{0.75, 1.0}}},
      {"frozen weights have changed: no"},
      {"the same from scratch: accuracy #", {{0.5, 0.95}}},
      {"after fine tuning: accuracy #", {{0.75, 1.0}}},
      {"picture written: yes"},
  });
}
