// A convolutional network on handwritten digits, trained by compile() and fit() instead of a loop of one's own.
//
//     44_fit_digits [--data DIR] [--picture FILE]
//
// DIR holds the MNIST files; without it the example draws its digits. fit() trains with the optimizer, loss and metrics
// that compile() was given, looks at data that it does not train on after each epoch, and calls callbacks: here one
// that stops when these no longer get better, and puts back the best weights. The picture shows digits that are not
// recognised.
#include <cstdio>

#include "capstan/capstan.h"
#include "support/arguments.h"
#include "support/digits.h"
#include "support/pictures.h"
#include "support/transcript.h"

using namespace capstan;

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv,
                                      {"--data DIR      the MNIST files", "--picture FILE  receives the picture"});
  set_seed(1);
  examples::Transcript out;
  const auto [train, test] = examples::load_digits(arguments.value("--data"), 5000, 1000);

  // 1. The layers, the first one with the shape of an example.
  const Sequential model({
      layers::Conv2D(16, {3, 3}, {.strides = 2, .activation = "relu", .input_shape = {28, 28, 1}}),
      layers::Conv2D(32, {3, 3}, {.strides = 2, .activation = "relu"}),
      layers::Flatten(),
      layers::Dropout(0.25),
      layers::Dense(10),
  });
  std::fputs(model.summary().c_str(), stdout);
  out.print("weights: %lld", static_cast<long long>(model.count_params()));

  // 2. What fit() trains with. The labels are numbers of classes, the outputs logits.
  model.compile({
      .optimizer = optimizers::Adam({.learning_rate = 2e-3}),
      .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
      .metrics = {"accuracy"},
  });

  // 3. The training. History has the numbers of each epoch.
  const History history =
      model.fit(train.images, train.labels,
                {.batch_size = 64,
                 .epochs = 12,
                 .verbose = 2,
                 .callbacks = {callbacks::EarlyStopping({.patience = 2, .restore_best_weights = true})},
                 .validation_split = 0.1});
  out.print("loss %.3f, then %.3f", history["loss"].front(), history["loss"].back());
  out.print("accuracy on the part for validation: %.3f", history["val_accuracy"].back());

  // 4. The test.
  const Evaluation result = model.evaluate(test.images, test.labels);
  out.print("test loss %.3f, test accuracy %.3f", result.loss, result["accuracy"]);

  // 5. The probabilities of new digits: the mistakes are drawn, as many as there are up to twenty.
  const Tensor probabilities = softmax(model.predict(test.images));
  const Tensor wrong = not_equal(argmax(probabilities, -1, int32), test.labels);
  const Tensor mistakes = boolean_mask(test.images, wrong);
  const std::string path = examples::picture_path(arguments.value("--picture"), "capstan_mistakes.png");
  out.print("picture written: %s", examples::write_pictures(path, {mistakes(slice(0, 20))}) ? "yes" : "no");
  return out.finish({
      {"weights: 16330"},
      {"loss #, then #", {{0.3, 1.5}, {0.02, 0.3}}},
      {"accuracy on the part for validation: #", {{0.9, 1.0}}},
      {"test loss #, test accuracy #", {{0.0, 0.4}, {0.9, 1.0}}},
      {"picture written: yes"},
  });
}
