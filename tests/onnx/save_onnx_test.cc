// Functions and models as ONNX files, which are read again and give the same numbers.
#include <gtest/gtest.h>

#include <iterator>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "capstan/capstan.h"
#include "src/onnx/export.h"
#include "src/onnx/proto.h"
#include "tests/onnx/export_cases.h"
#include "tests/op_samples/sample_calls.h"
#include "tests/support/message_of.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_directory.h"

namespace capstan {
namespace {

using testing::message_of;
using Tensors = std::vector<Tensor>;

void expect_as_before(const Tensor& is, const Tensor& wanted, const std::string& what) {
  ASSERT_EQ(is.dtype(), wanted.dtype()) << what;
  ASSERT_EQ(is.shape(), wanted.shape()) << what;
  const std::vector<double> a = is.to_vector<double>(), b = wanted.to_vector<double>();
  double largest = 1;
  for (const double x : b) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    ASSERT_NEAR(a[i], b[i], 1e-5 * largest) << what << " " << i;
  }
}

onnx::GraphProto graph_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return onnx::read_model({"test", path}, bytes).graph;
}
int count_of(const onnx::GraphProto& graph, std::string_view op) {
  return static_cast<int>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const auto& n) { return n.op == op; }));
}

TEST(SaveOnnx, FilesGiveTheSameNumbersForEveryBatch) {
  const io::TemporaryDirectory folder;
  for (const testing::ExportCase& one : testing::export_cases()) {
    SCOPED_TRACE(one.name);
    const std::string path = folder.file(one.name + ".onnx");
    one.save(path);
    const OnnxModel model = load_onnx(path);
    for (const Tensors& x : one.inputs) {
      const Tensors is = model(x), wanted = one.run(x);
      ASSERT_EQ(is.size(), wanted.size());
      for (std::size_t i = 0; i < is.size(); ++i)
        expect_as_before(is[i], wanted[i], "batch " + std::to_string(x[0].dim(0)) + ", output " + std::to_string(i));
    }
  }
}

TEST(SaveOnnx, ControlFlowOfAFileCanBeTracedAndSavedAgain) {
  const io::TemporaryDirectory folder;
  for (const testing::ExportCase& one : testing::export_cases()) {
    if (one.name != "loops") continue;
    one.save(folder.file("first.onnx"));
    const OnnxModel model = load_onnx(folder.file("first.onnx"));
    const auto f = [&](const Tensors& x) { return model(x); };
    auto traced = function(f);
    save_onnx(folder.file("second.onnx"), f, {.inputs = {TensorSpec({5, 3}), TensorSpec({3, 3})}});
    const OnnxModel second = load_onnx(folder.file("second.onnx"));
    for (const Tensors& x : one.inputs) {
      const Tensors wanted = one.run(x), is = traced(x);
      ASSERT_EQ(is.size(), wanted.size());
      for (std::size_t i = 0; i < is.size(); ++i) expect_as_before(is[i], wanted[i], "output " + std::to_string(i));
      if (x[0].dim(0) != 5) continue;
      const Tensors again = second(x);
      for (std::size_t i = 0; i < again.size(); ++i)
        expect_as_before(again[i], wanted[i], "output " + std::to_string(i));
    }
    return;
  }
  FAIL() << "there is no such case";
}

TEST(SaveOnnx, EveryOpOfTheTableGivesTheSameNumbers) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("op.onnx");
  for (const std::string& op : onnx::exported_ops()) {
    int written = 0;
    for (const testing::SampleCall& one : testing::sample_calls(op)) {
      SCOPED_TRACE(one.name);
      std::vector<TensorSpec> specs;
      for (const Tensor& x : one.inputs) specs.emplace_back(x.shape(), x.dtype());
      try {
        save_onnx(path, [&](const Tensors& x) { return one.run(x); }, {.inputs = specs});
      } catch (const Error&) {
        continue;  // a form of the op that ONNX does not have
      }
      ++written;
      const Tensors is = load_onnx(path)(one.inputs), wanted = one.run(one.inputs);
      ASSERT_EQ(is.size(), wanted.size());
      for (std::size_t i = 0; i < is.size(); ++i) expect_as_before(is[i], wanted[i], "output " + std::to_string(i));
    }
    // Control flow has no samples, and those of the others read what only gradients do; functions and models have them.
    if (!has_op(op) || op == "read_variable" || op == "lstm" || op == "gru") continue;
    EXPECT_GT(written, 0) << op;
  }
}

TEST(SaveOnnx, NetworksOfConvolutionsHaveTransposesAtTheirEndsOnly) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("model.onnx");
  const Tensor x = Input({16, 16, 3});
  Tensor h = layers::Conv2D(4, {3, 3}, {.padding = "same"})(x);
  Tensor y = layers::BatchNormalization()(h);
  y = layers::Conv2D(4, {3, 3}, {.padding = "same"})(layers::Activation("swish")(y));
  h = layers::MaxPooling2D()(layers::Add()(Nest{h, y}));
  const Tensor gate =
      layers::Conv2D(4, {1, 1}, {.activation = "sigmoid"})(layers::GlobalAveragePooling2D({.keepdims = true})(h));
  h = layers::Multiply()(Nest{h, gate});
  const Tensor pooled = layers::Reshape({1, 1, 4})(layers::GlobalAveragePooling2D()(h));
  h = layers::Multiply()(Nest{h, layers::Conv2D(4, {1, 1}, {.activation = "sigmoid"})(pooled)});
  save_onnx(path, Model(x, h), {.dynamic_batch = true});
  EXPECT_EQ(count_of(graph_of(path), "Transpose"), 2);
  save_onnx(path, Model(x, layers::Dense(2)(layers::GlobalAveragePooling2D()(h))), {.dynamic_batch = true});
  EXPECT_EQ(count_of(graph_of(path), "Transpose"), 1);
}

TEST(SaveOnnx, InputsOutputsAndWeightsHaveNames) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("model.onnx");
  const Sequential model(
      {layers::Dense(3, {.name = "first", .input_shape = {4}}), layers::Dense(2, {.name = "second"})});
  save_onnx(path, model, {.dynamic_batch = true});
  OnnxModel read = load_onnx(path);
  EXPECT_EQ(read.inputs()[0].to_string(), "float32[?, 4] input");
  EXPECT_EQ(read.output_names(), std::vector<std::string>{"output"});
  EXPECT_EQ(read.opset(), 18);
  expect_as_before(read.variable(model.weights()[0].path()).value(), model.weights()[0].value(), "kernel");
  EXPECT_EQ(read.variables().size(), 4u);
  save_onnx(path, model, {.opset = 21, .input_names = {"x"}, .output_names = {"scores"}, .description = "two layers"});
  read = load_onnx(path);
  EXPECT_EQ(read.inputs()[0].to_string(), "float32[1, 4] x");
  EXPECT_EQ(read.output_names(), std::vector<std::string>{"scores"});
  EXPECT_EQ(read.opset(), 21);
}

TEST(SaveOnnx, ResultsMayBeInputsWeightsAndOneAnother) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("f.onnx");
  const Variable w({1.0f, 2.0f}, {.name = "w"});
  const auto f = [&](const Tensor& x) {
    const Tensor y = x + w.value();
    return std::vector<Tensor>{y, x, y, w.value(), constant({5.0f})};
  };
  save_onnx(path, f, {.inputs = {TensorSpec({-1, 2}, float32, "x")}});
  const Tensor x = constant({{3.0f, 4.0f}});
  const Tensors is = load_onnx(path)(Tensors{x}), wanted = f(x);
  for (std::size_t i = 0; i < wanted.size(); ++i) expect_as_before(is[i], wanted[i], std::to_string(i));
}

TEST(SaveOnnx, TakesFunctionsOfSeveralForms) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("f.onnx");
  const Tensor a = constant({1.0f, 2.0f}), b = constant({3.0f, 5.0f});
  auto traced = function([](const Tensor& x, const Tensor& y) {
    return std::map<std::string, Tensor>{{"p", x * y}, {"q", x - y}};
  });
  save_onnx(path, traced, {.inputs = {TensorSpec({2}), TensorSpec({2})}});
  const Tensors is = load_onnx(path)(Tensors{a, b});
  expect_as_before(is[0], a * b, "p");
  expect_as_before(is[1], a - b, "q");
  auto concrete = traced.get_concrete(TensorSpec({2}), TensorSpec({2}));
  save_onnx(path, concrete, {.inputs = {TensorSpec({2}), TensorSpec({2})}});
  expect_as_before(load_onnx(path)(Tensors{a, b})[1], a - b, "q");
  // What was read is written again.
  const OnnxModel model = load_onnx(path);
  save_onnx(folder.file("again.onnx"), model, {.inputs = {TensorSpec({2}), TensorSpec({2})}});
  expect_as_before(load_onnx(folder.file("again.onnx"))(Tensors{a, b})[0], a * b, "p");
}

TEST(SaveOnnx, FilesOfOtherToolsAreWrittenAgain) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("again.onnx");
  for (const testing::Json& entry : testing::samples_of("onnx")) {
    SCOPED_TRACE(entry.at("file").get<std::string>());
    const OnnxModel model = load_onnx(entry.at("path"));
    Tensors x;
    SaveOnnxOptions options;
    for (const TensorSpec& spec : model.inputs()) {
      x.push_back(testing::tensor_from_json(entry.at("inputs").at(spec.name)));
      options.inputs.push_back(TensorSpec(x.back().shape(), spec.dtype, spec.name));
    }
    options.output_names = model.output_names();
    save_onnx(path, model, options);
    const Tensors is = load_onnx(path)(x), wanted = model(x);
    for (std::size_t i = 0; i < wanted.size(); ++i) expect_as_before(is[i], wanted[i], std::to_string(i));
  }
}

TEST(SaveOnnx, InputsOfAModelAreInItsOrder) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("model.onnx");
  const Tensor a = Input({2}, {.name = "left"}), b = Input({2}, {.name = "right"});
  const Model model(Nest(std::map<std::string, Tensor>{{"z", a}, {"y", b}}), layers::Subtract()(Nest{a, b}));
  save_onnx(path, model);
  const Tensor one = constant({{1.0f, 2.0f}}), two = constant({{10.0f, 20.0f}});
  const OnnxModel read = load_onnx(path);
  Tensors x;
  for (const TensorSpec& spec : read.inputs()) x.push_back(spec.name == "left" ? one : two);
  expect_as_before(read(x)[0], one - two, "difference");
}

TEST(SaveOnnx, OpsThatCannotBeExportedAreListedInOneMessage) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("f.onnx");
  const auto f = [](const Tensor& x) { return lgamma(x) + digamma(x) + lgamma(x + 1); };
  const std::string text = message_of<ValueError>([&] { save_onnx(path, f, {.inputs = {TensorSpec({2})}}); });
  EXPECT_NE(text.find("these ops cannot be exported: digamma, lgamma (2 times)"), std::string::npos) << text;
  EXPECT_FALSE(std::filesystem::exists(path));
  const auto draws = [](const Tensor& x) { return x + random::uniform({2}); };
  EXPECT_NE(
      message_of<ValueError>([&] { save_onnx(path, draws, {.inputs = {TensorSpec({2})}}); }).find("random_uniform"),
      std::string::npos);
  // Also those within a loop.
  const auto loop = [](const Tensor& x) {
    return map_fn([](const Tensor& row) { return lgamma(row); }, x) +
           while_loop([](const Tensor& y) { return reduce_sum(y) > 0; }, [](const Tensor& y) { return digamma(y); }, x);
  };
  EXPECT_NE(
      message_of<ValueError>([&] { save_onnx(path, loop, {.inputs = {TensorSpec({2})}}); }).find("digamma, lgamma"),
      std::string::npos);
  const auto complex_numbers = [](const Tensor& x) { return real(cast(x, complex64) * 2); };
  EXPECT_NE(message_of<ValueError>([&] {
              save_onnx(path, complex_numbers, {.inputs = {TensorSpec({2})}});
            }).find("complex numbers cannot be exported"),
            std::string::npos);
}

TEST(SaveOnnx, WhatDependsOnAnOpenLengthNamesTheOp) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("f.onnx");
  const auto message = [&](const auto& f) {
    return message_of<ValueError>([&] { save_onnx(path, f, {.inputs = {TensorSpec({-1, 4})}}); });
  };
  EXPECT_NE(
      message([](const Tensor& x) { return x * std::sqrt(static_cast<double>(x.dim(0))); }).find("multiply: operand 1"),
      std::string::npos);
  EXPECT_NE(message([](const Tensor& x) { return roll(x, 1, 0); }).find("roll: it rolls an axis whose length is open"),
            std::string::npos);
  EXPECT_NE(
      message([](const Tensor& x) { return x(slice(0, x.dim(0) / 2)); }).find("getitem: its index depends on a length"),
      std::string::npos);
  EXPECT_NE(message([](const Tensor& x) { return x.dim(0) > 10 ? exp(x) : sin(x); }).find("op 0 is sin and exp"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SaveOnnx, ArgumentsAreChecked) {
  const io::TemporaryDirectory folder;
  const std::string path = folder.file("f.onnx");
  const auto f = [](const Tensor& x) { return x * 2; };
  const auto message = [&](const std::vector<TensorSpec>& specs, SaveOnnxOptions options) {
    options.inputs = specs;
    return message_of<ValueError>([&] { save_onnx(path, f, options); });
  };
  const auto says = [&](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  says(message({TensorSpec({2})}, {.opset = 17}), "opset 17 is not among those that are written, 18 to 24");
  says(message({TensorSpec({2}), TensorSpec({2})}, {}), "there are 2 inputs, and the function takes 1 tensors");
  says(message({TensorSpec(std::nullopt)}, {}), "the rank of input 0, float32[...], is open");
  says(message({TensorSpec({2})}, {.input_names = {"a", "b"}}), "there are 2 names for 1 inputs");
  says(message({TensorSpec({2})}, {.output_names = {"a", "b"}}), "there are 2 names for 1 outputs");
  says(message({TensorSpec({2}, float32, "x")}, {.output_names = {"x"}}), "two inputs or outputs are called \"x\"");
  const auto none = [](const std::vector<Tensor>&) { return constant(1.0f); };
  says(message_of<ValueError>([&] { save_onnx(path, none); }), "there are no inputs");
  const Variable count(0.0f, {.name = "count"});
  const auto counts = [&](const Tensor& x) {
    count.assign_add(1.0f);
    return x;
  };
  says(message_of<ValueError>([&] { save_onnx(path, counts, {.inputs = {TensorSpec({2})}}); }),
       "it assigns the variable \"count\"");
  const Sequential unbuilt({layers::Dense(2)});
  says(message_of<ValueError>([&] { save_onnx(path, unbuilt); }), "are not known");
  EXPECT_NE(message_of<IoError>([&] {
              save_onnx("/nowhere/f.onnx", f, {.inputs = {TensorSpec({2})}});
            }).find("/nowhere/f.onnx"),
            std::string::npos);
  auto inside = function([&](const Tensor& x) {
    save_onnx(path, [&](const Tensor& y) { return y * count.value(); }, {.inputs = {TensorSpec({2})}});
    return x;
  });
  EXPECT_NE(message_of<TraceError>([&] {
              inside(constant({1.0f, 2.0f}));
            }).find("called while a function is traced"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SaveOnnx, ThePageListsTheOpsOfTheTable) {
  std::ifstream file(std::string(CAPSTAN_SOURCE_DIR) + "/docs/onnx.md");
  std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  page = page.substr(page.find("<!-- exported ops: begin -->"),
                     page.find("<!-- exported ops: end -->") - page.find("<!-- exported ops: begin -->"));
  std::set<std::string> listed;
  for (std::size_t at = page.find('`'); at != std::string::npos; at = page.find('`', at + 1)) {
    const std::size_t begin = at + 1;
    at = page.find('`', begin);
    listed.insert(page.substr(begin, at - begin));
  }
  const std::vector<std::string> ops = onnx::exported_ops();
  EXPECT_EQ(listed, std::set<std::string>(ops.begin(), ops.end()));
}

}  // namespace
}  // namespace capstan
