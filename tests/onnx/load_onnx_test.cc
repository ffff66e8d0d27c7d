// ONNX files of other tools, as functions whose weights are variables.
#include "capstan/onnx.h"

#include <gtest/gtest.h>

#include <iterator>
#include <algorithm>
#include <cmath>
#include <fstream>

#include "capstan/function.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "capstan/tape.h"
#include "capstan/vectorized_map.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using testing::Json;
using testing::message_of;
using testing::sample_path;
using testing::samples_of;

std::vector<Tensor> inputs_of(const OnnxModel& model, const Json& entry) {
  std::vector<Tensor> inputs;
  for (const TensorSpec& spec : model.inputs()) {
    inputs.push_back(testing::tensor_from_json(entry.at("inputs").at(spec.name)));
  }
  return inputs;
}

void expect_as_the_reference(const Tensor& is, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(is.dtype(), wanted.dtype()) << what;
  ASSERT_EQ(is.shape(), wanted.shape()) << what;
  const std::vector<double> a = is.to_vector<double>(), b = wanted.to_vector<double>();
  double largest = 1;
  for (const double x : b) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-5 * largest) << what << " " << i;
}

void expect_outputs(const OnnxModel& model, const std::vector<Tensor>& outputs, const Json& entry) {
  ASSERT_EQ(outputs.size(), model.output_names().size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = model.output_names()[i];
    expect_as_the_reference(outputs[i], testing::tensor_from_json(entry.at("outputs").at(name)),
                            entry.at("file").get<std::string>() + " " + name);
  }
}

TEST(LoadOnnx, SamplesGiveWhatOnnxruntimeGives) {
  for (const Json& entry : samples_of("onnx")) {
    const OnnxModel model = load_onnx(entry.at("path"));
    EXPECT_EQ(model.opset(), entry.at("opset").get<std::int64_t>());
    expect_outputs(model, model(inputs_of(model, entry)), entry);
  }
}

TEST(LoadOnnx, SamplesAreTheSameAsTracedFunctionsAndWithConstants) {
  for (const Json& entry : samples_of("onnx")) {
    const OnnxModel model = load_onnx(entry.at("path"), {.trainable = false});
    EXPECT_TRUE(model.variables().empty());
    auto f = function([&](const std::vector<Tensor>& inputs) { return model(inputs); });
    expect_outputs(model, f(inputs_of(model, entry)), entry);
  }
}

TEST(LoadOnnx, DamagedFilesAreRefusedWithTheFileAndTheReason) {
  for (const Json& entry : samples_of("hostile/onnx")) {
    const std::string path = entry.at("path");
    try {
      load_onnx(path);
      ADD_FAILURE() << path << " was read: " << entry.at("reason");
    } catch (const IoError& error) {
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
  }
  const auto message = [](const std::string& file) {
    return message_of<IoError>([&] { load_onnx(sample_path("hostile/onnx/" + file)); });
  };
  EXPECT_NE(message("op_unknown.onnx").find("not supported in opset 18: \"Frobnicate\""), std::string::npos);
  EXPECT_NE(message("cycle.onnx").find("there is a cycle"), std::string::npos);
  EXPECT_NE(message("input_unknown.onnx").find("\"nowhere\", which nothing makes"), std::string::npos);
  EXPECT_NE(message("raw_data_short.onnx").find("4 elements of 4 bytes, but has 12 bytes"), std::string::npos);
  EXPECT_NE(message("dims_huge.onnx").find("lengths that no tensor can have"), std::string::npos);
  EXPECT_NE(message("external_path.onnx").find("elements in another file"), std::string::npos);
  EXPECT_NE(message("deep_subgraphs.onnx").find("nested more than 16 deep"), std::string::npos);
}

TEST(LoadOnnx, WeightsTrain) {
  const OnnxModel model = load_onnx(sample_path("onnx/cnn.onnx"));
  const Tensor x = ones({2, 1, 6, 6});
  const auto loss = [&] { return reduce_sum(square(model(x))); };
  const float before = loss().item<float>();
  auto step = function([&](const Tensor& images) {
    GradientTape tape;
    const Tensor y = reduce_sum(square(model(images)));
    const std::vector<Tensor> gradients = tape.gradient(y, model.trainable_variables());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (gradients[i].has_value()) model.trainable_variables()[i].assign_sub(1e-4 * gradients[i]);
    }
    return y;
  });
  step(x);
  EXPECT_LT(loss().item<float>(), before);
  EXPECT_EQ(model.variable("k").shape()[2], 1);  // [height, width, in, out]
}

TEST(LoadOnnx, MapsOverModels) {
  const OnnxModel model = load_onnx(sample_path("onnx/mlp.onnx"));
  const Tensor x = constant(std::vector<float>(24, 0.5f), {2, 3, 4});
  const Tensor mapped = vectorized_map([&](const Tensor& row) { return model(row); }, x);
  expect_as_the_reference(mapped[0], model(x[0]), "row 0");
}

TEST(LoadOnnx, CallsAreChecked) {
  const OnnxModel model = load_onnx(sample_path("onnx/mlp.onnx"));
  EXPECT_NE(message_of<ValueError>([&] { model(std::vector<Tensor>{}); }).find("called with 0 inputs, but it takes 1"),
            std::string::npos);
  EXPECT_NE(message_of<DTypeError>([&] {
              model(zeros({3, 4}, int32));
            }).find("is int32[3, 4], but should be float32"),
            std::string::npos);
  EXPECT_NE(message_of<ShapeError>([&] { model(zeros({3})); }).find("is float32[3], but should be"), std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] { model(Tensor()); }).find("\"x\" is an empty handle"), std::string::npos);
  EXPECT_NE(message_of<ValueError>([&] { model.variable("none"); }).find("no weight \"none\""), std::string::npos);
  EXPECT_NE(message_of<IoError>([] { load_onnx("/nowhere.onnx"); }).find("/nowhere.onnx"), std::string::npos);
}

// Every cut of a file, and every byte changed, is an error or a model, and nothing else.
TEST(LoadOnnx, AnyDamageIsAnErrorOrAModel) {
  std::ifstream file(sample_path("onnx/transformer_block.onnx"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const io::TemporaryDirectory folder;
  const std::string path = folder.path() + "/damaged.onnx";
  const auto attempt = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    try {
      load_onnx(path);
    } catch (const IoError&) {
    }
  };
  for (std::size_t at = 0; at < whole.size(); at += 17) {
    attempt(whole.substr(0, at));
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x81);
    attempt(changed);
  }
}

}  // namespace
}  // namespace capstan
