// The callback TensorBoard, compared with the logs of Keras's.
#include "capstan/tensorboard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "capstan/capstan.h"
#include "tests/support/event_reader.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using io::TemporaryDirectory;
using testing::Json;
using testing::log_in;
using testing::message_of;
using testing::SteppedValue;
using testing::tags_of;
using testing::values_of;

using Tags = std::multiset<std::string>;

Tags sorted(const std::vector<std::string>& tags) { return {tags.begin(), tags.end()}; }

Sequential small_model(const std::string& name = "model") {
  Sequential model({layers::Dense(2, {.name = "dense", .input_shape = {2}}), layers::Dense(1, {.name = "head"})}, name);
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.01}), .loss = "mse", .metrics = {"mae"}});
  return model;
}

// Two steps in each epoch.
History trained(const Model& model, const Callback& callback, std::int64_t epochs = 2, bool has_validation = true) {
  const Tensor x = random::normal({8, 2}, 0.0, 1.0, float32, 1), y = reduce_sum(x, 1, {.keepdims = true});
  FitOptions options = {.batch_size = 4, .epochs = epochs, .verbose = 0, .callbacks = {callback}};
  if (has_validation) options.validation_data = ValidationData(x, y);
  return model.fit(x, y, options);
}

Tags tags_of_sample(const std::string& folder) {
  Tags tags;
  for (const Json& entry : testing::samples_of("events")) {
    if (entry.at("file").get<std::string>().find(folder + "/") != 0) continue;
    for (const Json& event : entry.at("events")) {
      for (const Json& value : event.value("values", Json::array()))
        tags.insert(value.at("tag").get<std::string>() + "@" + std::to_string(event.at("step").get<std::int64_t>()));
    }
  }
  EXPECT_FALSE(tags.empty()) << folder;
  return tags;
}

TEST(TensorBoard, WritesTheTagsOfKeras) {
  const TemporaryDirectory folder;
  const Sequential model = small_model();
  const History history =
      trained(model, callbacks::TensorBoard(folder.path(), {.histogram_freq = 1, .write_graph = false}));
  const auto train = values_of(log_in(folder.file("train")));
  EXPECT_EQ(sorted(tags_of(log_in(folder.file("train")))), tags_of_sample("keras_train"));
  EXPECT_EQ(sorted(tags_of(log_in(folder.file("validation")))), tags_of_sample("keras_validation"));
  for (const SteppedValue& value : train) {
    const auto step = static_cast<std::size_t>(value.step);
    if (value.tag == "epoch_loss") {
      EXPECT_EQ(value.numbers[0], static_cast<float>(history["loss"][step]));
    } else if (value.tag == "epoch_learning_rate") {
      EXPECT_EQ(value.numbers[0], 0.01f);
    } else if (value.plugin == "histograms") {
      EXPECT_EQ(value.shape, (std::vector<std::int64_t>{30, 3}));
    }
  }
  for (const SteppedValue& value : values_of(log_in(folder.file("validation")))) {
    if (value.tag == "epoch_mae") {
      EXPECT_EQ(value.numbers[0], static_cast<float>(history["val_mae"][static_cast<std::size_t>(value.step)]));
    }
  }
}

TEST(TensorBoard, WritesTheLayersOfAModel) {
  const TemporaryDirectory folder;
  trained(small_model(), callbacks::TensorBoard(folder.path()), 1, false);
  const auto values = values_of(log_in(folder.file("train")));
  EXPECT_EQ(sorted(tags_of(log_in(folder.file("train")))), tags_of_sample("keras_graph"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("validation")));
  const auto& graph = values.at(0);
  EXPECT_EQ(graph.tag, "keras");
  EXPECT_EQ(graph.plugin, "graph_keras_model");
  EXPECT_EQ(graph.plugin_content, "1");
  const Json json = Json::parse(graph.texts.at(0));
  EXPECT_EQ(json.at("class_name"), "Sequential");
  EXPECT_EQ(json.at("config").at("name"), "model");
  const Json& layers = json.at("config").at("layers");
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].at("class_name"), "Dense");
  EXPECT_EQ(layers[0].at("config").at("name"), "dense");
  EXPECT_EQ(layers[0].at("inbound_nodes"), Json::array());
  // The form in which TensorBoard looks for edges.
  EXPECT_EQ(layers[1].at("inbound_nodes")[0].at("args")[0][0].at("config").at("keras_history"), (Json{"dense", 0, 0}));
}

TEST(TensorBoard, WritesBatchesWhenAsked) {
  const auto tags = [](const callbacks::UpdateFrequency& frequency, bool steps_per_second) {
    const TemporaryDirectory folder;
    trained(small_model(),
            callbacks::TensorBoard(
                folder.path(),
                {.write_graph = false, .write_steps_per_second = steps_per_second, .update_freq = frequency}),
            2, false);
    Tags found = sorted(tags_of(log_in(folder.file("train"))));
    std::erase_if(found,
                  [](const std::string& tag) { return !tag.starts_with("batch_") && tag.find("second") == tag.npos; });
    return found;
  };
  EXPECT_EQ(tags("batch", false), (Tags{"batch_loss@1", "batch_loss@2", "batch_loss@3", "batch_loss@4", "batch_mae@1",
                                        "batch_mae@2", "batch_mae@3", "batch_mae@4"}));
  EXPECT_EQ(tags(3, true), (Tags{"batch_loss@3", "batch_mae@3", "batch_steps_per_second@3", "epoch_steps_per_second@0",
                                 "epoch_steps_per_second@1"}));
  EXPECT_EQ(tags("epoch", true), (Tags{"epoch_steps_per_second@0", "epoch_steps_per_second@1"}));
}

TEST(TensorBoard, WritesWeightsAsImages) {
  const TemporaryDirectory folder;
  Sequential model({layers::Conv2D(3, 2, {.name = "conv", .input_shape = {4, 4, 2}}), layers::Flatten(),
                    layers::Dense(5, {.name = "dense"}), layers::Dense(2, {.use_bias = false, .name = "head"})},
                   "model");
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(zeros({2, 4, 4, 2}), zeros({2, 2}),
            {.epochs = 3,
             .verbose = 0,
             .callbacks = {callbacks::TensorBoard(folder.path(), {.histogram_freq = 2, .write_images = true})}});
  std::map<std::string, std::vector<std::string>> sizes;  // width, height, number of images
  std::vector<std::int64_t> steps;
  for (const SteppedValue& value : values_of(log_in(folder.file("train")))) {
    if (value.plugin != "images") continue;
    sizes[value.tag] = {value.texts[0], value.texts[1], std::to_string(value.texts.size() - 2)};
    if (value.tag == "model/dense/bias/image") steps.push_back(value.step);
  }
  using Size = std::vector<std::string>;
  EXPECT_EQ(sizes["model/conv/kernel/image"], (Size{"2", "2", "2"}));    // [2, 2, 2, 3]: three colours
  EXPECT_EQ(sizes["model/conv/bias/image"], (Size{"1", "3", "1"}));      // [3] as [1, 3, 1, 1]
  EXPECT_EQ(sizes["model/dense/kernel/image"], (Size{"27", "5", "1"}));  // [27, 5] lies
  EXPECT_EQ(sizes["model/head/kernel/image"], (Size{"5", "2", "1"}));
  EXPECT_EQ(sizes.size(), 5u);
  EXPECT_EQ(steps, (std::vector<std::int64_t>{0, 2}));
}

TEST(TensorBoard, WritesTablesOfEmbeddings) {
  const TemporaryDirectory folder;
  Sequential model({layers::Embedding(4, 2, {.name = "words"}), layers::Flatten(), layers::Dense(1)}, "model");
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(zeros({2, 3}, int32), zeros({2, 1}),
            {.verbose = 0, .callbacks = {callbacks::TensorBoard(folder.path(), {.embeddings_freq = 1})}});
  EXPECT_TRUE(std::filesystem::exists(folder.file("train/projector_config.pbtxt")));
  const io::CsvTable table =
      io::read_csv(folder.file("train/words_2fembeddings.tsv"), {.header = false, .field_delim = "\t"});
  EXPECT_EQ(table.row_count(), 4);
  EXPECT_EQ(table.tensor("1").to_vector<float>(),
            model.layers()[0].weights()[0].value()(slice(), 1).to_vector<float>());
}

TEST(TensorBoard, ProfilesBatches) {
  const TemporaryDirectory folder;
  trained(small_model(), callbacks::TensorBoard(folder.path(), {.profile_batch = {2, 3}}));
  const std::string profiles = folder.file("train/plugins/profile");
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(profiles)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files[0].starts_with(profiles + "/batch_3/"));
  EXPECT_TRUE(files[0].ends_with(".trace.json.gz"));
  io::LineReader reader(files[0], {.compression = "GZIP"});
  std::string text;
  while (const auto line = reader.next()) text += *line;
  EXPECT_NE(text.find("traceEvents"), std::string::npos);
  EXPECT_NE(text.find("train_step"), std::string::npos) << text.substr(0, 500);
}

TEST(TensorBoard, AnEvaluationAloneIsWritten) {
  const TemporaryDirectory folder;
  const Sequential model = small_model();
  const callbacks::TensorBoard callback(folder.path());
  model.evaluate(zeros({4, 2}), zeros({4, 1}), {.verbose = 0, .callbacks = {callback}});
  EXPECT_EQ(sorted(tags_of(log_in(folder.file("validation")))),
            (Tags{"evaluation_loss_vs_iterations@0", "evaluation_mae_vs_iterations@0"}));
  EXPECT_FALSE(std::filesystem::exists(folder.file("train")));
}

TEST(TensorBoard, ASecondTrainingHasALogOfItsOwn) {
  const TemporaryDirectory folder;
  const Sequential model = small_model();
  const callbacks::TensorBoard callback(folder.path());
  trained(model, callback, 1, false);
  trained(model, callback, 1, false);
  std::int64_t logs = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.file("train"))) ++logs;
  EXPECT_EQ(logs, 2);
}

TEST(TensorBoard, OptionsAreChecked) {
  EXPECT_EQ(message_of<ValueError>([] { callbacks::UpdateFrequency("step"); }),
            "tensor_board: update_freq \"step\" is not \"batch\", \"epoch\" or a number of batches");
  EXPECT_THROW(callbacks::UpdateFrequency(0), ValueError);
  for (const std::vector<std::int64_t>& batches : {std::vector<std::int64_t>{0}, {3, 2}, {1, 2, 3}, {-1, 4}})
    EXPECT_THROW(callbacks::TensorBoard("x", {.profile_batch = batches}), ValueError);
  EXPECT_THROW(callbacks::TensorBoard("x", {.histogram_freq = -1}), ValueError);
  EXPECT_THROW(callbacks::TensorBoard("x", {.embeddings_freq = -1}), ValueError);
  EXPECT_FALSE(std::filesystem::exists("x"));
  const callbacks::TensorBoard callback("logs/run", {.update_freq = 5});
  const AttributeValue config = config_of(callback->class_info(), callback->options_data());
  EXPECT_EQ(config.find("log_dir")->text, "logs/run");
  EXPECT_EQ(config.find("update_freq")->integer, 5);
}

TEST(TensorBoard, AFolderThatCannotBeMadeIsAnError) {
  const TemporaryDirectory folder;
  const std::string file = folder.write("file", "");
  EXPECT_THROW(trained(small_model(), callbacks::TensorBoard(file)), IoError);
}

}  // namespace
}  // namespace capstan
