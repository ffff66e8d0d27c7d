#include "tests/golden/keras_models.h"

#include "src/train/layer_state.h"

namespace capstan::testing {

namespace {

// The layer of a node: its class, its arguments and its name.
Layer layer_of(const Json& type, const Json& config, const std::string& name, const std::string& dtype) {
  Json arguments = config.is_null() ? Json::object() : config;
  const bool trainable = arguments.value("trainable", true);
  arguments.erase("trainable");
  const Layer layer = make_layer(type, arguments, dtype, name);
  if (!trainable) layer.set_trainable(false);
  return layer;
}

Shape shape_of(const Json& json) {
  Shape shape;
  for (const Json& length : json) shape.push_back(length.is_null() ? -1 : length.get<std::int64_t>());
  return shape;
}

Model make_graph(const Json& model, const std::string& dtype, const std::string& model_name) {
  std::map<std::string, Nest> values;
  std::vector<Nest> inputs;
  for (const Json& input : model.at("inputs")) {
    const DType type = dtype_from_name(input.value("dtype", "float32"));
    inputs.push_back(Input(shape_of(input.at("shape")), {.dtype = type, .name = input.at("name")}));
    values[input.at("name")] = inputs.back();
  }
  std::map<std::string, Layer> layers;
  for (const Json& node : model.at("nodes")) {
    const std::string name = node.at("name");
    CallOptions call;
    const Json given = node.value("call", Json::object());
    for (const auto& [argument, value] : given.items()) {
      if (argument != "use_causal_mask") throw Lacking{"call argument " + argument};
      call.use_causal_mask = value;
    }
    const Layer layer = node.contains("layer_of")
                            ? layers.at(node.at("layer_of"))
                            : layer_of(node.at("layer"), node.value("config", Json()), name, dtype);
    layers.emplace(name, layer);
    std::vector<Nest> arguments;
    for (const Json& input : node.at("inputs")) arguments.push_back(values.at(input));
    values[name] =
        layer(arguments.size() == 1 && node.value("style", "") != "list" ? arguments[0] : Nest::list(arguments), call);
  }
  const Json& outputs = model.at("outputs");
  std::vector<std::string> keys;
  std::vector<Nest> results;
  for (const auto& [key, value] : outputs.items()) {
    keys.push_back(key);
    results.push_back(values.at(value));
  }
  const Nest in = inputs.size() == 1 ? inputs[0] : Nest::list(inputs);
  if (outputs.is_object()) return Model(in, Nest::map(keys, results), model_name);
  return Model(in, results.size() == 1 ? results[0] : Nest::list(results), model_name);
}

Loss loss_from_json(const Json& json) {
  if (json.is_string()) return Loss(json.get<std::string>());
  const std::string type = json.at("object");
  Json options = json.at("config");
  const Json reduction = options.contains("reduction") ? options["reduction"] : Json("sum_over_batch_size");
  return make_loss(type.substr(type.rfind('.') + 1), options, reduction);
}

Metric metric_from_json(const Json& json) {
  if (json.is_string()) return Metric(json.get<std::string>());
  const std::string type = json.at("object");
  return make_metric(type.substr(type.rfind('.') + 1), json.at("config"));
}

std::vector<Metric> metrics_in(const Json& list) {
  std::vector<Metric> metrics;
  for (const Json& item : list) metrics.push_back(metric_from_json(item));
  return metrics;
}

MetricChoice metrics_from_json(const Json& json) {
  if (json.is_object()) {
    std::map<std::string, std::vector<Metric>> named;
    for (const auto& [name, list] : json.items()) named[name] = metrics_in(list);
    return named;
  }
  if (!json.empty() && json[0].is_array()) {
    std::vector<std::vector<Metric>> lists;
    for (const Json& list : json) lists.push_back(metrics_in(list));
    return lists;
  }
  return metrics_in(json);
}

}  // namespace

Model make_model(const Json& model, const std::string& dtype, const std::string& name,
                 std::map<std::string, int> counts) {
  if (!model.contains("sequential")) return make_graph(model, dtype, name);
  std::vector<Layer> layers;
  for (const Json& item : model.at("sequential")) {
    const Json config = item.size() > 1 ? item.at(1) : Json();
    std::string layer_name = config.is_object() ? config.value("name", "") : "";
    if (layer_name.empty()) {
      layer_name = detail::snake_case(item.at(0).get<std::string>());
      const int count = counts[layer_name]++;
      if (count > 0) layer_name += "_" + std::to_string(count);
    }
    layers.push_back(
        layer_of(item.at(0), config, layer_name, config.is_object() ? config.value("dtype", dtype) : dtype));
  }
  const Sequential chain(layers, name);
  if (model.contains("input_shape")) {
    Shape shape{-1};
    for (const std::int64_t length : shape_of(model.at("input_shape"))) shape.push_back(length);
    chain.build(shape);
  }
  return chain;
}

bool is_tensor(const Json& json) { return json.is_object() && json.contains("dtype") && json.contains("data"); }

Nest nest_from_json(const Json& json) {
  if (json.is_null()) return {};
  if (is_tensor(json)) return tensor_from_json(json);
  std::vector<std::string> keys;
  std::vector<Nest> items;
  for (const auto& [key, value] : json.items()) {
    keys.push_back(key);
    items.push_back(nest_from_json(value));
  }
  return json.is_array() ? Nest::list(items) : Nest::map(keys, items);
}

CompileOptions compile_options(const Json& compile) {
  CompileOptions options;
  const Json& optimizer = compile.at("optimizer");
  if (optimizer.is_string()) {
    options.optimizer = optimizers::get(optimizer.get<std::string>());
  } else {
    const std::string type = optimizer.at("object");
    options.optimizer = make_optimizer(type.substr(type.rfind('.') + 1), optimizer.at("config"));
  }
  if (compile.contains("loss")) {
    const Json& loss = compile.at("loss");
    if (loss.is_array()) {
      std::vector<Loss> list;
      for (const Json& item : loss) list.push_back(loss_from_json(item));
      options.loss = list;
    } else if (loss.is_object() && !loss.contains("object")) {
      std::map<std::string, Loss> named;
      for (const auto& [name, item] : loss.items()) named.emplace(name, loss_from_json(item));
      options.loss = named;
    } else if (loss.is_string()) {
      options.loss = loss.get<std::string>();
    } else {
      options.loss = loss_from_json(loss);
    }
  }
  if (compile.contains("loss_weights")) {
    const Json& weights = compile.at("loss_weights");
    if (weights.is_object()) {
      options.loss_weights = weights.get<std::map<std::string, double>>();
    } else {
      options.loss_weights = weights.get<std::vector<double>>();
    }
  }
  if (compile.contains("metrics")) options.metrics = metrics_from_json(compile.at("metrics"));
  if (compile.contains("weighted_metrics")) {
    options.weighted_metrics = metrics_from_json(compile.at("weighted_metrics"));
  }
  options.steps_per_execution = compile.value("steps_per_execution", 1);
  return options;
}

void set_weights(const Model& model, const Json& weights) {
  std::vector<Tensor> values;
  for (const Json& weight : weights) values.push_back(tensor_from_json(weight.at("value")));
  model.set_weights(values);
}

void expect_weights(const Model& model, const Json& weights, const std::string& what, Tolerance tolerance) {
  const std::vector<Tensor> values = model.get_weights();
  ASSERT_EQ(values.size(), weights.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    expect_close(values[i], weights[i].at("value"), what + ": " + weights[i].at("path").get<std::string>(), tolerance);
  }
}

}  // namespace capstan::testing
