// The pass over transposes: what becomes of small graphs, and random graphs before and after it.
#include "src/onnx/transposes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "capstan/onnx.h"
#include "capstan/ops/array.h"
#include "capstan/ops/random.h"
#include "tests/support/temporary_directory.h"

namespace capstan::onnx {
namespace {

using Order = std::vector<std::int64_t>;

// A graph under construction, of float32 values whose shapes are known.
class Sketch {
 public:
  Sketch() : maker(18) { maker.graph.name = "sketch"; }

  std::string input(const Shape& shape) {
    const std::string name = maker.fresh("input");
    maker.graph.inputs.push_back(
        {.name = name, .type = type_number(float32), .shape = Order(shape.begin(), shape.end())});
    maker.shapes[name] = shape;
    return name;
  }
  std::string weight(const Tensor& value) { return maker.add_tensor(value, "weight"); }
  std::string node(std::string_view op, std::vector<std::string> inputs, const Shape& shape,
                   std::vector<Attribute> attributes = {}) {
    std::string name = maker.add_node(op, std::move(inputs), std::move(attributes), 1, "value")[0];
    maker.shapes[name] = shape;
    return name;
  }
  std::string transpose(const std::string& x, const Order& order) {
    Shape shape;
    for (const std::int64_t axis : order) shape.push_back(maker.shapes.at(x)[static_cast<int>(axis)]);
    return node("Transpose", {x}, shape, {attribute("perm", order)});
  }
  void output(const std::string& name) { maker.graph.outputs.push_back({.name = name, .type = type_number(float32)}); }
  GraphProto sunk() const {
    GraphProto graph = maker.graph;
    sink_transposes(graph, maker.shapes);
    return graph;
  }

  GraphMaker maker;
};

// "Relu Transpose"
std::string ops_of(const GraphProto& graph) {
  std::string text;
  for (const NodeProto& node : graph.nodes) text += (text.empty() ? "" : " ") + node.op;
  return text;
}

std::vector<Tensor> run(GraphProto graph, const std::vector<Tensor>& inputs) {
  const io::TemporaryDirectory folder;
  // A name of its own for each output.
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string own = "output" + std::to_string(i);
    graph.nodes.push_back({.name = own, .op = "Identity", .inputs = {graph.outputs[i].name}, .outputs = {own}});
    graph.outputs[i].name = own;
  }
  ModelProto model{.opset = 18, .graph = std::move(graph)};
  write_model("test", folder.file("graph.onnx"), model);
  return load_onnx(folder.file("graph.onnx"), {.trainable = false})(inputs);
}

constexpr std::int64_t kHeight = 4, kWidth = 5, kChannels = 3;
const Order kToSecond = {0, 3, 1, 2}, kToLast = {0, 2, 3, 1};

TEST(Transposes, MeetTheirInverses) {
  Sketch s;
  const std::string x = s.input({2, kChannels, kHeight, kWidth});
  const std::string last = s.transpose(x, kToLast);
  const std::string y = s.node("Relu", {last}, {2, kHeight, kWidth, kChannels});
  const std::string z = s.node("Add", {y, s.weight(ones({kChannels}))}, {2, kHeight, kWidth, kChannels});
  s.output(s.node("Abs", {s.transpose(z, kToSecond)}, {2, kChannels, kHeight, kWidth}));
  const GraphProto graph = s.sunk();
  EXPECT_EQ(ops_of(graph), "Relu Add Abs");
  // The weight was read once, so it has another shape now, under its name.
  ASSERT_EQ(graph.initializers.size(), 1u);
  EXPECT_EQ(graph.initializers[0].first, "weight");
  EXPECT_EQ(graph.initializers[0].second.shape(), Shape({kChannels, 1, 1}));
}

TEST(Transposes, AreWrittenOnceBeforeWhatNeedsThem) {
  Sketch s;
  const std::string x = s.input({2, kChannels, kHeight, kWidth});
  const std::string last = s.transpose(x, kToLast);
  const std::string flat = s.weight(constant(Order{2, -1}, {2}));
  const Shape rows = {2, kChannels * kHeight * kWidth};
  s.output(s.node("Reshape", {last, flat}, rows));
  s.output(s.node("Reshape", {last, flat}, rows));
  s.output(
      s.node("ReduceMean", {last, s.weight(constant(Order{1, 2}, {2}))}, {2, kChannels}, {attribute("keepdims", 0)}));
  EXPECT_EQ(ops_of(s.sunk()), "Transpose Reshape Reshape ReduceMean");
}

TEST(Transposes, OfWeightsAreDoneAtOnce) {
  Sketch s;
  const std::string x = s.input({2, 3});
  const std::string turned = s.transpose(s.weight(ones({4, 3})), {1, 0});
  s.output(s.node("MatMul", {x, turned}, {2, 4}));
  const GraphProto graph = s.sunk();
  EXPECT_EQ(ops_of(graph), "MatMul");
  EXPECT_EQ(graph.initializers[0].second.shape(), Shape({3, 4}));
}

// A graph of random operators that the pass knows, with transposes between them.
Sketch random_sketch(std::mt19937& random, const std::vector<Shape>& inputs) {
  Sketch s;
  std::vector<std::string> values;
  for (const Shape& shape : inputs) values.push_back(s.input(shape));
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const auto list = [&](Order numbers) {
    const auto size = static_cast<std::int64_t>(numbers.size());
    return s.maker.add_tensor(constant(numbers, {size}), "numbers");
  };
  for (int step = 0; step < 14; ++step) {
    const std::string x =
        values[values.size() - 1 - static_cast<std::size_t>(below(std::min<std::int64_t>(3, std::ssize(values))))];
    Shape shape = s.maker.shapes.at(x);
    const auto rank = static_cast<std::int64_t>(shape.rank());
    const auto axis = static_cast<int>(below(std::max<std::int64_t>(rank, 1)));
    std::string y;
    switch (below(10)) {
      case 0:
      case 1:
      case 2: {
        Order order(static_cast<std::size_t>(rank));
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        y = s.transpose(x, order);
        break;
      }
      case 3:
        y = s.node("Tanh", {x}, shape);
        break;
      case 4: {  // with a weight of the last axes, or with another value of this shape
        std::string other;
        for (const std::string& value : values) {
          if (value != x && s.maker.shapes.at(value) == shape && below(2) == 0) other = value;
        }
        if (other.empty()) {
          Shape part;
          for (auto i = static_cast<int>(below(rank + 1)); i < rank; ++i) part.push_back(below(3) == 0 ? 1 : shape[i]);
          other = s.weight(random::uniform(part, -1, 1, float32, random()));
        }
        y = s.node(below(2) == 0 ? "Mul" : "Add", below(2) == 0 ? std::vector{x, other} : std::vector{other, x}, shape);
        break;
      }
      case 5: {
        if (rank < 2) continue;
        const bool keeps = below(2) == 0;
        Shape reduced;
        for (int i = 0; i < rank; ++i) {
          if (i != axis) reduced.push_back(shape[i]);
          if (i == axis && keeps) reduced.push_back(1);
        }
        y = s.node("ReduceMean", {x, list({axis - (below(2) == 0 ? rank : 0)})}, reduced,
                   {attribute("keepdims", keeps ? 1 : 0)});
        break;
      }
      case 6:
        if (rank == 0) continue;
        y = s.node("Softmax", {x}, shape, {attribute("axis", axis)});
        break;
      case 7: {
        if (rank == 0 || shape[axis] > 12) continue;
        Order pads(static_cast<std::size_t>(2 * rank));
        pads[static_cast<std::size_t>(axis)] = 1;
        pads[static_cast<std::size_t>(axis + rank)] = 2;
        shape.set(axis, shape[axis] + 3);
        const std::string wide = s.node("Pad", {x, list(pads)}, shape);
        shape.set(axis, shape[axis] - 1);
        y = s.node("Slice", {wide, list({1}), list({9999}), list({axis})}, shape);
        break;
      }
      case 8: {
        if (rank == 4) continue;
        const auto place = static_cast<int>(below(rank + 1));
        Shape longer;
        for (int i = 0; i <= rank; ++i) longer.push_back(i == place ? 1 : shape[i < place ? i : i - 1]);
        y = s.node("Unsqueeze", {x, list({place})}, longer);
        break;
      }
      default: {
        if (rank < 2 || shape[axis] != 1) continue;
        Shape shorter;
        for (int i = 0; i < rank; ++i) {
          if (i != axis) shorter.push_back(shape[i]);
        }
        y = s.node("Squeeze", {x, list({axis})}, shorter);
        break;
      }
    }
    values.push_back(y);
  }
  for (const std::string& value : {values.back(), values[values.size() / 2]}) {
    if (value.rfind("input", 0) != 0) s.output(value);
  }
  return s;
}

TEST(Transposes, RandomGraphsGiveTheSameNumbers) {
  const std::vector<Shape> shapes = {{2, 3, 4}, {3, 1, 2, 4}};
  int before = 0, after = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const Sketch s = random_sketch(random, shapes);
    if (s.maker.graph.outputs.empty()) continue;
    const GraphProto sunk = s.sunk();
    std::vector<Tensor> x;
    for (const Shape& shape : shapes) x.push_back(random::uniform(shape, -1, 1, float32, seed));
    const std::vector<Tensor> wanted = run(s.maker.graph, x), is = run(sunk, x);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(is[i].shape(), wanted[i].shape());
      const std::vector<float> a = is[i].to_vector<float>(), b = wanted[i].to_vector<float>();
      for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-5) << i;
    }
    const auto is_transpose = [](const NodeProto& node) { return node.op == "Transpose"; };
    before += static_cast<int>(std::count_if(s.maker.graph.nodes.begin(), s.maker.graph.nodes.end(), is_transpose));
    after += static_cast<int>(std::count_if(sunk.nodes.begin(), sunk.nodes.end(), is_transpose));
  }
  EXPECT_LT(2 * after, before);
}

}  // namespace
}  // namespace capstan::onnx
