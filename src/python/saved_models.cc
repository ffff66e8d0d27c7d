// Functions in files; what the objects of a program are made of, python/capstan/saved_model.py says in a text beside
// them.
#include "capstan/saved_model.h"

#include "capstan/onnx.h"
#include "src/python/layers.h"

namespace capstan::python {

namespace {

nb::list lengths_of(const Shape& shape) {
  nb::list lengths;
  for (const std::int64_t length : shape) lengths.append(length);
  return lengths;
}

// `make(shapes)` gives a concrete function.
saved_model::Entry make_entry(const std::string& name, const std::vector<TensorSpec>& inputs, const nb::callable& make,
                              const std::vector<std::string>& output_names) {
  const auto trace = [&](const std::vector<Shape>& shapes) {
    nb::list list;
    for (const Shape& shape : shapes) list.append(lengths_of(shape));
    return state_of_concrete(make(list));
  };
  return detail::entry_of_traces(name, trace, inputs, output_names);
}

void save(const std::string& folder, const std::vector<saved_model::Entry>& entries, const nb::list& variables,
          const std::string& description) {
  saved_model::SaveOptions options{.variables = {}, .description = description};
  for (const nb::handle variable : variables) options.variables.push_back(variable_of(variable.ptr()));
  const Unlocked unlocked;
  saved_model::save(folder, entries, options);
}

nb::list call(const saved_model::LoadedFunction& function, const nb::list& inputs) {
  std::vector<Tensor> tensors;
  for (const nb::handle input : inputs) tensors.push_back(to_tensor(input.ptr()));
  {
    const Unlocked unlocked;
    tensors = function(tensors);
  }
  nb::list results;
  for (Tensor& tensor : tensors) results.append(steal(wrap(std::move(tensor))));
  return results;
}

// Functions, variables, and the text.
nb::tuple load(const std::string& folder) {
  saved_model::Loaded loaded;
  {
    const Unlocked unlocked;
    loaded = saved_model::load(folder);
  }
  nb::list functions, variables;
  for (const saved_model::LoadedFunction& function : loaded.functions) functions.append(nb::cast(function));
  for (const Variable& variable : loaded.variables) variables.append(steal(wrap(variable)));
  return nb::make_tuple(functions, variables, loaded.description);
}

}  // namespace

void add_saved_models(nb::module_& m) {
  nb::class_<saved_model::Entry>(m, "SavedEntry");
  nb::class_<saved_model::LoadedFunction>(m, "LoadedFunction")
      .def_prop_ro("name", &saved_model::LoadedFunction::name)
      .def_prop_ro("inputs", &saved_model::LoadedFunction::inputs)
      .def_prop_ro("outputs", &saved_model::LoadedFunction::outputs)
      .def("__call__", call);
  m.def("saved_entry", make_entry);
  m.def("save_functions", save);
  m.def("load_functions", load);
  m.def("save_onnx", [](const LayerHandle& model, const std::string& path, const std::vector<TensorSpec>& inputs,
                        std::int64_t opset) { save_onnx(path, model_of(model), {.inputs = inputs, .opset = opset}); });
}

}  // namespace capstan::python
