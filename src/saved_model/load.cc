// Functions of a file. Their graphs are checked when they are loaded, and are traced like any function when they are
// called.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "capstan/dynamic.h"
#include "capstan/saved_model.h"
#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/checkpoint_file.h"
#include "src/saved_model/file.h"
#include "src/saved_model/saved_graph.h"

namespace capstan::saved_model {

class LoadedState : public std::enable_shared_from_this<LoadedState> {
 public:
  LoadedState(const AttributeValue& list, const std::map<std::string, Tensor>& tensors, Reading reading) {
    const std::vector<AttributeValue>& forms = reading.list(reading.member(list, "variables"), "the list of variables");
    auto constants = std::make_shared<std::vector<Tensor>>();
    for (auto found = tensors.find(name_of_constant(0)); found != tensors.end();
         found = tensors.find(name_of_constant(constants->size()))) {
      constants->push_back(found->second);
    }
    reading.constants = constants->size();
    reading.variables = forms.size();
    constants_ = std::move(constants);
    for (std::size_t i = 0; i < forms.size(); ++i) read_variable(forms[i], tensors, name_of_variable(i), reading);
    for (const AttributeValue& form : reading.list(reading.member(list, "functions"), "the list of functions")) {
      read_function(form, reading);
    }
  }

  Loaded give(std::string description) const {
    Loaded loaded{{}, variables_, std::move(description)};
    for (std::size_t i = 0; i < functions_.size(); ++i)
      loaded.functions.push_back(LoadedFunction(shared_from_this(), i));
    return loaded;
  }

  struct Saved {
    std::string name;
    std::vector<TensorSpec> inputs, outputs;
    SavedGraph graph;
    std::vector<std::size_t> read;     // the variables whose values are the last inputs of the graph
    std::vector<std::size_t> written;  // those whose values are its last results
    dynamic::Function traced;
  };
  const Saved& function(std::size_t number) const { return functions_[number]; }

  std::vector<Tensor> call(const Saved& saved, const std::vector<Tensor>& inputs) const {
    check(saved, inputs);
    auto body = [&](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
      tensors = run(saved, std::move(tensors));
      return nullptr;
    };
    if (dynamic::functions_run_eagerly()) {
      std::vector<Tensor> tensors = inputs;
      body(tensors);
      return tensors;
    }
    dynamic::Function::Call call;
    for (const Tensor& input : inputs) call.signature().add(input);
    saved.traced.run(call, body);
    return std::move(call.tensors());
  }

 private:
  std::vector<Tensor> run(const Saved& saved, std::vector<Tensor> inputs) const {
    for (const std::size_t variable : saved.read) inputs.push_back(variables_[variable].value());
    std::vector<Tensor> results = saved.graph.run(std::move(inputs), constants_);
    const std::size_t count = results.size() - saved.written.size();
    for (std::size_t k = 0; k < saved.written.size(); ++k) variables_[saved.written[k]].assign(results[count + k]);
    results.resize(count);
    return results;
  }

  static void check(const Saved& saved, const std::vector<Tensor>& inputs) {
    CAPSTAN_CHECK(inputs.size() == saved.inputs.size(), ValueError, saved.name, ": there are ", inputs.size(),
                  " inputs, and the function takes ", saved.inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const TensorSpec& spec = saved.inputs[i];
      CAPSTAN_CHECK(inputs[i].has_value(), ValueError, saved.name, ": the input \"", spec.name, "\" is empty");
      CAPSTAN_CHECK(inputs[i].dtype() == spec.dtype, DTypeError, saved.name, ": the input \"", spec.name, "\" is ",
                    inputs[i].dtype(), ", not ", spec.dtype, help("convert it with cast(x, dtype)"));
      CAPSTAN_CHECK(spec.fits(inputs[i].dtype(), inputs[i].shape()), ShapeError, saved.name, ": the input \"",
                    spec.name, "\" has shape ", inputs[i].shape(), ", and the function was saved for ",
                    spec.to_string());
    }
  }

  void read_variable(const AttributeValue& form, const std::map<std::string, Tensor>& tensors, const std::string& key,
                     const Reading& reading) {
    const auto found = tensors.find(key);
    if (found == tensors.end()) reading.fail("the tensor \"" + key + "\" is missing");
    VariableOptions options{.trainable = truth(reading.member(form, "trainable"), reading),
                            .name = text(reading.member(form, "name"), reading)};
    variables_.emplace_back(found->second, options);
    variables_.back().set_path(text(reading.member(form, "path"), reading));
  }

  static std::string text(const AttributeValue& value, const Reading& reading) {
    if (value.kind != AttributeValue::Kind::kString) reading.fail(value.to_string() + " is no text");
    return value.text;
  }
  static bool truth(const AttributeValue& value, const Reading& reading) {
    if (value.kind != AttributeValue::Kind::kBool) reading.fail(value.to_string() + " is neither true nor false");
    return value.truth;
  }

  static std::vector<TensorSpec> read_specs(const AttributeValue& forms, const Reading& reading) {
    std::vector<TensorSpec> specs;
    for (const AttributeValue& form : reading.list(forms, "a list of inputs or outputs")) {
      try {
        Shape shape;
        DType dtype = DType::kFloat32;
        set_field(shape, reading.member(form, "shape"), "saved_model", "shape");
        set_field(dtype, reading.member(form, "dtype"), "saved_model", "dtype");
        specs.emplace_back(shape, dtype, text(reading.member(form, "name"), reading));
      } catch (const IoError&) {
        throw;
      } catch (const Error& error) {
        reading.fail(error.what());
      }
    }
    return specs;
  }

  void read_function(const AttributeValue& form, const Reading& reading) {
    std::string name = text(reading.member(form, "name"), reading);
    std::vector<TensorSpec> inputs = read_specs(reading.member(form, "inputs"), reading);
    std::vector<TensorSpec> outputs = read_specs(reading.member(form, "outputs"), reading);
    const AttributeValue& graph_form = reading.member(form, "graph");
    SavedGraph graph(graph_form, reading);
    std::vector<std::size_t> read =
        reading.numbers(reading.member(graph_form, "variables"), reading.variables, "a variable of a function");
    std::vector<std::size_t> written;
    for (const AttributeValue& item : reading.list(reading.member(graph_form, "writes"), "the list of writes"))
      written.push_back(reading.number(item, reading.variables, "a variable that is written"));
    if (graph.inputs() != inputs.size() + read.size() || graph.results() != outputs.size() + written.size())
      reading.fail("the graph of the function \"" + name + "\" has other inputs or results than the function");
    bool is_open = false;
    for (const TensorSpec& spec : inputs) {
      is_open = is_open || std::find(spec.shape->begin(), spec.shape->end(), -1) != spec.shape->end();
    }
    dynamic::Function traced({.name = name, .reduce_retracing = is_open});
    functions_.push_back({std::move(name), std::move(inputs), std::move(outputs), std::move(graph), std::move(read),
                          std::move(written), std::move(traced)});
  }

  std::vector<Saved> functions_;
  std::vector<Variable> variables_;
  Constants constants_;
};

const std::string& LoadedFunction::name() const { return state_->function(number_).name; }
const std::vector<TensorSpec>& LoadedFunction::inputs() const { return state_->function(number_).inputs; }
const std::vector<TensorSpec>& LoadedFunction::outputs() const { return state_->function(number_).outputs; }
std::vector<Tensor> LoadedFunction::operator()(const std::vector<Tensor>& inputs) const {
  return state_->call(state_->function(number_), inputs);
}

const LoadedFunction& Loaded::function(const std::string& name) const {
  std::string names;
  for (const LoadedFunction& function : functions) {
    if (function.name() == name) return function;
    names += (names.empty() ? "" : ", ") + function.name();
  }
  throw ValueError(detail::join("saved_model: there is no function \"", name, "\"; there are: ", names));
}

namespace {
constexpr const char* kReader = "saved_model::load";
}

Loaded load(const std::string& folder) {
  const std::string path = path_of(folder);
  return read_functions(path, io::read_checkpoint(kReader, path));
}

Loaded read_functions(const std::string& path, const io::CheckpointContent& content) {
  const auto fail = [&](const std::string& problem) { io::fail_file(kReader, problem, path); };
  const auto graphs = content.metadata.find(kGraphs);
  if (graphs == content.metadata.end()) fail("it is a checkpoint without functions");
  AttributeValue list;
  try {
    list = AttributeValue::from_json(graphs->second);
  } catch (const Error& error) {
    fail(error.what());
  }
  const auto state = std::make_shared<LoadedState>(list, content.tensors, Reading{.fail = fail});
  const auto description = content.metadata.find(kDescription);
  return state->give(description == content.metadata.end() ? "" : description->second);
}

}  // namespace capstan::saved_model
