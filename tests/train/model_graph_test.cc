// Pictures of models: their nodes, edges and labels.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "capstan/capstan.h"

namespace capstan::testing {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

Model two_inputs() {
  const Tensor a = Input({3}, {.name = "a"}), b = Input({3}, {.name = "b"});
  const layers::Dense shared(4, {.name = "shared"});
  const Sequential inner({layers::Dense(3, {.name = "up"}), layers::Dense(2, {.name = "down"})}, "inner");
  return Model({a, b}, inner(layers::Concatenate({.name = "both"})({shared(a), shared(b)})), "two");
}

TEST(ModelGraph, OfAChain) {
  const Sequential model({layers::Dense(4, {.name = "first", .input_shape = {3}}), layers::Dense(1, {.name = "last"})});
  const std::string dot = model_to_dot(model, {.show_shapes = true, .show_layer_names = true});
  EXPECT_TRUE(has(dot, "n0 [label=\"first (Dense)\nOutput shape: (None, 4)\"]")) << dot;
  EXPECT_TRUE(has(dot, "n1 [label=\"last (Dense)\nOutput shape: (None, 1)\"]")) << dot;
  EXPECT_TRUE(has(dot, "n0 -> n1;")) << dot;
  EXPECT_EQ(count(dot, "->"), 1);
  const std::string svg = model_to_svg(model);
  EXPECT_EQ(count(svg, "marker-end"), 1);
  EXPECT_EQ(count(svg, ">Dense</text>"), 2);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(ModelGraph, OfSharedLayersAndModelsInside) {
  const Model model = two_inputs();
  // a, b, shared, both, inner; a and b lead to shared, which leads to both once.
  const std::string dot = model_to_dot(model, {.show_layer_names = true});
  EXPECT_EQ(count(dot, "[label="), 5) << dot;
  EXPECT_EQ(count(dot, "->"), 4) << dot;
  EXPECT_TRUE(has(dot, "inner (Sequential)"));
  const std::string expanded = model_to_dot(model, {.show_layer_names = true, .expand_nested = true});
  EXPECT_EQ(count(expanded, "[label="), 6) << expanded;
  EXPECT_EQ(count(expanded, "->"), 5) << expanded;
  EXPECT_TRUE(has(expanded, "subgraph cluster_0 {\n  label=\"inner\";")) << expanded;
  EXPECT_TRUE(has(model_to_dot(model, {.rankdir = "LR"}), "rankdir=LR"));
}

TEST(ModelGraph, NodesHaveNamesAndInputs) {
  std::string text;
  for (const GraphNode& node : model_nodes(two_inputs())) {
    text += node.name + " " + node.op + ":";
    for (const std::string& input : node.inputs) text += " " + input;
    text += "\n";
  }
  EXPECT_EQ(text,
            "a InputLayer:\nb InputLayer:\nshared Dense: a b\nboth Concatenate: shared\ninner/up Dense: both\n"
            "inner/down Dense: inner/up\n");
  const Sequential model({layers::Dense(4, {.name = "first", .input_shape = {3}})});
  EXPECT_EQ(model_nodes(model).at(0).outputs, std::vector<std::string>{"(None, 4)"});
}

// The number after a key of the k-th element that begins so.
double number(const std::string& text, const std::string& element, std::size_t k, const std::string& key) {
  std::size_t at = text.find(element);
  for (std::size_t i = 0; i < k; ++i) at = text.find(element, at + 1);
  return std::stod(text.substr(text.find(key + "=\"", at) + key.size() + 2));
}

TEST(ModelGraph, BoxesDoNotOverlapAndLieInTheImage) {
  for (const char* direction : {"TB", "LR"}) {
    const std::string svg = model_to_svg(two_inputs(), {.show_shapes = true, .rankdir = direction});
    const double width = number(svg, "<svg", 0, "width"), height = number(svg, "<svg", 0, "height");
    struct Box {
      double x, y, width, height;
    };
    std::vector<Box> boxes;
    for (std::size_t i = 0; i < 5; ++i) {
      boxes.push_back({number(svg, "<rect x", i, "x"), number(svg, "<rect x", i, "y"),
                       number(svg, "<rect x", i, "width"), number(svg, "<rect x", i, "height")});
      EXPECT_GE(boxes[i].x, 0);
      EXPECT_GE(boxes[i].y, 0);
      EXPECT_LE(boxes[i].x + boxes[i].width, width);
      EXPECT_LE(boxes[i].y + boxes[i].height, height);
      for (std::size_t j = 0; j < i; ++j) {
        const bool apart = boxes[j].x + boxes[j].width < boxes[i].x || boxes[i].x + boxes[i].width < boxes[j].x ||
                           boxes[j].y + boxes[j].height < boxes[i].y || boxes[i].y + boxes[i].height < boxes[j].y;
        EXPECT_TRUE(apart) << direction << ": " << i << " and " << j;
      }
    }
  }
}

TEST(ModelGraph, OfAModelOfAnotherClassIsOneNode) {
  struct Body : ModelBody {
    Tensor call(const Tensor& x, const CallOptions&) override { return inner(x); }
    layers::Dense inner{2};
  };
  const ModelOf<Body> model;
  EXPECT_EQ(count(model_to_dot(model), "[label="), 1);
  EXPECT_EQ(count(model_to_dot(Sequential()), "[label="), 1);
  EXPECT_THROW((void)model_to_dot(model, {.rankdir = "RL"}), ValueError);
  EXPECT_THROW((void)model_to_svg(model, {.rankdir = "up"}), ValueError);
}

TEST(ModelGraph, EscapesNames) {
  const Sequential model({layers::Dense(1, {.name = "a\"<b>&\\"})});
  EXPECT_TRUE(has(model_to_dot(model, {.show_layer_names = true}), "a\\\"<b>&\\\\ (Dense)"));
  EXPECT_TRUE(has(model_to_svg(model, {.show_layer_names = true}), "a&quot;&lt;b&gt;&amp;\\ (Dense)"));
}

TEST(SourceInputs, AreFoundOnceAndNamed) {
  const Tensor a = Input({2}, {.name = "a"}), b = Input({2}, {.name = "b"}), c = Input({2}, {.name = "c"});
  const Tensor h = layers::Add({.name = "sum"})({a, b});
  EXPECT_EQ(layer_name_of(h), "sum");
  EXPECT_EQ(layer_name_of(ones({2})), "");
  std::vector<std::string> names;
  for (const Tensor& source : get_source_inputs(Nest{layers::Multiply()({h, a}), h})) {
    names.push_back(layer_name_of(source));
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(get_source_inputs(c).size(), 1u);
  EXPECT_TRUE(get_source_inputs(ones({2})).empty());
  const std::vector<Tensor> sources = get_source_inputs(h);
  const Model model(Nest(sources), h);
  EXPECT_EQ(model({ones({1, 2}), ones({1, 2})}).tensor().to_vector<float>(), (std::vector<float>{2, 2}));
}

}  // namespace
}  // namespace capstan::testing
