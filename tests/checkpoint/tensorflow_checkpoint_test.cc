// Checkpoints of TensorFlow in a Checkpoint: what is read, what is written, what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "capstan/capstan.h"
#include "src/io/object_graph.h"
#include "src/io/tensor_bundle.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/tensorflow_trainings.h"

namespace capstan {
namespace {

using io::TemporaryDirectory;
using testing::contains;
using testing::Json;
using testing::message_of;
using testing::same_bits;
using testing::sample_path;
using testing::tensor_from_json;
using testing::Training;

constexpr const char kValueKey[] = "/.ATTRIBUTES/VARIABLE_VALUE";

Json sample_of(const std::string& file) {
  for (Json& sample : testing::samples_of("checkpoints")) {
    if (sample.at("file") == file) return sample;
  }
  ADD_FAILURE() << file;
  return {};
}

// The model of the two samples with models.
Sequential small_model() {
  return Sequential(
      {layers::Dense(4, {.activation = "relu", .input_shape = {3}}), layers::BatchNormalization(), layers::Dense(2)});
}

void expect_near(const Tensor& outputs, const Tensor& wanted) {
  EXPECT_LT(reduce_max(abs(outputs - wanted)).item<float>(), 2e-5f);
}

void expect_variables(const std::vector<Variable>& variables, const Json& wanted, std::size_t first) {
  ASSERT_EQ(variables.size(), wanted.size() - first);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Json& want = wanted[first + i];
    EXPECT_TRUE(same_bits(variables[i].value(), tensor_from_json(want.contains("value") ? want["value"] : want))) << i;
  }
}

TEST(ReadTensorflow, GivesWeightsAndSlotsWithTheirBits) {
  const std::pair<const char*, Optimizer> cases[] = {{"model_adam/ckpt-3", optimizers::Adam()},
                                                     {"model_momentum/ckpt-3", optimizers::SGD({.momentum = 0.9})}};
  for (const auto& [file, optimizer] : cases) {
    SCOPED_TRACE(file);
    const Json sample = sample_of(file);
    const std::string path = sample.at("path");
    EXPECT_EQ(latest_checkpoint(std::filesystem::path(path).parent_path().string()), path);
    const Sequential model = small_model();
    optimizer.build(model.trainable_variables());
    std::int64_t step = 0;
    const Checkpoint checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step}});
    checkpoint.read_tensorflow(path).assert_consumed();
    EXPECT_EQ(step, 3);
    EXPECT_EQ(checkpoint.save_counter(), 3);
    expect_variables(model.weights(), sample.at("weights"), 0);
    const Json& wanted = sample.at("optimizer").at("variables");
    EXPECT_EQ(optimizer.iterations(), wanted[0]["value"]["data"][0].get<std::int64_t>());
    EXPECT_EQ(optimizer.learning_rate(), wanted[1]["value"]["data"][0].get<double>());
    expect_variables(optimizer.variables(), wanted, 2);
    expect_near(model(tensor_from_json(sample["inputs"][0])), tensor_from_json(sample["outputs"][0]));
  }
}

// Restores a training before its optimizer has slots, which is what a program does that goes on with it, and compares
// with what TensorFlow went on with.
void expect_same_training(const Training& one, const std::string& folder) {
  const io::NamedArrays arrays = io::load_npz(folder + ".npz");
  const auto nest = [&](const std::string& name) {
    std::vector<Tensor> list;
    while (arrays.contains(name + std::to_string(list.size()))) {
      list.push_back(arrays.at(name + std::to_string(list.size())));
    }
    return list.size() == 1 ? Nest(list[0]) : Nest(list);
  };
  const Model model = one.make();
  const Optimizer optimizer = one.optimizer();
  model.compile({.optimizer = optimizer, .loss = losses::MeanSquaredError()});
  model(nest("x"));
  int step = 0;
  Checkpoint({{"model", model}, {"optimizer", optimizer}, {"step", step}})
      .read_tensorflow(latest_checkpoint(folder).value())
      .assert_consumed();
  EXPECT_EQ(step, 3);
  const std::vector<Tensor> outputs = model.predict(nest("x")).tensors(), wanted = nest("output").tensors();
  ASSERT_EQ(outputs.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) expect_near(outputs[i], wanted[i]);
  for (const double loss : cast(arrays.at("losses"), float64).to_vector<double>()) {
    EXPECT_NEAR(model.train_on_batch(nest("x"), nest("y")).at("loss"), loss, 2e-5);
  }
}

TEST(ReadTensorflow, IsFollowedByTheUpdatesThatTensorFlowMakes) {
  const std::vector<Training> trainings = testing::trainings();
  int read = 0;
  for (const std::string keras : {"", "keras2_"}) {
    for (const Training& one : trainings) {
      SCOPED_TRACE(keras + one.name);
      const std::string folder = sample_path("tensorflow_trainings/" + keras + one.name);
      if (!std::filesystem::exists(folder)) continue;
      expect_same_training(one, folder);
      ++read;
    }
  }
  EXPECT_EQ(read, 14);
}

// The same keys, and under each the same bits.
TEST(WriteTensorflow, WritesWhatTensorFlowWrote) {
  const TemporaryDirectory directory;
  const std::pair<const char*, Optimizer> cases[] = {{"model_adam/ckpt-3", optimizers::Adam()},
                                                     {"model_momentum/ckpt-3", optimizers::SGD({.momentum = 0.9})}};
  for (const auto& [file, optimizer] : cases) {
    SCOPED_TRACE(file);
    const std::string path = sample_of(file).at("path");
    const Sequential model = small_model();
    optimizer.build(model.trainable_variables());
    std::int64_t step = 0;
    const Checkpoint checkpoint({{"step", step}, {"optimizer", optimizer}, {"model", model}});
    checkpoint.read_tensorflow(path).assert_consumed();
    EXPECT_EQ(checkpoint.write_tensorflow(directory.file("x")), directory.file("x"));
    const io::TensorflowCheckpoint ours = io::load_tensorflow_checkpoint(directory.file("x")),
                                   theirs = io::load_tensorflow_checkpoint(path);
    EXPECT_EQ(ours.tensors.size(), theirs.tensors.size());
    for (const auto& [key, tensor] : theirs.tensors) {
      ASSERT_TRUE(ours.tensors.contains(key)) << key;
      // Theirs was a tf.Variable(0).
      const Tensor own = key.starts_with("step/") ? cast(ours.tensors.at(key), tensor.dtype()) : ours.tensors.at(key);
      EXPECT_TRUE(same_bits(own, tensor)) << key;
    }
  }
}

class TensorflowFiles : public ::testing::Test {
 protected:
  std::string prefix(const std::string& name = "x") const { return directory_.file(name); }

  // A checkpoint with this graph. Every tensor that it names is 1, unless there is another.
  void write_graph(const std::vector<io::TrackableNode>& nodes, std::map<std::string, Tensor> tensors = {}) const {
    io::TensorBundle bundle{.tensors = std::move(tensors)};
    for (const io::TrackableNode& node : nodes) {
      for (const io::TrackableAttribute& one : node.attributes) bundle.tensors.emplace(one.key, constant(1.0f));
    }
    bundle.texts[io::kObjectGraphKey] = {io::object_graph_bytes(nodes)};
    io::write_tensor_bundle("test", prefix(), bundle);
  }

  TemporaryDirectory directory_;
};

// A state that alone knows what it takes.
struct Words {
  NamedTensors held = {{"", constant(1)}, {"deep/down", constant(2)}};
  NamedTensors save() const { return held; }
  void restore(const NamedTensors& saved) {
    if (saved.size() != 2) throw ValueError("words: two tensors");
    held = saved;
  }
};

TEST_F(TensorflowFiles, KeepEveryKindOfObject) {
  const auto make = [](std::int64_t& whole, int& small, double& real, Words& words, const Variable& truth,
                       const Metric& metric) {
    return Checkpoint({{"whole", whole},
                       {"small", small},
                       {"real", real},
                       {"words", words},
                       {"truth", truth},
                       {"metric", metric},
                       {"random", RandomState()},
                       {"a.dot", truth}});
  };
  std::int64_t whole = std::int64_t{1} << 40, other_whole = 0;
  int small = -7, other_small = 0;
  double real = 0.1, other_real = 0;
  Words words, other_words;
  words.held = {{"", constant(5)}, {"deep/down", constant(6)}};
  const Variable truth(constant({true, false})), other_truth(constant({false, false}));
  const metrics::Mean metric, other_metric;
  metric.update_state(constant({1.0f, 4.0f}));
  make(whole, small, real, words, truth, metric).write_tensorflow(prefix());
  make(other_whole, other_small, other_real, other_words, other_truth, other_metric)
      .read_tensorflow(prefix())
      .assert_consumed();
  EXPECT_EQ(other_whole, whole);
  EXPECT_EQ(other_small, small);
  EXPECT_EQ(other_real, real);
  EXPECT_EQ(other_words.held.at("deep/down").item<int>(), 6);
  EXPECT_TRUE(same_bits(other_truth.value(), truth.value()));
  EXPECT_EQ(other_metric.result().item<float>(), 2.5f);
  const io::TensorflowCheckpoint file = io::load_tensorflow_checkpoint(prefix());
  EXPECT_EQ(file.tensors.at(std::string("small") + kValueKey).dtype(), int32);
  EXPECT_EQ(file.tensors.at(std::string("words/deep/down") + kValueKey).item<int>(), 6);
  EXPECT_TRUE(file.tensors.contains(std::string("a..dot") + kValueKey));
}

TEST_F(TensorflowFiles, AreNamedWhereACheckpointOfCapstanIsAskedFor) {
  const Variable a(1.0f);
  const Checkpoint checkpoint({{"a", a}});
  checkpoint.write_tensorflow(prefix());
  const std::string error = message_of<IoError>([&] { checkpoint.restore(prefix()); });
  EXPECT_TRUE(contains(error, "restore: the checkpoint is one of TensorFlow")) << error;
  EXPECT_TRUE(contains(error, "help: read_tensorflow() restores it")) << error;
}

TEST_F(TensorflowFiles, KeepTheCountOfSavedCheckpoints) {
  std::int64_t step = 0;
  const Checkpoint checkpoint({{"step", step}}), other({{"step", step}});
  checkpoint.save(prefix("own"));
  checkpoint.save(prefix("own"));
  checkpoint.write_tensorflow(prefix());
  other.read_tensorflow(prefix()).assert_consumed();
  EXPECT_EQ(other.save_counter(), 2);
}

TEST_F(TensorflowFiles, HaveTheOptimizerOfACompiledModel) {
  const auto make = [] {
    Sequential model({layers::Dense(2, {.input_shape = {3}})});
    model.compile({.optimizer = optimizers::Adam(), .loss = "mse"});
    return model;
  };
  const Sequential model = make(), other = make(), plain = Sequential({layers::Dense(2, {.input_shape = {3}})});
  for (int i = 0; i < 2; ++i) model.train_on_batch(ones({4, 3}), ones({4, 2}));
  Checkpoint({{"model", model}}).write_tensorflow(prefix());
  Checkpoint({{"model", other}}).read_tensorflow(prefix()).assert_consumed();
  EXPECT_EQ(other.optimizer().iterations(), 2);
  EXPECT_EQ(model.train_on_batch(ones({4, 3}), ones({4, 2})).at("loss"),
            other.train_on_batch(ones({4, 3}), ones({4, 2})).at("loss"));
  // For another model they are left over, and a file without is enough.
  const RestoreStatus status = Checkpoint({{"model", plain}}).read_tensorflow(prefix());
  EXPECT_EQ(status.difference().left_over.size(), 6u);
  EXPECT_TRUE(status.difference().missing.empty());
  status.expect_partial();
  Checkpoint({{"model", plain}}).write_tensorflow(prefix());
  Checkpoint({{"model", other}}).read_tensorflow(prefix()).assert_consumed();
}

// Members without a name, in a file whose attributes have other names: in their order.
struct Encoder : LayerBody {
  layers::Dense first{4}, second{4, {.name = "second"}};
  layers::Dropout dropout{0.5};
  Tensor call(const Tensor& x, const CallOptions&) override { return second(dropout(first(x))); }
};
struct Net : ModelBody {
  LayerOf<Encoder> encoder{};
  layers::Dense last{4};
  Tensor call(const Tensor& x, const CallOptions&) override { return last(encoder(x)); }
};

TEST_F(TensorflowFiles, MatchMembersByNameAndThenInTheirOrder) {
  const ModelOf<Net> model, other;
  const Tensor x = ones({2, 4});
  const Tensor y = model(x);
  other(x);
  Checkpoint({{"model", model}}).write_tensorflow(prefix("ours"));
  const io::TensorBundle bundle = io::read_tensor_bundle("test", prefix("ours"));
  std::vector<io::TrackableNode> nodes =
      io::parse_object_graph("test", "", bundle.texts.at(io::kObjectGraphKey).front());
  int renamed = 0;
  for (io::TrackableNode& node : nodes) {
    for (auto& [name, child] : node.children) {
      if (name != "dense" && name != "encoder") continue;
      name = "_of_python_" + name;
      ++renamed;
    }
  }
  EXPECT_EQ(renamed, 3);
  write_graph(nodes, bundle.tensors);
  Checkpoint({{"model", other}}).read_tensorflow(prefix()).assert_consumed();
  EXPECT_TRUE(same_bits(other(x), y));
}

TEST_F(TensorflowFiles, WaitForSlotsAndAreWrittenAgain) {
  const auto make = [] { return Sequential({layers::Dense(2, {.input_shape = {3}})}); };
  const Sequential model = make();
  const Optimizer adam = optimizers::Adam(), other = optimizers::Adam();
  const std::vector<Variable> weights = model.trainable_variables();
  adam.apply_gradients({ones({3, 2}), ones({2})}, {weights[0], weights[1]});
  Checkpoint({{"optimizer", adam}, {"model", model}}).write_tensorflow(prefix());
  const Checkpoint waiting({{"optimizer", other}, {"model", model}});
  waiting.read_tensorflow(prefix()).assert_consumed();
  waiting.write_tensorflow(prefix("again"));
  const auto first = io::load_tensorflow_checkpoint(prefix()), again = io::load_tensorflow_checkpoint(prefix("again"));
  // The optimizer does not know yet which variables it trains, so that these are under the model.
  EXPECT_EQ(first.tensors.size(), again.tensors.size());
  for (const auto& [key, tensor] : first.tensors) {
    if (contains(key, "_trainable_variables")) continue;
    EXPECT_TRUE(same_bits(again.tensors.at(key), tensor)) << key;
  }
  const Optimizer adafactor = optimizers::Adafactor(), late = optimizers::Adafactor();
  adafactor.apply_gradients({ones({3, 2}), ones({2})}, {weights[0], weights[1]});
  Checkpoint({{"optimizer", adafactor}}).write_tensorflow(prefix());
  const Checkpoint of_late({{"optimizer", late}});
  of_late.read_tensorflow(prefix()).assert_consumed();
  const std::string error = message_of<ValueError>([&] { of_late.write_tensorflow(prefix("late")); });
  EXPECT_TRUE(contains(error, "its slots were restored, and wait for the variables that they belong to")) << error;
  EXPECT_FALSE(std::filesystem::exists(prefix("late.index")));
}

// --- What is refused ---

TEST_F(TensorflowFiles, ThatDifferChangeNothing) {
  const auto make = [](int units) {
    return Sequential({layers::Dense(units, {.input_shape = {3}}), layers::Dense(2)});
  };
  const Sequential model = make(4), other = make(5);
  std::int64_t step = 3;
  Checkpoint({{"model", model}, {"step", step}, {"more", step}}).write_tensorflow(prefix());
  step = 8;
  const std::string before = other.weights()[3].value().to_string();
  other.weights()[3].assign(ones({2}));
  const Checkpoint checkpoint({{"model", other}, {"step", step}, {"absent", Variable(1.0f)}});
  const std::string error = message_of<ValueError>([&] { checkpoint.read_tensorflow(prefix()); });
  EXPECT_TRUE(error.starts_with("read_tensorflow: tensors have other shapes or dtypes\n  file: " + prefix())) << error;
  EXPECT_TRUE(contains(error, "\"model/dense/kernel\" is float32[3, 5] here, and float32[3, 4] was saved")) << error;
  EXPECT_EQ(step, 8);
  EXPECT_EQ(other.weights()[3].value().to_vector<float>(), (std::vector<float>{1, 1}));
  const RestoreStatus status = checkpoint.read_tensorflow(prefix(), {.skip_mismatch = true});
  EXPECT_EQ(step, 3);
  EXPECT_EQ(other.weights()[3].value().to_string(), before);
  const StateDifference& difference = status.difference();
  EXPECT_EQ(difference.mismatched.size(), 3u);
  EXPECT_EQ(difference.missing, (std::vector<std::string>{"\"absent\", float32[]"}));
  EXPECT_EQ(difference.left_over, (std::vector<std::string>{"\"more/.ATTRIBUTES/VARIABLE_VALUE\", int64[]"}));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { status.assert_consumed(); }), "left over: \"more/"));
}

TEST_F(TensorflowFiles, WithNothingThatIsKnownAreRefused) {
  const Variable a(1.0f), b(2.0f);
  Checkpoint({{"a", a}}).write_tensorflow(prefix());
  const std::string error = message_of<ValueError>([&] { Checkpoint({{"b", b}}).read_tensorflow(prefix()); });
  EXPECT_TRUE(contains(error, "no tensor in the file has a name that the objects know")) << error;
  EXPECT_TRUE(contains(error, "missing: \"b\", float32[]")) << error;
  EXPECT_TRUE(contains(error, "left over: \"a/.ATTRIBUTES/VARIABLE_VALUE\"")) << error;
}

// A key that is like a name here says nothing without an object.
TEST_F(TensorflowFiles, HaveNoTensorsByKeysAlone) {
  const Variable a(1.0f), b(2.0f);
  write_graph({{.children = {{"a", 1}}}, {.attributes = {{.key = "a/.ATTRIBUTES/VARIABLE_VALUE"}}}},
              {{"b", constant(7.0f)}, {"save_counter", constant(std::int64_t{5})}});
  const Checkpoint checkpoint({{"a", a}, {"b", b}});
  const RestoreStatus status = checkpoint.read_tensorflow(prefix());
  EXPECT_EQ(status.difference().missing, (std::vector<std::string>{"\"b\", float32[]"}));
  EXPECT_EQ(status.difference().left_over.size(), 2u);
  EXPECT_EQ(b.value().item<float>(), 2.0f);
  EXPECT_EQ(checkpoint.save_counter(), 0);
  status.expect_partial();
}

TEST_F(TensorflowFiles, WithoutAGraphOfObjectsAreRefused) {
  const Variable a(1.0f);
  io::write_tensor_bundle("test", prefix(), {.tensors = {{"a", constant(1.0f)}}});
  const std::string error = message_of<IoError>([&] { Checkpoint({{"a", a}}).read_tensorflow(prefix()); });
  EXPECT_TRUE(contains(error, "read_tensorflow: the checkpoint has no graph of objects")) << error;
  EXPECT_TRUE(contains(error, "help: io::load_tensorflow_checkpoint() gives its tensors")) << error;
  EXPECT_TRUE(contains(message_of<IoError>([&] { Checkpoint({{"a", a}}).read_tensorflow(prefix("none")); }), "none"));
}

TEST_F(TensorflowFiles, WithAGraphThatLiesAreRefused) {
  const Variable a(0.0f);
  const Checkpoint checkpoint({{"a", a}});
  write_graph({{.children = {{"a", 7}}}});
  EXPECT_TRUE(contains(message_of<IoError>([&] { checkpoint.read_tensorflow(prefix()); }),
                       "object 0 has a child of the number 7, but the graph has 1 objects"));
  io::write_tensor_bundle(
      "test", prefix(),
      {.texts = {{io::kObjectGraphKey,
                  {io::object_graph_bytes({{.children = {{"a", 1}}}, {.attributes = {{.key = "x"}}}})}}}});
  EXPECT_TRUE(contains(message_of<IoError>([&] { checkpoint.read_tensorflow(prefix()); }),
                       "an object has the tensor \"x\", which is not there"));
  io::write_tensor_bundle("test", prefix(), {.texts = {{io::kObjectGraphKey, {"\x0a\x7f"}}}});
  EXPECT_TRUE(contains(message_of<IoError>([&] { checkpoint.read_tensorflow(prefix()); }), "are left"));
  io::write_tensor_bundle("test", prefix(), {.texts = {{io::kObjectGraphKey, {""}}}});
  EXPECT_TRUE(contains(message_of<ValueError>([&] { checkpoint.read_tensorflow(prefix()); }), "no tensor in the file"));
  EXPECT_EQ(a.value().item<float>(), 0);
}

// Objects that hold each other, lists with odd numbers, and variables that have children.
TEST_F(TensorflowFiles, WithGraphsThatGoRoundEnd) {
  Words words;
  const Sequential model({layers::Dense(1, {.use_bias = false, .input_shape = {1}})});
  std::vector<io::TrackableNode> nodes(4);
  nodes[0].children = {{"words", 1}, {"model", 2}, {"self", 0}};
  nodes[1] = {.children = {{"words", 1}, {"deep", 3}, {"up", 0}}, .attributes = {{.key = "w"}}};
  nodes[2].children = {{"_functional", 2},          {"_operations", 2}, {"0", 2},
                       {"99999999999999999999", 2}, {"1", 2},           {"-1", 2}};
  nodes[3] = {.children = {{"down", 3}, {"words", 1}}, .attributes = {{.key = "d"}}};
  write_graph(nodes);
  const RestoreStatus status = Checkpoint({{"words", words}}).read_tensorflow(prefix());
  EXPECT_EQ(words.held.size(), 2u);
  status.expect_partial();
  const std::string error = message_of<ValueError>([&] { Checkpoint({{"model", model}}).read_tensorflow(prefix()); });
  EXPECT_TRUE(contains(error, "missing: \"model/dense/kernel\"")) << error;
  // An object that holds itself many times over.
  for (int i = 0; i < 10000; ++i) nodes[3].children.emplace_back("more" + std::to_string(i), 3);
  write_graph(nodes);
  Checkpoint({{"words", words}}).read_tensorflow(prefix()).expect_partial();
}

TEST_F(TensorflowFiles, ThatAreDamagedAnywhereAreNeverWrong) {
  const Variable a({1.5f, 2.5f});
  std::int64_t step = 7;
  const Checkpoint checkpoint({{"a", a}, {"step", step}});
  checkpoint.write_tensorflow(prefix());
  for (const std::string ending : {".index", ".data-00000-of-00001"}) {
    std::ifstream file(prefix() + ending, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (const bool is_cut : {false, true}) {
        if (is_cut && i % 8 != 0) continue;
        std::string changed = is_cut ? bytes.substr(0, i) : bytes;
        if (!is_cut) changed[i] = static_cast<char>(changed[i] ^ 1 << i % 8);
        directory_.write("x" + ending, changed);
        a.assign(zeros({2}));
        step = 0;
        try {
          checkpoint.read_tensorflow(prefix()).expect_partial();
          EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1.5f, 2.5f}));
          EXPECT_EQ(step, 7);
        } catch (const IoError&) {
          EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{0, 0}));
          EXPECT_EQ(step, 0);
        }
      }
    }
    directory_.write("x" + ending, bytes);
  }
}

TEST_F(TensorflowFiles, OfOthersThatAreHostileAreRefused) {
  const Variable a(0.0f);
  int refused = 0;
  for (const Json& sample : testing::samples_of("hostile/checkpoint")) {
    SCOPED_TRACE(sample.at("file"));
    if (sample.at("must") == "load") continue;
    const std::string error = message_of<IoError>([&] {
      Checkpoint({{"a", a}}).read_tensorflow(sample.at("path").get<std::string>());
    });
    EXPECT_TRUE(error.starts_with("read_tensorflow: ")) << error;
    ++refused;
  }
  EXPECT_GE(refused, 10);
}

TEST_F(TensorflowFiles, AreNotWrittenForModelsWithoutWeights) {
  const Sequential model({layers::Dense(2)});
  EXPECT_TRUE(contains(message_of<ValueError>([&] {
                         Checkpoint({{"model", model}}).write_tensorflow(prefix());
                       }),
                       "has no weights yet"));
  EXPECT_FALSE(std::filesystem::exists(prefix() + ".index"));
  const Variable a(0.0f);
  EXPECT_TRUE(contains(message_of<IoError>([&] { Checkpoint({{"a", a}}).write_tensorflow(prefix("no/x")); }), "no/x"));
}

}  // namespace
}  // namespace capstan
