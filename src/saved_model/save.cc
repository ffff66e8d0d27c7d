// Functions as one file: a list of their graphs as JSON, and the tensors of variables and constants.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>

#include "capstan/ops/host.h"
#include "capstan/saved_model.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/graph/shapes.h"
#include "src/io/checkpoint_file.h"
#include "src/saved_model/file.h"
#include "src/saved_model/graph_form.h"
#include "src/transforms/open_lengths.h"
#include "src/transforms/trace.h"

namespace capstan {
namespace saved_model {

namespace {

void check_savable(const std::string& name, const std::vector<std::string>& refused) {
  if (refused.empty()) return;
  std::string all;
  for (const std::string& what : refused) all += (all.empty() ? "" : ", ") + what;
  throw ValueError(detail::join("saved_model: the function \"", name, "\" cannot be saved: it has ", all,
                                help("files hold ops of the library, without values and effects of the program "
                                     "and the gradients of control flow")));
}

void check_savable(const std::string& name, const Graph& graph) {
  Tables tables;
  std::vector<std::string> refused;
  form_of(graph, tables, refused);
  check_savable(name, refused);
}

// Both graphs are written; what depends on a length differs.
void check_alike(const std::string& name, const Graph& first, const Graph& second) {
  Tables tables[2];
  std::vector<std::string> refused;
  const AttributeValue forms[] = {form_of(first, tables[0], refused), form_of(second, tables[1], refused)};
  check_savable(name, refused);
  std::string what;
  const std::vector<AttributeValue>&nodes = forms[0].find("nodes")->list, &others = forms[1].find("nodes")->list;
  for (std::size_t i = 0; i < std::min(nodes.size(), others.size()) && what.empty(); ++i) {
    if (nodes[i].to_json() == others[i].to_json()) continue;
    what = detail::join("op ", i, " is ", nodes[i].to_string(), " and ", others[i].to_string());
  }
  if (what.empty() && forms[0].to_json() != forms[1].to_json()) what = "it gives other values";
  for (std::size_t i = 0; i < std::min(tables[0].constants.size(), tables[1].constants.size()) && what.empty(); ++i) {
    const Tensor &a = tables[0].constants[i], &b = tables[1].constants[i];
    if (!equal_constants(a, b)) what = detail::join("a constant is ", a.to_string(), " and ", b.to_string());
  }
  CAPSTAN_CHECK(what.empty(), ValueError, "saved_model: what the function \"", name,
                "\" does depends on a length that is open: ", what,
                help("take lengths from tensors: size(x), shape(x), reshape with -1, *_like; or leave no length open"));
}

AttributeValue form_of(const TensorSpec& spec) {
  AttributeValue form = AttributeValue::map();
  form.set("name", spec.name);
  form.set("dtype", std::string(name_of(spec.dtype)));
  std::vector<AttributeValue> lengths;
  for (const std::int64_t length : *spec.shape) lengths.emplace_back(length);
  form.set("shape", std::move(lengths));
  return form;
}

// Each has a name, of its own.
std::vector<AttributeValue> forms_of(const std::string& function, std::vector<TensorSpec> specs, const char* what) {
  std::set<std::string> names;
  std::vector<AttributeValue> forms;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    std::string& name = specs[i].name;
    if (name.empty()) name = specs.size() == 1 ? what : detail::join(what, "_", i);
    CAPSTAN_CHECK(names.insert(name).second, ValueError, "saved_model: two ", what, "s of the function \"", function,
                  "\" are called \"", name, "\"");
    forms.push_back(form_of(specs[i]));
  }
  return forms;
}

// What the function gives; lengths that differ between its traces are open.
std::vector<AttributeValue> outputs_of(const Entry& entry, const Graph& graph) {
  std::vector<std::optional<TensorSpec>> specs = detail::concrete_results(*entry.trace);
  CAPSTAN_CHECK(specs.size() == graph.results.size(), ValueError, "saved_model: a result of the function \"",
                entry.name, "\" is row-sparse", help("give to_dense() of it"));
  if (entry.other != nullptr) {
    const std::vector<std::optional<TensorSpec>> others = detail::concrete_results(*entry.other);
    for (std::size_t k = 0; k < specs.size(); ++k) {
      for (int i = 0; specs[k] && i < specs[k]->shape->rank(); ++i) {
        if ((*specs[k]->shape)[i] != (*others[k]->shape)[i]) specs[k]->shape->set(i, -1);
      }
    }
  }
  const bool are_named = !entry.output_names.empty();
  CAPSTAN_CHECK(!are_named || entry.output_names.size() == specs.size(), ValueError, "saved_model: there are ",
                entry.output_names.size(), " names for ", specs.size(), " outputs of the function \"", entry.name,
                "\"");
  std::vector<TensorSpec> outputs;
  for (std::size_t k = 0; k < specs.size(); ++k) {
    // An empty result has no type.
    outputs.push_back(specs[k] ? *specs[k] : TensorSpec(Shape{}));
    outputs.back().name = are_named ? entry.output_names[k] : "";
  }
  return forms_of(entry.name, std::move(outputs), "output");
}

AttributeValue form_of(const Entry& entry, Tables& tables) {
  CAPSTAN_CHECK(entry.trace != nullptr, ValueError, "saved_model: the function \"", entry.name, "\" has no trace",
                help("make it with saved_model::entry()"));
  const Graph& graph = traced_graph(*entry.trace);
  std::vector<std::string> refused;
  AttributeValue form = AttributeValue::map();
  form.set("name", entry.name);
  form.set("inputs", forms_of(entry.name, entry.inputs, "input"));
  form.set("outputs", outputs_of(entry, graph));
  form.set("graph", form_of(graph, tables, refused));
  check_savable(entry.name, refused);
  return form;
}

AttributeValue form_of(const Variable& variable) {
  AttributeValue form = AttributeValue::map();
  form.set("name", variable.name());
  form.set("path", variable.path());
  form.set("trainable", variable.trainable());
  return form;
}

}  // namespace

void save(const std::string& folder, const std::vector<Entry>& functions, const SaveOptions& options) {
  CAPSTAN_CHECK(!inside_function(), TraceError,
                "saved_model::save: it was called while a function is traced, when variables have no values",
                help("call it outside of function()"));
  Tables tables;
  for (const Variable& variable : options.variables) tables.number_of(variable);
  std::set<std::string> names;
  std::vector<AttributeValue> forms;
  for (const Entry& entry : functions) {
    CAPSTAN_CHECK(names.insert(entry.name).second, ValueError, "saved_model: two functions are called \"", entry.name,
                  "\"");
    forms.push_back(form_of(entry, tables));
  }
  std::vector<AttributeValue> variables;
  for (const Variable& variable : tables.variables) variables.push_back(form_of(variable));
  AttributeValue list = AttributeValue::map();
  list.set("functions", std::move(forms));
  list.set("variables", std::move(variables));

  io::CheckpointContent content;
  content.metadata = {{kGraphs, list.to_json()}, {kDescription, options.description}};
  for (std::size_t i = 0; i < tables.variables.size(); ++i)
    content.tensors[name_of_variable(i)] = tables.variables[i].value();
  for (std::size_t i = 0; i < tables.constants.size(); ++i) content.tensors[name_of_constant(i)] = tables.constants[i];
  std::error_code error;
  std::filesystem::create_directories(folder, error);  // what is wrong is found when the file is written
  io::write_checkpoint("saved_model::save", path_of(folder), content);
}

}  // namespace saved_model

namespace {

saved_model::Entry entry_of(std::string name, const std::vector<TensorSpec>& inputs,
                            std::vector<std::string> output_names, const TwoTraces& traces) {
  if (traces.second == nullptr) saved_model::check_savable(name, traced_graph(*traces.first));
  return {std::move(name), inputs, std::move(output_names), traces.first, traces.second};
}

}  // namespace

saved_model::Entry detail::traced_entry(std::string name, const FunctionBody& body, int taken,
                                        const std::vector<TensorSpec>& inputs, std::vector<std::string> output_names) {
  CAPSTAN_CHECK(taken == -1 || inputs.size() == static_cast<std::size_t>(taken), ValueError, "saved_model: there are ",
                inputs.size(), " inputs, and the function \"", name, "\" takes ", taken, " tensors");
  const auto check = [&](const Graph& first, const Graph& second) { saved_model::check_alike(name, first, second); };
  const TwoTraces traces = trace_open(name, inputs, body, check);
  return entry_of(std::move(name), inputs, std::move(output_names), traces);
}

saved_model::Entry detail::entry_of_traces(std::string name, const TraceForShapes& trace,
                                           const std::vector<TensorSpec>& inputs,
                                           std::vector<std::string> output_names) {
  const auto check = [&](const Graph& first, const Graph& second) { saved_model::check_alike(name, first, second); };
  const TwoTraces traces = trace_open(name, inputs, trace, check);
  return entry_of(std::move(name), inputs, std::move(output_names), traces);
}

}  // namespace capstan
