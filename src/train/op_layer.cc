#include "src/train/op_layer.h"

#include <algorithm>
#include <optional>

#include "capstan/index.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/train/layer_state.h"

namespace capstan {

using detail::LayerState;
using Kind = AttributeValue::Kind;

namespace {

// The class of Keras, the op, and how an option is called here if it is called otherwise.
struct KnownOp {
  std::string_view keras, op;
  std::string_view keras_option = {}, option = {};
};
constexpr KnownOp kOps[] = {
    {"Abs", "abs"},
    {"Absolute", "abs"},
    {"Add", "add"},
    {"All", "reduce_all"},
    {"Any", "reduce_any"},
    {"Cast", "cast"},
    {"Ceil", "ceil"},
    {"Clip", "clip_by_value"},
    {"Concatenate", "concat"},
    {"Cos", "cos"},
    {"Divide", "divide"},
    {"Einsum", "einsum", "subscripts", "equation"},
    {"Elu", "elu"},
    {"Equal", "equal"},
    {"Erf", "erf"},
    {"Exp", "exp"},
    {"ExpandDims", "expand_dims"},
    {"Expm1", "expm1"},
    {"Floor", "floor"},
    {"FloorDivide", "floordiv"},
    {"Gelu", "gelu"},
    {"GetItem", ""},
    {"Greater", "greater"},
    {"GreaterEqual", "greater_equal"},
    {"HardSigmoid", "hard_sigmoid"},
    {"HardSilu", "hard_silu"},
    {"LeakyRelu", "leaky_relu", "negative_slope", "alpha"},
    {"Less", "less"},
    {"LessEqual", "less_equal"},
    {"Log", "log"},
    {"Log1p", "log1p"},
    {"LogSigmoid", "log_sigmoid"},
    {"LogSoftmax", "log_softmax"},
    {"LogicalAnd", "logical_and"},
    {"LogicalNot", "logical_not"},
    {"LogicalOr", "logical_or"},
    {"Matmul", "matmul"},
    {"Max", "reduce_max"},
    {"Maximum", "maximum"},
    {"Mean", "reduce_mean"},
    {"Min", "reduce_min"},
    {"Minimum", "minimum"},
    {"Multiply", "multiply"},
    {"Negative", "negative"},
    {"NotEqual", "not_equal"},
    {"Power", "pow"},
    {"Prod", "reduce_prod"},
    {"Relu", "relu"},
    {"Relu6", "relu6"},
    {"Reshape", "reshape", "newshape", "shape"},
    {"Round", "round"},
    {"Rsqrt", "rsqrt"},
    {"Selu", "selu"},
    {"Sigmoid", "sigmoid"},
    {"Sign", "sign"},
    {"Silu", "silu"},
    {"Sin", "sin"},
    {"Softmax", "softmax"},
    {"Softplus", "softplus"},
    {"Softsign", "softsign"},
    {"Sqrt", "sqrt"},
    {"Square", "square"},
    {"Squeeze", "squeeze"},
    {"Stack", "stack"},
    {"Std", "reduce_std"},
    {"Subtract", "subtract"},
    {"Sum", "reduce_sum"},
    {"Tanh", "tanh"},
    {"Transpose", "transpose", "axes", "perm"},
    {"TrueDivide", "divide"},
    {"Var", "reduce_variance"},
    {"Where", "where"},
};

constexpr std::string_view kTensor = "__keras_tensor__";

std::string_view class_of(const AttributeValue& value) {
  const AttributeValue* const name = value.find("class_name");
  return name == nullptr ? std::string_view() : name->text;
}

std::optional<std::int64_t> edge(const AttributeValue& slice, const char* key) {
  const AttributeValue* const value = slice.find(key);
  if (value == nullptr || !value->has_value()) return {};
  CAPSTAN_CHECK(value->kind == Kind::kInt, ValueError, "GetItem: \"", key, "\" of a slice is ", value->to_string());
  return value->integer;
}

Index index_of(const AttributeValue& key) {
  if (!key.has_value()) return newaxis;
  if (key.kind == Kind::kInt) return key.integer;
  if (class_of(key) == "__ellipsis__") return ellipsis;
  const AttributeValue* const config = key.find("config");
  CAPSTAN_CHECK(class_of(key) == "__slice__" && config != nullptr, ValueError, "GetItem: an index is ",
                key.to_string());
  return slice(edge(*config, "start").value_or(Slice::kEdge), edge(*config, "stop").value_or(Slice::kEdge),
               edge(*config, "step").value_or(1));
}

class OpBody final : public LayerBodyOf<Nest(Nest)> {
 public:
  OpBody(const KnownOp& op, const AttributeValue& node, const AttributeValue& call, const std::string& name)
      : LayerBodyOf(op.keras.data(), {.name = name}), op_(op), node_(node), call_(call) {
    LayerState::of(*this).converts_input = false;
    for (const auto& [key, value] : node.find("config")->items) {
      if (key == "name" || !value.has_value()) continue;
      attributes_.emplace(key == op.keras_option ? std::string(op.option) : key, value);
    }
  }

  // The node with the values of its call replaced.
  AttributeValue node(const std::function<AttributeValue(std::size_t)>& value_of) const {
    std::size_t next = 0;
    AttributeValue call = call_;
    replace(call, value_of, next);
    AttributeValue node = node_;
    node.set("name", name());
    node.set("inbound_nodes", std::vector<AttributeValue>{std::move(call)});
    return node;
  }

 protected:
  Nest call(const Nest& inputs, const CallOptions&) override {
    if (op_.keras == "GetItem") return getitem(inputs[0].tensor(), keys());
    const std::vector<Tensor> given = inputs.tensors();
    const std::optional<DType> dtype = common_dtype(given);
    std::vector<Tensor> operands;
    std::size_t next = 0;
    for (const char* const key : {"args", "kwargs"}) add_operands(*call_.find(key), given, dtype, next, operands);
    return capstan::call(op_.op, operands, attributes_).at(0);
  }

 private:
  static void replace(AttributeValue& value, const std::function<AttributeValue(std::size_t)>& value_of,
                      std::size_t& next) {
    if (class_of(value) == kTensor) {
      value = value_of(next++);
      return;
    }
    for (AttributeValue& item : value.list) replace(item, value_of, next);
    for (auto& [key, item] : value.items) replace(item, value_of, next);
  }

  std::vector<Index> keys() const {
    const std::vector<AttributeValue>& args = call_.find("args")->list;
    CAPSTAN_CHECK(args.size() == 2, ValueError, "GetItem: it takes a value and a key, not ", args.size(), " arguments");
    if (args[1].kind != Kind::kList) return {index_of(args[1])};
    std::vector<Index> keys;
    for (const AttributeValue& key : args[1].list) keys.push_back(index_of(key));
    return keys;
  }

  static bool has_fraction(const AttributeValue& value) {
    return value.kind == Kind::kFloat || std::any_of(value.list.begin(), value.list.end(), has_fraction);
  }

  // What numbers become, and tensors of other dtypes with them: as in Keras a number has the dtype of the tensors
  // unless that would lose its fraction. Nothing where there are only truths.
  std::optional<DType> common_dtype(const std::vector<Tensor>& given) const {
    std::optional<DType> dtype;
    for (const Tensor& tensor : given) {
      if (tensor.dtype() == DType::kBool) continue;
      if (!dtype || (is_floating(tensor.dtype()) && !is_floating(*dtype))) dtype = tensor.dtype();
    }
    const bool divides = op_.op == "divide" || op_.op == "reduce_mean";
    if (dtype && is_integer(*dtype) && (divides || has_fraction(*call_.find("args")))) dtype = floatx();
    return dtype;
  }

  static void add_operands(const AttributeValue& value, const std::vector<Tensor>& given, std::optional<DType> dtype,
                           std::size_t& next, std::vector<Tensor>& operands) {
    if (class_of(value) == kTensor) {
      const Tensor& tensor = given.at(next++);
      const bool converts = dtype && tensor.dtype() != DType::kBool && tensor.dtype() != *dtype;
      operands.push_back(converts ? cast(tensor, *dtype) : tensor);
    } else if (value.is_number()) {
      operands.push_back(cast(constant(value.number, float64), dtype.value_or(floatx())));
    } else if (value.kind == Kind::kBool) {
      operands.push_back(constant(value.truth));
    } else {
      CAPSTAN_CHECK(value.text.empty() && class_of(value).empty(), ValueError, "an argument is ", value.to_string());
      for (const AttributeValue& item : value.list) add_operands(item, given, dtype, next, operands);
      for (const auto& [key, item] : value.items) add_operands(item, given, dtype, next, operands);
    }
  }

  const KnownOp& op_;
  AttributeValue node_, call_;
  AttributeMap attributes_;
};

const OpBody* body_of(const Layer& layer) { return dynamic_cast<const OpBody*>(&LayerState::body_of(layer)); }

class OpLayer final : public Layer {
 public:
  explicit OpLayer(std::shared_ptr<OpBody> body) : Layer(std::move(body)) {}
};

}  // namespace

bool detail::is_op_node(const AttributeValue& node) {
  const AttributeValue* const module = node.find("module");
  return module != nullptr && (module->text.starts_with("keras.src.ops") || module->text.starts_with("keras.ops"));
}

Layer detail::op_layer(const AttributeValue& node) {
  const std::string_view op = class_of(node);
  const AttributeValue* const calls = node.find("inbound_nodes");
  CAPSTAN_CHECK(calls != nullptr && calls->list.size() == 1, ValueError, "the op \"", op, "\" has ",
                calls == nullptr ? 0 : calls->list.size(), " calls instead of one");
  const AttributeValue& call = calls->list[0];
  const auto known =
      std::find_if(std::begin(kOps), std::end(kOps), [&](const KnownOp& one) { return one.keras == op; });
  CAPSTAN_CHECK(known != std::end(kOps), ValueError, "the op \"", op, "\" of Keras is not known here");
  const AttributeValue* const config = node.find("config");
  const AttributeValue* name = node.find("name");
  if (name == nullptr && config != nullptr) name = config->find("name");
  const AttributeValue* const args = call.find("args");
  const AttributeValue* const kwargs = call.find("kwargs");
  CAPSTAN_CHECK(config != nullptr && config->kind == Kind::kMap && args != nullptr && args->kind == Kind::kList &&
                    kwargs != nullptr && kwargs->kind == Kind::kMap,
                ValueError, "the op \"", op, "\" has no configuration or no arguments");
  CAPSTAN_CHECK(name != nullptr && name->kind == Kind::kString, ValueError, "the op \"", op, "\" has no name");
  AttributeValue kept = node;
  kept.set("inbound_nodes", AttributeValue());
  return OpLayer(make_configurable<OpBody>(*known, kept, call, name->text));
}

AttributeValue detail::op_node(const Layer& layer, const std::function<AttributeValue(std::size_t)>& value_of) {
  return body_of(layer)->node(value_of);
}

bool detail::is_op_layer(const Layer& layer) { return body_of(layer) != nullptr; }

}  // namespace capstan
