// `.keras` archives of Keras: the same models, weights, outputs and optimizers; damaged ones are errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "capstan/capstan.h"
#include "tests/golden/keras_samples.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan::testing {
namespace {

// The entry of the weights file that has what an archive has.
Json weights_sample(const std::string& file) {
  for (Json& sample : samples_of("models")) {
    if (sample.at("file") == file) return sample;
  }
  ADD_FAILURE() << "there is no " << file;
  return {};
}

std::map<std::string, std::vector<double>> numbers_of(const NamedTensors& state) {
  std::map<std::string, std::vector<double>> numbers;
  for (const auto& [name, tensor] : state) numbers.emplace(name, tensor.to_vector<double>());
  return numbers;
}

// The classes of the model that Keras calls "golden>Net".
struct Block : LayerBody {
  explicit Block() : LayerBody({.name = "blk"}) {}
  void build(const Shape&) override { gain = add_weight({.name = "gain", .shape = {3}, .initializer = "ones"}); }
  Tensor call(const Tensor& x, const CallOptions&) override { return zoom(x) + hidden(x) * gain.value()[0]; }
  Variable gain;
  layers::Dense zoom{3, {.activation = "tanh", .name = "zoom"}};
  layers::Dense hidden{3, {.name = "_hidden"}};
};

struct NetOptions : LayerOptions {
  int width = 3;
  static std::span<const OptionField> fields() {
    static constexpr auto all = with_layer_options<NetOptions>({option<&NetOptions::width>("width")});
    return all;
  }
};

struct Net : ConfiguredLayer<Net, NetOptions, ModelBody> {
  using ConfiguredLayer::ConfiguredLayer;
  static constexpr char kName[] = "Net", kText[] = "Layers of every kind that an attribute can hold.";

  layers::Dense out{2};
  layers::Dense conv{options.width, {.activation = "relu", .name = "conv"}};
  LayerOf<Block> blk;
  Sequential zed{{layers::Dense(4, {.activation = "tanh"}), layers::Dense(3)}};
  layers::Dense first{3}, second{3}, secret{3};

 protected:
  Tensor call(const Tensor& x, const CallOptions&) override { return out(second(first(secret(zed(blk(conv(x))))))); }
};

TEST(KerasArchives, HoldTheModelsOfKeras) {
  register_class<Net>("golden");
  const io::TemporaryDirectory directory;
  int loaded = 0;
  for (const Json& sample : samples_of("archives")) {
    SCOPED_TRACE(sample.at("file"));
    const Json same_as = weights_sample(sample.at("same_as"));
    const Model model = load_model(sample.at("path"));
    expect_sample(model, same_as);
    if (sample.contains("optimizer")) {
      const NamedTensors state = State(model.optimizer()).save();
      const Json& variables = sample["optimizer"].at("variables");
      EXPECT_EQ(model.optimizer().iterations(), tensor_from_json(variables[0].at("value")).item<std::int64_t>());
      std::vector<std::vector<double>> slots;
      for (const auto& [name, tensor] : state) {
        if (tensor.rank() > 0) slots.push_back(tensor.to_vector<double>());
      }
      std::vector<std::vector<double>> wanted;
      for (const Json& variable : variables) {
        const Tensor value = tensor_from_json(variable.at("value"));
        if (value.rank() > 0) wanted.push_back(value.to_vector<double>());
      }
      std::sort(slots.begin(), slots.end());
      std::sort(wanted.begin(), wanted.end());
      EXPECT_EQ(slots, wanted);
    }
    // What is written again is the same model with the same optimizer.
    const std::string again = directory.file("again.keras");
    model.save(again);
    const Model copy = load_model(again);
    expect_sample(copy, same_as);
    EXPECT_EQ(copy.to_json(), model.to_json());
    EXPECT_EQ(copy.is_compiled(), model.is_compiled());
    if (model.is_compiled()) {
      EXPECT_EQ(numbers_of(State(copy.optimizer()).save()), numbers_of(State(model.optimizer()).save()));
    }
    ++loaded;
  }
  EXPECT_EQ(loaded, 8);
}

TEST(KerasArchives, CanBeLoadedWithoutWhatCompileWasGiven) {
  const std::string path = sample_path("archives/sequential_cnn.keras");
  EXPECT_TRUE(load_model(path).is_compiled());
  EXPECT_FALSE(load_model(path, {.compile = false}).is_compiled());
}

// tests/interop/keras_archives.py trained these for three steps, saved them, and noted three more.
TEST(KerasArchives, GoOnAsTheyDoInKeras) {
  for (const char* name : {"nested", "ops", "recurrent", "shared", "words"}) {
    SCOPED_TRACE(name);
    const std::string path = sample_path("archives/trained/" + std::string(name));
    const Model model = load_model(path + ".keras");
    const io::NamedArrays arrays = io::load_npz(path + ".npz");
    const std::vector<Tensor> x = numbered(arrays, "x"), y = numbered(arrays, "y"), want = numbered(arrays, "output");
    // One of the models takes a map.
    const bool is_map = std::string_view(name) == "shared";
    const Nest inputs = is_map ? Nest::map({"left", "right"}, {x.at(0), x.at(1)}) : nest_of(x);
    const std::vector<Tensor> outputs = model.predict(inputs).tensors();
    ASSERT_EQ(outputs.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_LT(reduce_max(abs(outputs[i] - want[i])).item<double>(), 1e-5);
    }
    for (const double loss : cast(arrays.at("losses"), float64).to_vector<double>()) {
      EXPECT_NEAR(model.train_on_batch(inputs, nest_of(y)).at("loss"), loss, 1e-5);
    }
  }
}

TEST(KerasArchives, ThatAreDamagedOrAskForTooMuchAreErrors) {
  int refused = 0;
  for (const Json& sample : samples_of("hostile/archives")) {
    SCOPED_TRACE(sample.at("file"));
    const std::string path = sample.at("path");
    if (sample.at("must") == "either") {
      const Model model = load_model(path);
      const Json& gives = sample["tool"].at("gives");
      EXPECT_EQ(model.weights().size(), gives.size());
      for (const Variable& weight : model.weights()) {
        EXPECT_EQ(weight.value().to_vector<double>(),
                  tensor_from_json(gives.at(weight.path().substr(weight.path().find("dense")))).to_vector<double>());
      }
      continue;
    }
    EXPECT_EQ(sample.at("must"), "fail");
    const std::string message = message_of<IoError>([&] { load_model(path); });
    EXPECT_NE(message.find(path), std::string::npos) << message;
    ++refused;
  }
  EXPECT_EQ(refused, 13);
  EXPECT_FALSE(std::filesystem::exists("../../outside.bin"));
}

}  // namespace
}  // namespace capstan::testing
