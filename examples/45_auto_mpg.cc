// How far a car of the seventies goes on a gallon: regression on a table.
//
//     45_auto_mpg [--data FILE]
//
// The table is UCI's Auto MPG (R. Quinlan 1993, CC BY 4.0), examples/data/auto_mpg.csv. Its columns have different
// units, so a Normalization layer learns mean and variance of each before the training; as a layer of the model it goes
// where the model goes. The country is a text, which a StringLookup turns into a vector in front of the model.
#include "capstan/capstan.h"
#include "capstan/layers/preprocessing.h"
#include "support/arguments.h"
#include "support/csv.h"
#include "support/npz.h"
#include "support/transcript.h"

using namespace capstan;

namespace {

struct Cars {
  Tensor numbers;    // [cars, 6]
  Tensor countries;  // [cars, 3], one-hot
  Tensor mpg;        // [cars, 1]
};

Cars rows(const Cars& cars, const Tensor& numbers) {
  return {gather(cars.numbers, numbers), gather(cars.countries, numbers), gather(cars.mpg, numbers)};
}

}  // namespace

int main(int argc, char** argv) {
  const examples::Arguments arguments(argc, argv, {"--data FILE  another table with the same columns"});
  set_seed(1);
  examples::Transcript out;
  const auto table =
      examples::Table::read(arguments.value("--data").value_or(examples::data_directory() + "/auto_mpg.csv"))
          .without_missing("horsepower");
  out.print("cars: %zu", table.rows());

  // 1. Texts become numbers: one place for each country, none for unknown ones.
  const layers::StringLookup country({.num_oov_indices = 0, .output_mode = "one_hot"});
  country.adapt(table.column("origin"));
  for (const std::string& name : country.get_vocabulary()) out.print("country: %s", name.c_str());
  const Cars cars = {
      table.numbers({"cylinders", "displacement", "horsepower", "weight", "acceleration", "model_year"}),
      cast(country(table.column("origin")), float32),
      table.numbers({"mpg"}),
  };

  // 2. A fifth of the cars, drawn at random, is for the test.
  const Tensor order = random::order(cars.mpg);
  const std::int64_t test_count = cars.mpg.dim(0) / 5;
  const Cars test = rows(cars, order(slice(0, test_count)));
  const Cars train = rows(cars, order(slice(test_count)));

  // 3. What the normalisation learns comes from the training data alone.
  const layers::Normalization normalize;
  normalize.adapt(train.numbers);

  const Tensor numbers = Input({6}, {.name = "numbers"});
  const Tensor countries = Input({3}, {.name = "countries"});
  Tensor h = layers::Concatenate()({normalize(numbers), countries});
  h = layers::Dense(32, {.activation = "relu"})(h);
  h = layers::Dense(32, {.activation = "relu"})(h);
  const Model model(Nest{numbers, countries}, layers::Dense(1)(h));
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 3e-3}), .loss = "mse", .metrics = {"mae"}});
  const History history = model.fit(Nest{train.numbers, train.countries}, train.mpg, {.epochs = 100, .verbose = 0});
  out.print("mean squared error: %.0f, then %.1f", history["loss"].front(), history["loss"].back());

  // 4. The test, against always saying the mean, and against a linear model of the same inputs.
  const double mean_error = reduce_mean(abs(test.mpg - reduce_mean(train.mpg))).item<double>();
  const auto design = [&](const Cars& c) {
    return concat({normalize(c.numbers), c.countries}, 1);  // the countries add up to 1, which serves as the bias
  };
  const Tensor weights = lstsq(design(train), train.mpg);
  const double linear_error = reduce_mean(abs(test.mpg - matmul(design(test), weights))).item<double>();
  const Evaluation result = model.evaluate(Nest{test.numbers, test.countries}, test.mpg);
  out.print("mean error on %lld new cars: %.2f miles per gallon", static_cast<long long>(test_count), result["mae"]);
  out.print("a linear model: %.2f", linear_error);
  out.print("always the mean: %.2f", mean_error);
  out.print("the network is better than the line: %s", result["mae"] < linear_error ? "yes" : "no");
  return out.finish({
      {"cars: 392"},
      {"country: usa"},
      {"country: japan"},
      {"country: europe"},
      {"mean squared error: #, then #", {{200, 700}, {2, 9}}},
      {"mean error on 78 new cars: # miles per gallon", {{1.4, 3.0}}},
      {"a linear model: #", {{2.0, 3.8}}},
      {"always the mean: #", {{5, 8}}},
      {"the network is better than the line: yes"},
  });
}
