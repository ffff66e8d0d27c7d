// Which iris it is, from the lengths of its leaves: classification of a table.
//
//     50_iris [--data FILE]
//
// The table is R. A. Fisher's (1936; UCI, CC BY 4.0), examples/data/iris.csv: four lengths and the species, as a text.
// A StringLookup gives the species numbers, and back; a Normalization gives the columns one scale; the loss compares
// with one-hot labels of a CategoryEncoding. Since 150 flowers are few, each fifth of them is the test of a model that
// is trained on the others (cross validation).
#include "capstan/capstan.h"
#include "capstan/layers/preprocessing.h"
#include "support/arguments.h"
#include "support/csv.h"
#include "support/npz.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

constexpr int kFolds = 5;

// The logits of the test flowers, from a model of its own.
Tensor trained_without(const Tensor& x, const Tensor& y, const Tensor& test_x) {
  const layers::Normalization normalize({.input_shape = {4}});
  normalize.adapt(x);
  const Sequential model({
      normalize,
      layers::Dense(16, {.activation = "tanh", .kernel_regularizer = regularizers::L2(1e-3)}),
      layers::Dense(3),
  });
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 1e-2}),
                 .loss = losses::CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.05})});
  model.fit(x, y, {.batch_size = 16, .epochs = 60, .verbose = 0});
  return model.predict(test_x);
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv, {"--data FILE  another table with the same columns"});
  set_seed(1);
  examples::Transcript out;
  const auto table =
      examples::Table::read(arguments.value("--data").value_or(examples::data_directory() + "/iris.csv"));
  const Tensor x = table.numbers({"sepal_length", "sepal_width", "petal_length", "petal_width"});

  // 1. Species are numbers from 0, none of them unknown, and vectors with a one.
  const layers::StringLookup species({.num_oov_indices = 0});
  species.adapt(table.column("species"));
  const Tensor labels = species(table.column("species"));
  const Tensor y = layers::CategoryEncoding(3, {.output_mode = "one_hot"})(labels);
  out.print("flowers: %lld, species: %lld", static_cast<long long>(x.dim(0)),
            static_cast<long long>(species.vocabulary_size()));

  // 2. Every flower is foreseen by a model that has not seen it.
  const std::vector<Tensor> folds = split(random::order(x), kFolds);
  std::vector<Tensor> foreseen, truth;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::vector<Tensor> others;
    for (int other = 0; other < kFolds; ++other) {
      if (other != fold) others.push_back(folds[static_cast<std::size_t>(other)]);
    }
    const Tensor train = concat(others, 0);
    const Tensor& test = folds[static_cast<std::size_t>(fold)];
    foreseen.push_back(argmax(trained_without(gather(x, train), gather(y, train), gather(x, test)), -1));
    truth.push_back(gather(labels, test));
  }

  // 3. How often which species was taken for which.
  const Tensor pairs = 3 * concat(truth, 0) + concat(foreseen, 0);
  const Tensor table_of_pairs = reshape(reduce_sum(one_hot(pairs, 9), 0), {3, 3});
  const Texts names = species.to_texts(range(3));
  for (std::size_t i = 0; i < 3; ++i) {
    out.print("%-10s taken for %s %.0f, %s %.0f, %s %.0f", names.values()[i].c_str(), names.values()[0].c_str(),
              table_of_pairs(i, 0).item<double>(), names.values()[1].c_str(), table_of_pairs(i, 1).item<double>(),
              names.values()[2].c_str(), table_of_pairs(i, 2).item<double>());
  }
  const double right = reduce_mean(cast(equal(concat(truth, 0), concat(foreseen, 0)), float32)).item<double>();
  out.print("accuracy on flowers that were not seen: %.3f", right);
  return out.finish({
      {"flowers: 150, species: 3"},
      {"virginica  taken for virginica #, versicolor #, setosa #", {{44, 50}, {0, 6}, {0, 0}}},
      {"versicolor taken for virginica #, versicolor #, setosa #", {{0, 6}, {44, 50}, {0, 0}}},
      {"setosa     taken for virginica #, versicolor #, setosa #", {{0, 0}, {0, 0}, {50, 50}}},
      {"accuracy on flowers that were not seen: #", {{0.93, 1.0}}},
  });
}
