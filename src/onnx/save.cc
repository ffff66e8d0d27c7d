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
#include "src/transforms/trace.h"

namespace capstan {

namespace {

constexpr std::int64_t kOldest = 18, kNewest = 24;

using Lengths = std::vector<std::int64_t>;

// What open lengths are in two traces: the first axis, which is the batch, and the others. These differ from axis to
// axis of all inputs if the function takes that, so that they can be told apart, and else from axis to axis of each.
struct Trial {
  std::int64_t first = 0, second = 0, step = 0;
  bool is_shared = false;
};
constexpr std::int64_t kBatch = 3, kOtherBatch = 67;
constexpr Trial kTrials[] = {{64, 192, 16, false}, {64, 192, 16, true}, {16, 48, 4, false},
                             {16, 48, 4, true},    {8, 12, 2, false},   {8, 12, 2, true}};

std::vector<Shape> shapes_of(const std::vector<TensorSpec>& specs, const Trial& trial, bool second) {
  std::vector<Shape> shapes;
  std::int64_t number = 0;
  for (const TensorSpec& spec : specs) {
    Shape shape = *spec.shape;
    if (trial.is_shared) number = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (axis > 0) ++number;
      if (shape[axis] != -1) continue;
      const std::int64_t length = second ? trial.second + 2 * trial.step * number : trial.first + trial.step * number;
      shape.set(axis, axis > 0 ? length : second ? kOtherBatch : kBatch);
    }
    shapes.push_back(shape);
  }
  return shapes;
}

std::shared_ptr<ConcreteState> trace(const detail::FunctionBody& body, const std::vector<TensorSpec>& specs,
                                     const std::vector<Shape>& shapes) {
  detail::CallSignature signature;
  signature.key.push_back(0);
  for (std::size_t i = 0; i < specs.size(); ++i) signature.add(TensorSpec(shapes[i], specs[i].dtype));
  return detail::make_concrete(detail::make_function({.name = "save_onnx"}), signature, body);
}

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
  bool is_open = false;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    CAPSTAN_CHECK(specs[i].shape.has_value(), ValueError, "save_onnx: the rank of input ", i, ", ",
                  specs[i].to_string(), ", is open", help("give a shape, with -1 for lengths that are open"));
    if (options.dynamic_batch && specs[i].shape->rank() > 0) specs[i].shape->set(0, -1);
    for (const std::int64_t length : *specs[i].shape) is_open = is_open || length == -1;
  }
  std::vector<std::string> names = names_of(options.input_names, specs.size(), "input");
  for (std::size_t i = 0; options.input_names.empty() && i < specs.size(); ++i) {
    if (!specs[i].name.empty()) names[i] = specs[i].name;
  }
  if (!is_open) {
    const auto only = trace(body, specs, shapes_of(specs, kTrials[0], false));
    return save(path, traced_graph(*only), nullptr, names, options);
  }
  std::shared_ptr<ConcreteState> first, second;
  std::exception_ptr error;
  for (const Trial& trial : kTrials) {
    try {
      first = trace(body, specs, shapes_of(specs, trial, false));
      second = trace(body, specs, shapes_of(specs, trial, true));
      onnx::check_alike(traced_graph(*first), traced_graph(*second));
      error = nullptr;
      break;
    } catch (const Error&) {
      // Lengths that the function does not take say nothing about others.
      if (error == nullptr) error = std::current_exception();
    }
  }
  if (error != nullptr) std::rethrow_exception(error);
  save(path, traced_graph(*first), &traced_graph(*second), names, options);
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
