// Traces a function, once or for two lists of lengths, and writes the file.
#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "capstan/models.h"
#include "capstan/onnx.h"

#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/onnx/export.h"
#include "src/transforms/open_lengths.h"
#include "src/transforms/trace.h"

namespace capstan {

namespace {

constexpr std::int64_t kOldest = 18, kNewest = 24;

std::vector<std::string> names_of(const std::vector<std::string>& given, std::size_t count, const std::string& what) {
  CAPSTAN_CHECK(given.empty() || given.size() == count, ValueError, "save_onnx: there are ", given.size(),
                " names for ", count, " ", what, "s");
  std::vector<std::string> names = given;
  for (std::size_t i = names.size(); i < count; ++i)
    names.push_back(count == 1 ? what : what + "_" + std::to_string(i));
  return names;
}

void save(const std::string& path, const Graph& first, const Graph* second, const std::vector<std::string>& inputs,
          const SaveOnnxOptions& options) {
  for (const Graph::Captured& captured : first.captured) {
    CAPSTAN_CHECK(has_elements(captured.variable.value()), TraceError,
                  "save_onnx: it was called while a function is traced, when weights have no values",
                  help("call it outside of function()"));
  }
  const std::vector<std::string> outputs = names_of(options.output_names, first.results.size(), "output");
  std::set<std::string> names;
  for (const auto* list : {&inputs, &outputs}) {
    for (const std::string& name : *list) {
      CAPSTAN_CHECK(!name.empty() && names.insert(name).second, ValueError,
                    "save_onnx: two inputs or outputs are called \"", name, "\"");
    }
  }
  onnx::Exporter exporter(first, second, options.opset);
  onnx::ModelProto model{.opset = options.opset, .graph = exporter.write(inputs, outputs)};
  model.graph.name = "capstan";
  model.description = options.description;
  onnx::write_model("save_onnx", path, model);
}

// --- The inputs of a model ---

// The layers that inputs are called by, in order.
void append_names(const AttributeValue& value, std::vector<std::string>& names) {
  if (value.kind == AttributeValue::Kind::kList && !value.list.empty() &&
      value.list[0].kind == AttributeValue::Kind::kString) {
    names.push_back(value.list[0].text);
    return;
  }
  for (const AttributeValue& item : value.list) append_names(item, names);
  for (const auto& [key, item] : value.items) append_names(item, names);
}

std::optional<TensorSpec> input_of_layer(const AttributeValue& layer) {
  const AttributeValue* const type = layer.find("class_name");
  const AttributeValue* const config = layer.find("config");
  if (type == nullptr || type->text != "InputLayer" || config == nullptr) return std::nullopt;
  const AttributeValue* const lengths = config->find("batch_shape");
  const AttributeValue* const dtype = config->find("dtype");
  const AttributeValue* const name = config->find("name");
  if (lengths == nullptr || dtype == nullptr || name == nullptr) return std::nullopt;
  Shape shape;
  for (const AttributeValue& length : lengths->list) shape.push_back(length.has_value() ? length.integer : -1);
  DType type_of_elements = DType::kFloat32;
  set_field(type_of_elements, *dtype, "save_onnx", "dtype");
  return TensorSpec(shape, type_of_elements, name->text);
}

std::vector<TensorSpec> inputs_of(const Model& model) {
  std::vector<TensorSpec> specs;
  const AttributeValue whole = AttributeValue::from_json(model.to_json());
  const AttributeValue* const config = whole.find("config");
  const AttributeValue* const layers = config == nullptr ? nullptr : config->find("layers");
  std::vector<TensorSpec> known;
  if (layers != nullptr) {
    for (const AttributeValue& layer : layers->list) {
      if (auto spec = input_of_layer(layer)) known.push_back(*std::move(spec));
    }
  }
  const AttributeValue* const order = config == nullptr ? nullptr : config->find("input_layers");
  if (order == nullptr) {  // a Sequential, whose input has no name of its own
    for (TensorSpec& spec : known) spec.name.clear();
    return known;
  }
  std::vector<std::string> names;
  append_names(*order, names);
  for (const std::string& name : names) {
    for (const TensorSpec& spec : known) {
      if (spec.name == name) specs.push_back(spec);
    }
  }
  return specs;
}

}  // namespace

void detail::save_traced(const std::string& path, const FunctionBody& body, int taken, const SaveOnnxOptions& options) {
  const std::vector<TensorSpec>& inputs = options.inputs;
  CAPSTAN_CHECK(options.opset >= kOldest && options.opset <= kNewest, ValueError, "save_onnx: opset ", options.opset,
                " is not among those that are written, ", kOldest, " to ", kNewest);
  CAPSTAN_CHECK(taken == -1 || inputs.size() == static_cast<std::size_t>(taken), ValueError, "save_onnx: there are ",
                inputs.size(), " inputs, and the function takes ", taken, " tensors");
  CAPSTAN_CHECK(!inputs.empty(), ValueError, "save_onnx: there are no inputs",
                help("name them: save_onnx(path, f, {.inputs = {TensorSpec({-1, 4})}})"));
  std::vector<TensorSpec> specs = inputs;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const bool has_batch = specs[i].shape.has_value() && specs[i].shape->rank() > 0;
    if (options.dynamic_batch && has_batch) specs[i].shape->set(0, -1);
  }
  std::vector<std::string> names = names_of(options.input_names, specs.size(), "input");
  for (std::size_t i = 0; options.input_names.empty() && i < specs.size(); ++i) {
    if (!specs[i].name.empty()) names[i] = specs[i].name;
  }
  const TwoTraces traces = trace_open("save_onnx", specs, body, onnx::check_alike);
  save(path, traced_graph(*traces.first), traces.second == nullptr ? nullptr : &traced_graph(*traces.second), names,
       options);
}

void detail::save_model(const std::string& path, const Model& model, const SaveOnnxOptions& given) {
  SaveOnnxOptions options = given;
  if (options.inputs.empty()) {
    options.inputs = inputs_of(model);
    CAPSTAN_CHECK(!options.inputs.empty(), ValueError, "save_onnx: the inputs of the model \"", model.name(),
                  "\" are not known", help("name them: save_onnx(path, model, {.inputs = {TensorSpec({1, 4})}})"));
    for (TensorSpec& spec : options.inputs) {
      if (spec.shape->rank() > 0 && (*spec.shape)[0] == -1) spec.shape->set(0, 1);
    }
  }
  auto body = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    tensors = model(tensors.size() == 1 ? Nest(tensors[0]) : Nest(tensors)).tensors();
    return nullptr;
  };
  save_traced(path, FunctionBody(body), -1, options);
}

}  // namespace capstan
