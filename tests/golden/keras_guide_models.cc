// Models of Keras's guides: summaries, layers of one's own, masks, functional models, mixed precision.
#include <algorithm>
#include <cmath>

#include "src/train/layer_state.h"
#include "tests/golden/keras_guides.h"

namespace capstan::testing {

namespace {

Tolerance both(const Json& one) {
  const double tolerance = one.value("tolerance", 1e-4);
  return {tolerance, tolerance};
}

constexpr const char* kNested =
    "Sequential model [base, Dense 2 'head'], base = Sequential [Dense 5, BatchNormalization, ReLU] of input 4";

Model nested_model(bool is_frozen) {
  const Sequential base({layers::Dense(5, {.name = "dense", .input_shape = {4}}),
                         layers::BatchNormalization({.name = "batch_normalization"}), layers::ReLU({.name = "re_lu"})},
                        "base");
  const Sequential model({base, layers::Dense(2, {.name = "head"})}, "model");
  model(zeros({1, 4}));
  if (is_frozen) base.set_trainable(false);
  return model;
}

Model graph_model() {
  const Tensor a = Input({4}, {.name = "a"}), b = Input({2}, {.name = "b"});
  const layers::Dense shared(3, {.name = "a_shared_layer_with_a_very_long_name"});
  const Tensor up = layers::Dense(4, {.name = "up"})(b);
  const Tensor joined = layers::Concatenate({.name = "cat"})(Nest::list({shared(a), shared(up)}));
  return Model(Nest::list({a, b}), Nest::list({joined, layers::Dense(1, {.name = "second"})(b)}), "graph");
}

}  // namespace

void run_guide_summary(const Json& one) {
  const std::string name = one.at("name"), words = one.at("words");
  Model model;
  if (words.starts_with(kNested)) {
    // The base is frozen from that case on.
    const std::vector<std::string> before = {"summary/nested", "summary/nested_expanded"};
    const bool is_frozen = std::find(before.begin(), before.end(), name) == before.end();
    model = nested_model(is_frozen);
    const std::string what = words.substr(std::string(kNested).size());
    if (what.starts_with("; compiled with adam")) model.compile({.optimizer = "adam", .loss = "mse"});
    if (what == "; compiled with adam, trained") model.fit(ones({4, 4}), ones({4, 2}), {.verbose = 0});
  } else if (name == "summary/big") {
    throw Lacking{"its weights take 1.5 GB"};
  } else if (name.starts_with("summary/subclassed")) {
    throw Lacking{"layers without weights are built by their first call; lengths of batches are shown as open"};
  } else if (name.starts_with("summary/functional")) {
    model = graph_model();
  } else if (name == "summary/mixed") {
    const DTypePolicy policy = dtype_of("mixed_float16");
    model = Sequential({layers::Dense(2, {.input_shape = {3}, .dtype = policy}), layers::Activation("linear")}, "m");
  } else {
    ASSERT_EQ(words, "Sequential of input 3 in float64: Dense 2");
    model = Sequential({layers::Dense(2, {.name = "d64", .input_shape = {3}, .dtype = float64})}, "m64");
  }
  const Json& options = one.at("options");
  SummaryOptions summary{.line_length = options.at("line_length").get<int>(),
                         .show_trainable = options.value("show_trainable", false),
                         .expand_nested = options.value("expand_nested", false),
                         .positions = options.value("positions", std::vector<double>())};
  if (options.contains("layer_range"))
    summary.layer_range.emplace(options["layer_range"][0], options["layer_range"][1]);
  EXPECT_EQ(model.summary(summary), one.at("text").get<std::string>());
}

namespace {

struct Linear : LayerBody {
  Linear(std::int64_t width, const std::string& name, const DTypePolicy& dtype)
      : LayerBody({.name = name, .dtype = dtype}), units(width) {}
  void build(const Shape& shape) override {
    w = add_weight({.name = "w", .shape = {shape[-1], units}, .regularizer = regularizers::L2(0.0625)});
    b = add_weight({.name = "b", .shape = {units}});
  }
  Tensor call(const Tensor& x, const CallOptions&) override { return matmul(x, w) + b; }
  std::int64_t units;
  Variable w, b;
};

struct SizePenalty : LayerBody {
  explicit SizePenalty(const DTypePolicy& dtype) : LayerBody({.dtype = dtype}) {}
  Tensor call(const Tensor& x, const CallOptions&) override {
    add_loss(0.25 * reduce_mean(square(x)));
    return x;
  }
};

struct Block : LayerBody {
  explicit Block(const DTypePolicy& dtype)
      : LayerBody({.name = "block", .dtype = dtype}),
        first(4, "linear", dtype),
        second(2, "linear_1", dtype),
        penalty(dtype) {}
  Tensor call(const Tensor& x, const CallOptions&) override { return penalty(second(relu(first(x)))); }
  LayerOf<Linear> first, second;
  LayerOf<SizePenalty> penalty;
};

void run_nested(const Json& one) {
  const LayerOf<Block> block(dtype_of(one.at("dtype")));
  EXPECT_EQ(block.weights().size(), one.at("before_first_call").at("weights").get<std::size_t>());
  EXPECT_EQ(block.is_built(), one["before_first_call"].at("built").get<bool>());
  const Tensor x = tensor_from_json(one.at("x"));
  block(x);
  const Json& weights = one.at("weights");
  ASSERT_EQ(block.weights().size(), weights.size());
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(block.weights()[i].path(), weights[i].at("path").get<std::string>());
    EXPECT_EQ(block.weights()[i].trainable(), weights[i].at("trainable").get<bool>());
    values.push_back(tensor_from_json(weights[i].at("value")));
  }
  block.set_weights(values);
  expect_close(block(x), one.at("output"), "output", both(one));
  for (const char* when : {"losses", "losses_after_call_with_2x"}) {
    if (std::string(when) != "losses") block(2 * x);
    const std::vector<Tensor> losses = block.losses();
    std::vector<double> numbers;
    for (const Tensor& loss : losses) numbers.push_back(loss.item<double>());
    expect_numbers(numbers, one.at(when), both(one).relative, when);
  }
  throw Lacking{"a layer without a table of options has no configuration"};
}

struct ComputeSum : LayerBody {
  explicit ComputeSum(const DTypePolicy& dtype) : LayerBody({.name = "compute_sum", .dtype = dtype}) {}
  void build(const Shape& shape) override {
    total = add_weight({.name = "total", .shape = {shape[-1]}, .initializer = "zeros", .trainable = false});
  }
  Tensor call(const Tensor& x, const CallOptions&) override {
    total.assign_add(reduce_sum(x, 0));
    return total.value();
  }
  Variable total;
};

void run_state(const Json& one) {
  const LayerOf<ComputeSum> sum(dtype_of(one.at("dtype")));
  const Tensor x = tensor_from_json(one.at("x"));
  for (const Json& want : one.at("outputs")) expect_close(sum(x), want, "total", both(one));
  EXPECT_EQ(sum.trainable_variables().size(), one.at("trainable").size());
  ASSERT_EQ(one.at("non_trainable").size(), 1U);
  EXPECT_EQ(sum.weights()[0].path(), one["non_trainable"][0].get<std::string>());
}

struct Switch : LayerBody {
  Tensor call(const Tensor& x, const CallOptions& options) override { return options.training ? 2 * x : x; }
};
struct Outer : LayerBody {
  Tensor call(const Tensor& x, const CallOptions&) override { return inner(x) + 1; }
  LayerOf<Switch> inner;
};

void run_training(const Json& one) {
  const Tensor x = tensor_from_json(one.at("x")), input = Input({2});
  const LayerOf<Outer> outer;
  const Model model(input, outer(input)), trained(input, outer(input, {.training = true}));
  const std::map<std::string, Tensor> got = {
      {"Outer(x)", outer(x)},
      {"Outer(x, training=True)", outer(x, {.training = true})},
      {"Outer(x, training=False)", outer(x, {.training = false})},
      {"model(x)", model(x)},
      {"model(x, training=True)", model(x, {.training = true})},
      {"model whose Outer was called with training=True: model(x)", trained(x)},
      {"the same, model(x, training=False)", trained(x, {.training = false})},
      {"model.predict(x)", model.predict(x)},
  };
  EXPECT_EQ(got.size(), one.at("results").size());
  for (const auto& [what, want] : one["results"].items()) {
    ASSERT_TRUE(got.contains(what)) << what;
    expect_close(got.at(what), want, what);
  }
}

}  // namespace

void run_guide_layer(const Json& one) {
  const std::string name = one.at("name");
  if (name.starts_with("layers/nested_weights_and_losses")) return run_nested(one);
  if (name.starts_with("layers/state")) return run_state(one);
  if (name == "layers/training_reaches_inner_layers") return run_training(one);
  if (name.starts_with("layers/endpoint")) throw Lacking{"metrics belong to models, not to layers"};
  throw Lacking{"float16 is left out"};
}

void run_guide_masking(const Json& one) {
  if (one.contains("results")) throw Lacking{"its layers are told in words"};
  const Model model = make_model(one.at("model"), one.at("dtype"), "model");
  set_weights(model, one.at("initial_weights"));
  model.compile(compile_options(one.at("compile")));
  const Nest x = nest_from_json(one.at("x")), y = nest_from_json(one.at("y"));
  const Nest weight = nest_from_json(one.at("sample_weight"));
  for (const char* way : {"plain", "sample_weight"}) {
    const bool is_weighted = std::string(way) == "sample_weight";
    const Evaluation found = model.evaluate(x, y, {.sample_weight = is_weighted ? weight : Nest()});
    const Json& want = one.at("evaluate").at(way);
    expect_numbers({found.loss, found["mae"], found["mse"]}, {want.at("loss"), want.at("mae"), want.at("mse")},
                   both(one).relative, way);
  }
  const History history = model.fit(x, y,
                                    {.batch_size = one.at("fit").at("batch_size"),
                                     .epochs = one["fit"].at("epochs"),
                                     .verbose = 0,
                                     .shuffle = false});
  expect_history(history, one);
  expect_weights(model, one.at("final_weights"), "after fit", both(one));
}

namespace {

void expect_layers(const Model& model, const Json& want) {
  ASSERT_EQ(model.layers().size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(model.layers()[i].name(), want[i][0].get<std::string>());
    EXPECT_EQ(model.layers()[i].type_name(), want[i][1].get<std::string>());
    if (want[i].size() < 3) continue;
    std::string shape = "(None";
    for (std::size_t k = 1; k < want[i][2].size(); ++k) shape += ", " + want[i][2][k].dump();
    EXPECT_EQ(detail::output_shape_text(detail::LayerState::of(model.layers()[i])), shape + ")") << want[i][0];
  }
}

// The model, and one that gives what its "add" does.
std::pair<Model, Model> resnet(const DTypePolicy& dtype) {
  const auto convolution = [&](const char* name, const char* padding) {
    return layers::Conv2D(4, {3, 3}, {.padding = padding, .activation = "relu", .name = name, .dtype = dtype});
  };
  const Tensor image = Input({8, 8, 2}, {.dtype = dtype.compute_dtype(), .name = "img"});
  const Tensor pooled = layers::MaxPooling2D({2, 2}, {.name = "p1", .dtype = dtype})(convolution("c1", "valid")(image));
  const Tensor block = convolution("c3", "same")(convolution("c2", "same")(pooled));
  const Tensor sum = layers::Add({.name = "add", .dtype = dtype})(Nest::list({block, pooled}));
  const Tensor mean = layers::GlobalAveragePooling2D({.name = "gap", .dtype = dtype})(sum);
  return {Model(image, layers::Dense(3, {.name = "out", .dtype = dtype})(mean)), Model(image, sum)};
}

Model ensemble(const DTypePolicy& dtype) {
  std::vector<Model> members;
  for (int i = 0; i < 3; ++i) {
    const Tensor input = Input({3}, {.dtype = dtype.compute_dtype()});
    members.emplace_back(input, layers::Dense(1, {.name = "d", .dtype = dtype})(input));
  }
  const Tensor input = Input({3}, {.dtype = dtype.compute_dtype()});
  std::vector<Nest> outputs;
  for (const Model& member : members) outputs.emplace_back(member(input));
  return Model(input, layers::Average({.dtype = dtype})(Nest::list(std::move(outputs))));
}

}  // namespace

void run_guide_functional(const Json& one) {
  const std::string name = one.at("name");
  if (name.starts_with("functional/shared_nested")) throw Lacking{"ops between layers are not part of a model"};
  const DTypePolicy dtype = dtype_of(one.at("dtype"));
  const bool is_resnet = name.starts_with("functional/toy_resnet");
  const auto [model, part] = is_resnet ? resnet(dtype) : std::pair(ensemble(dtype), Model());
  if (one.contains("layers")) expect_layers(model, one["layers"]);
  set_weights(model, one.at("weights"));
  const Tensor x = tensor_from_json(one.at("inputs")[0]);
  expect_close(model(x), one.at("outputs"), name, both(one));
  if (one.contains("output_of_add")) expect_close(part(x), one["output_of_add"], "add", both(one));
}

void run_guide_precision(const Json& one) {
  if (one.contains("rows")) throw Lacking{"float16 is left out"};
  if (one.value("policy", "") == "mixed_float16") throw Lacking{"float16 is left out"};
  if (!one.contains("model")) throw Lacking{"the scale of a loss is told in steps"};
  const Model model = make_model(one.at("model"), one.at("policy"), "model");
  set_weights(model, one.at("initial_weights"));
  model.compile(compile_options(one.at("compile")));
  Json dtypes = Json::array();
  for (const Layer& layer : model.layers()) {
    Json dtype = {layer.name(), name_of(layer.compute_dtype()), name_of(layer.weights()[0].dtype())};
    dtypes.push_back(std::move(dtype));
  }
  EXPECT_EQ(dtypes, one.at("layer_dtypes"));
  struct Recorder : CallbackBody {
    void on_train_batch_end(std::int64_t, const BatchLogs& logs) override {
      losses.push_back(logs["loss"]);
      iterations.push_back(static_cast<double>(model().optimizer().iterations()));
    }
    std::vector<double> losses, iterations;
  };
  const auto recorder = std::make_shared<Recorder>();
  const History history = model.fit(nest_from_json(one.at("x")), nest_from_json(one.at("y")),
                                    {.batch_size = one.at("fit").at("batch_size"),
                                     .epochs = one["fit"].at("epochs"),
                                     .verbose = 0,
                                     .callbacks = {Callback(recorder)},
                                     .shuffle = false});
  Json losses = Json::array(), iterations = Json::array();
  for (const Json& batch : one.at("batches")) {
    losses.push_back(batch.at("loss_so_far"));
    iterations.push_back(batch.at("iterations"));
  }
  expect_numbers(recorder->losses, losses, both(one).relative, "loss");
  expect_numbers(recorder->iterations, iterations, 0, "iterations");
  expect_history(history, one);
  expect_weights(model, one.at("final_weights"), "after fit", both(one));
  EXPECT_TRUE(model.optimizer().name().starts_with("sgd"));
  EXPECT_EQ(one.at("optimizer_class"), "SGD");
  // The count of updates and the rate, which are no variables here, and no slots.
  EXPECT_EQ(one.at("optimizer_variables"), Json({"sgd/iteration", "sgd/learning_rate"}));
  EXPECT_TRUE(model.optimizer().variables().empty());
}

}  // namespace capstan::testing
