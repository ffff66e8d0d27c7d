#include "src/python/graph_layers.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "capstan/utils.h"
#include "src/python/objects.h"

namespace capstan::python {

namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

class FunctionBody final : public LayerBodyOf<Nest(Nest)> {
 public:
  FunctionBody(const char* type_name, const std::string& name, DType dtype, Function function)
      : LayerBodyOf(type_name, {.name = name, .dtype = DTypePolicy(dtype)}), function_(std::move(function)) {}

 protected:
  Nest call(const Nest& inputs, const CallOptions&) override {
    std::vector<Nest> results;
    for (Tensor& result : function_(inputs.tensors())) results.emplace_back(std::move(result));
    return Nest::list(std::move(results));
  }

 private:
  Function function_;
};

// The name of the class of an op's layers, as Keras has it ("ReduceSum"). Layers keep the text.
const char* type_name_of(const std::string& op) {
  static auto* const names = new std::map<std::string, std::string>;  // read and written with the lock
  std::string& name = (*names)[op];
  if (name.empty()) {
    bool begins = true;
    for (const char c : op) {
      if (c != '_') name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      begins = c == '_';
    }
  }
  return name.c_str();
}

// Ops that Keras has, too, without options: the layers of these can be written to files.
struct KerasOp {
  std::string_view op, name, module = "keras.src.ops.numpy";
};
constexpr std::string_view kOfNetworks = "keras.src.ops.nn";
constexpr KerasOp kKerasOps[] = {{"abs", "Absolute"},
                                 {"add", "Add"},
                                 {"ceil", "Ceil"},
                                 {"cos", "Cos"},
                                 {"divide", "TrueDivide"},
                                 {"equal", "Equal"},
                                 {"exp", "Exp"},
                                 {"expm1", "Expm1"},
                                 {"floor", "Floor"},
                                 {"greater", "Greater"},
                                 {"greater_equal", "GreaterEqual"},
                                 {"less", "Less"},
                                 {"less_equal", "LessEqual"},
                                 {"log", "Log"},
                                 {"log1p", "Log1p"},
                                 {"maximum", "Maximum"},
                                 {"minimum", "Minimum"},
                                 {"multiply", "Multiply"},
                                 {"negative", "Negative"},
                                 {"not_equal", "NotEqual"},
                                 {"pow", "Power"},
                                 {"relu", "Relu", kOfNetworks},
                                 {"round", "Round"},
                                 {"sigmoid", "Sigmoid", kOfNetworks},
                                 {"sign", "Sign"},
                                 {"silu", "Silu", kOfNetworks},
                                 {"sin", "Sin"},
                                 {"softplus", "Softplus", kOfNetworks},
                                 {"sqrt", "Sqrt"},
                                 {"square", "Square"},
                                 {"subtract", "Subtract"},
                                 {"tanh", "Tanh"}};

AttributeValue map_of(std::vector<std::pair<std::string, AttributeValue>> items) {
  AttributeValue map = AttributeValue::map();
  map.items = std::move(items);
  return map;
}

// An operand as it can be kept: a number, a variable, or the place of a tensor.
struct Kept {
  Operand number = 0;
  Variable variable = {};
  std::ptrdiff_t place = -1;
};

// The layer of an op as Keras writes it, which the library reads; nothing if Keras has no such op, or if dtypes that
// differ would be treated in another way.
std::optional<Layer> keras_op_layer(const std::string& op, const std::vector<Tensor>& tensors,
                                    const std::vector<Kept>& kept) {
  const auto known =
      std::find_if(std::begin(kKerasOps), std::end(kKerasOps), [&](const KerasOp& one) { return one.op == op; });
  const auto is_like_first = [&](const Tensor& t) { return is_floating(t.dtype()) && t.dtype() == tensors[0].dtype(); };
  if (known == std::end(kKerasOps) || !std::all_of(tensors.begin(), tensors.end(), is_like_first)) return {};
  std::vector<AttributeValue> arguments;
  for (const Kept& k : kept) {
    if (k.variable.has_value()) return {};
    const Operand::Kind kind = k.number.kind();
    if (kind != Operand::Kind::kInt && kind != Operand::Kind::kFloat) return {};
    arguments.push_back(k.place < 0 ? AttributeValue(k.number.number())
                                    : map_of({{"class_name", "__keras_tensor__"}, {"config", AttributeValue::map()}}));
  }
  const std::string name = auto_name(op);
  const AttributeValue call = map_of({{"args", std::move(arguments)}, {"kwargs", AttributeValue::map()}});
  return layer_from(map_of({{"module", std::string(known->module)},
                            {"class_name", std::string(known->name)},
                            {"config", map_of({{"name", name}})},
                            {"registered_name", std::string(known->name)},
                            {"name", name},
                            {"inbound_nodes", std::vector<AttributeValue>{call}}}));
}

}  // namespace

bool any_in_graph(std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.kind() == Operand::Kind::kLent && is_in_graph(TensorRef(operand.lent()))) return true;
    if (operand.kind() == Operand::Kind::kGiven && is_in_graph(*operand.given())) return true;
  }
  return false;
}

std::vector<Tensor> call_in_graph(const std::string& name, const std::vector<Tensor>& tensors, Function function) {
  DType dtype = floatx();  // a layer converts inputs of others
  for (const Tensor& t : tensors) {
    if (is_floating(t.dtype())) dtype = t.dtype();
  }
  const LayerOf<FunctionBody> layer(type_name_of(name), auto_name(name), dtype, std::move(function));
  std::vector<Nest> inputs(tensors.begin(), tensors.end());
  return static_cast<const Layer&>(layer)(Nest::list(std::move(inputs))).tensors();
}

std::vector<Tensor> call_in_graph(const Op& op, std::span<const Operand> operands, const AttributeSet& attributes) {
  std::vector<Tensor> tensors;
  std::vector<Kept> kept;
  for (const Operand& operand : operands) {
    if (operand.kind() == Operand::Kind::kVariable) {
      kept.push_back({0, Variable::share(operand.variable()), -1});
    } else if (operand.is_literal()) {
      kept.push_back({operand, {}, -1});
    } else {
      kept.push_back({0, {}, std::ssize(tensors)});
      if (operand.kind() == Operand::Kind::kLent) detail::retain(operand.lent());
      tensors.push_back(operand.kind() == Operand::Kind::kLent ? Tensor::adopt(operand.lent()) : *operand.given());
    }
  }
  const std::string name(op.name());
  if (const std::optional<Layer> layer = keras_op_layer(name, tensors, kept)) {
    std::vector<Nest> inputs(tensors.begin(), tensors.end());
    return (*layer)(Nest::list(std::move(inputs))).tensors();
  }
  return call_in_graph(name, tensors, [op, kept, attributes](const std::vector<Tensor>& inputs) {
    std::vector<Operand> given;
    for (const Kept& k : kept) {
      given.push_back(k.place >= 0                    ? Operand(inputs[static_cast<std::size_t>(k.place)])
                      : k.variable.state() != nullptr ? Operand(k.variable)
                                                      : k.number);
    }
    return call_all(op, given, attributes);
  });
}

void need_values(const char* what, const Tensor& t) {
  if (!is_in_graph(t)) return;
  throw nb::type_error((std::string(what) +
                        ": a value of a functional model stands for examples and has no elements\n" +
                        "  help: do it in the call() of a layer, or in layers.Lambda")
                           .c_str());
}

}  // namespace capstan::python
