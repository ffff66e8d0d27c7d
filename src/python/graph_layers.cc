#include "src/python/graph_layers.h"

#include <cctype>
#include <map>

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

// What is known of the layers of an op: the name of their class, as Keras has it ("ReduceSum"), and how many there are.
struct Kind {
  std::string type_name;
  int count = 0;
};
Kind& kind_of(const std::string& op) {
  static auto* const kinds = new std::map<std::string, Kind>;  // read and written with the lock
  Kind& kind = (*kinds)[op];
  if (kind.type_name.empty()) {
    bool begins = true;
    for (const char c : op) {
      if (c != '_') kind.type_name += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      begins = c == '_';
    }
  }
  return kind;
}

// An operand as it can be kept: a number, a variable, or the place of a tensor.
struct Kept {
  Operand number = 0;
  Variable variable = {};
  std::ptrdiff_t place = -1;
};

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
  Kind& kind = kind_of(name);
  const std::string own_name = kind.count == 0 ? name : name + "_" + std::to_string(kind.count);
  ++kind.count;
  const LayerOf<FunctionBody> layer(kind.type_name.c_str(), own_name, dtype, std::move(function));
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
  return call_in_graph(std::string(op.name()), tensors, [op, kept, attributes](const std::vector<Tensor>& inputs) {
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
