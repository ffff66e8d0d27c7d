#include "tests/golden/keras_cases.h"

#include <set>
#include <cctype>

namespace capstan::testing {

namespace {

// "L1" of "regularizers.L1".
std::string class_of(const Json& json) {
  const std::string type = json.at("object");
  return type.substr(type.rfind('.') + 1);
}

Regularizer make_regularizer(const Json& json) { return testing::make_regularizer(class_of(json), json.at("config")); }

// What all layers take.
template <class Options>
Options common(const std::string& name, const std::string& dtype) {
  Options options;
  options.name = name;
  options.dtype = dtype_of(dtype);
  return options;
}

using Setters = std::map<std::string, std::function<void(const Json&)>>;

void set_all(const Json& config, const Setters& setters) {
  for (const auto& [key, value] : config.items()) {
    const auto setter = setters.find(key);
    if (setter == setters.end()) throw Lacking{"argument " + key};
    setter->second(value);
  }
}

Layer make_batch_normalization(const Json& config, layers::BatchNormalizationOptions o) {
  set_all(config, {
                      {"axis", [&](const Json& v) { o.axis = v; }},
                      {"momentum", [&](const Json& v) { o.momentum = v; }},
                      {"epsilon", [&](const Json& v) { o.epsilon = v; }},
                      {"center", [&](const Json& v) { o.center = v; }},
                      {"scale", [&](const Json& v) { o.scale = v; }},
                      {"trainable", [&](const Json& v) { o.trainable = v; }},
                      {"renorm", [&](const Json& v) { o.renorm = v; }},
                      {"renorm_momentum", [&](const Json& v) { o.renorm_momentum = v; }},
                      {"renorm_clipping",
                       [&](const Json& v) {
                         if (v.contains("rmax")) o.renorm_clipping.rmax = v["rmax"].get<double>();
                         if (v.contains("rmin")) o.renorm_clipping.rmin = v["rmin"].get<double>();
                         if (v.contains("dmax")) o.renorm_clipping.dmax = v["dmax"].get<double>();
                       }},
                      {"gamma_regularizer", [&](const Json& v) { o.gamma_regularizer = make_regularizer(v); }},
                      {"beta_regularizer", [&](const Json& v) { o.beta_regularizer = make_regularizer(v); }},
                  });
  return layers::BatchNormalization(o);
}

Layer make_dropout(const Json& config, layers::DropoutOptions o) {
  double rate = 0;
  const auto set_noise_shape = [&o](const Json& v) {
    Shape shape;
    for (const Json& length : v) shape.push_back(length.is_null() ? -1 : length.get<std::int64_t>());
    o.noise_shape = shape;
  };
  set_all(config, {{"rate", [&](const Json& v) { rate = v; }},
                   {"seed", [&o](const Json& v) { o.seed = v.get<std::uint64_t>(); }},
                   {"noise_shape", set_noise_shape}});
  return layers::Dropout(rate, o);
}

}  // namespace

AttributeValue as_serialized(const std::string& type, const Json& config) {
  const Json value = {{"class_name", type.substr(type.rfind('.') + 1)}, {"config", config}};
  return AttributeValue::from_json(value.dump());
}

Initializer make_initializer(const std::string& type, const Json& config, std::uint64_t seed) {
  Json with_seed = config;
  for (const ClassInfo* info : list_classes("initializer")) {
    for (const OptionField& field : info->options()) {
      if (info->name == type && field.name == "seed") with_seed["seed"] = seed;
    }
  }
  return initializers::get(as_serialized(type, with_seed));
}

Regularizer make_regularizer(const std::string& type, const Json& config) {
  return regularizers::get(as_serialized(type, config));
}

Constraint make_constraint(const Json& json) {
  return json.is_null() ? Constraint() : make_constraint(json.at("object"), json.at("config"));
}

Constraint make_constraint(const std::string& type, const Json& config) {
  return constraints::get(as_serialized(type, config));
}

ActivationFunction make_activation(const std::string& name, const Json& options) {
  return activations::get(as_serialized(name, options));
}

DTypePolicy dtype_of(const std::string& name) {
  if (name.find("float16") != std::string::npos && name.find("bfloat16") == std::string::npos) {
    throw Lacking{"layers in " + name};
  }
  return name;
}

namespace {

bool is_known(const char* kind, const std::string& type) {
  for (const ClassInfo* info : list_classes(kind)) {
    if (info->name == type) return true;
  }
  return false;
}

// Keras's rule: "conv2d_transpose" of "Conv2DTranspose".
std::string snake_case(const std::string& type) {
  std::string name;
  for (std::size_t i = 0; i < type.size(); ++i) {
    const bool begins = std::isupper(type[i]) != 0 && i > 0 &&
                        (std::islower(type[i - 1]) != 0 || (i + 1 < type.size() && std::islower(type[i + 1]) != 0));
    if (begins) name += '_';
    name += static_cast<char>(std::tolower(type[i]));
  }
  return name;
}

// {"object", "config"} as {"class_name", "config"}, at every depth. Layers among them get the dtype, and the names that
// they have in a new process.
Json with_classes(const Json& json, const std::string& dtype, std::map<std::string, int>& counts) {
  if (json.is_array()) {
    Json list = Json::array();
    for (const Json& item : json) list.push_back(with_classes(item, dtype, counts));
    return list;
  }
  if (!json.is_object()) return json;
  Json result = Json::object();
  for (const auto& [key, value] : json.items()) result[key] = with_classes(value, dtype, counts);
  if (!json.contains("object")) return result;
  const std::string path = json.at("object"), type = path.substr(path.rfind('.') + 1);
  Json config = result.value("config", Json::object());
  if (path.starts_with("layers.")) {
    if (!is_known("layer", type)) throw Lacking{"layer " + type};
    if (!config.contains("dtype")) config["dtype"] = dtype;
    if (!config.contains("name")) {
      const int count = counts[type]++;
      config["name"] = snake_case(type) + (count == 0 ? "" : "_" + std::to_string(count));
    }
  }
  return {{"class_name", type}, {"config", config}};
}

}  // namespace

Layer make_layer(const std::string& type, const Json& config, const std::string& dtype, const std::string& name) {
  dtype_of(dtype);
  if (is_known("layer", type)) {
    std::map<std::string, int> counts;
    Json all = with_classes(config, dtype, counts);
    if (all.is_null()) all = Json::object();
    all["dtype"] = dtype;
    if (!name.empty()) all["name"] = name;
    return layer_from(as_serialized(type, all));
  }
  // Classes without a table of options.
  if (type == "BatchNormalization") {
    return make_batch_normalization(config, common<layers::BatchNormalizationOptions>(name, dtype));
  }
  if (type == "Dropout") return make_dropout(config, common<layers::DropoutOptions>(name, dtype));
  if (type == "Activation") {
    return layers::Activation(config.at("activation").get<std::string>(), common<LayerOptions>(name, dtype));
  }
  if (type == "ReLU") {
    auto o = common<layers::ReLUOptions>(name, dtype);
    set_all(config, {
                        {"max_value", [&](const Json& v) { o.max_value = v.get<double>(); }},
                        {"negative_slope", [&](const Json& v) { o.negative_slope = v; }},
                        {"threshold", [&](const Json& v) { o.threshold = v; }},
                    });
    return layers::ReLU(o);
  }
  if (type == "Flatten") {
    auto o = common<layers::FlattenOptions>(name, dtype);
    set_all(config, {{"data_format", [&](const Json& v) { o.data_format = v; }}});
    return layers::Flatten(o);
  }
  throw Lacking{"layer " + type};
}

namespace {

// Objects in configurations are {"object", "config"} there.
void serialize_objects(Json& config, bool float32_numbers) {
  for (auto& [key, value] : config.items()) {
    if (!value.is_object() || !value.contains("object")) continue;
    Json inner = value.at("config");
    const std::string type = value.at("object");
    const bool is_optimizer = type.rfind("optimizers.", 0) == 0 && type.find("schedules") == type.npos;
    if (is_optimizer && float32_numbers) serialize_objects(inner, true);
    value = {{"class_name", type.substr(type.rfind('.') + 1)}, {"config", inner}};
  }
  if (float32_numbers && config.contains("learning_rate") && config["learning_rate"].is_number()) {
    config["learning_rate"] = double{config["learning_rate"].get<float>()};
  }
}

// Throws Lacking for a class that there is not.
void check_class(const char* kind, const std::string& type) {
  if (!is_known(kind, type)) throw Lacking{kind + (" " + type)};
}

}  // namespace

Loss make_loss(const std::string& type, const Json& given, const Json& reduction) {
  check_class("loss", type);
  Json options = given;
  options["reduction"] = reduction;
  // Keras 3.15 has these two exchanged.
  if (type == "Tversky") {
    options["alpha"] = given.value("beta", 0.5);
    options["beta"] = given.value("alpha", 0.5);
  }
  return losses::get(as_serialized(type, options));
}

Metric make_metric(const std::string& type, const Json& options) {
  check_class("metric", type);
  return metrics::get(as_serialized(type, options));
}

Schedule make_schedule(const std::string& type, const Json& config) {
  return schedules::get(as_serialized(type, config));
}

Optimizer make_optimizer(const std::string& type, const Json& given, bool float32_numbers) {
  Json config = given;
  check_class("optimizer", type);
  if (!config.contains("learning_rate") && type != "LossScaleOptimizer") {
    const std::shared_ptr<Configurable> defaults = deserialize("optimizer", type);
    config["learning_rate"] = config_of(defaults->class_info(), defaults->options_data()).find("learning_rate")->number;
  }
  serialize_objects(config, float32_numbers);
  return optimizers::get(as_serialized(type, config));
}

namespace {

std::vector<const KerasFile*>& files() {
  static std::vector<const KerasFile*> all;
  return all;
}

}  // namespace

KerasFile::KerasFile(std::string file, Run run_case, std::set<std::string> known_fields,
                     std::map<std::string, std::string> reasons)
    : name(std::move(file)), run(run_case), fields(std::move(known_fields)), lacking(std::move(reasons)) {
  // What says how to compare, or tells a reader more.
  fields.merge(std::set<std::string>{"name", "dtype", "tolerance", "note", "upstream_defect", "float32_error"});
  files().push_back(this);
}

void KerasFile::compare(const Json& document, const Json& one) const {
  for (const auto& [key, value] : one.items()) {
    if (!fields.contains(key)) ADD_FAILURE() << "\"" << key << "\" is not compared";
  }
  const DType before = floatx();
  try {
    run(document, one);
  } catch (...) {
    set_floatx(before);
    throw;
  }
  set_floatx(before);
}

std::string case_name(const Json& one) { return one.contains("name") ? one["name"] : one.at("model"); }

std::string KerasFile::lacking_key(const std::string& case_name) const {
  for (const auto& [key, reason] : lacking) {
    if (key == case_name || (key.ends_with('/') && case_name.starts_with(key))) return key;
  }
  return "";
}

const std::vector<const KerasFile*>& KerasFile::all() { return files(); }

void expect_close(const Tensor& got, const Json& want, const std::string& what) {
  if (want.is_null()) return expect_close(got, want, what, Tolerance{});
  const Tensor tensor = tensor_from_json(want);
  expect_close(got, want, what, golden_tolerance(tensor.dtype()));
}

void expect_close(const Tensor& got, const Json& want, const std::string& what, Tolerance tolerance) {
  if (want.is_null()) {
    EXPECT_FALSE(got.has_value()) << what << ": got a value, want none";
    return;
  }
  const std::string text = difference(got, tensor_from_json(want), tolerance);
  EXPECT_EQ(text, "") << what;
}

}  // namespace capstan::testing
