// Every op of the library as a builtin function, by one binder.
//
// A function is made from the name of an op and a list of what Python calls its parameters (capstan/_table.py), each of
// which is an input of the op, one of its attributes, a choice of which the library has one, or accepted and ignored. A
// call turns positions and keywords into operands and attributes; inputs that are no tensors take the dtype of those
// that are, unless the table says that a parameter has a dtype of its own, as indices do.
#include <algorithm>
#include <memory>
#include <utility>

#include "capstan/op_calls.h"
#include "src/python/composites.h"
#include "src/python/graph_layers.h"
#include "src/python/objects.h"

namespace capstan::python {

namespace {

// Elements from which on an op is worth the release of Python's lock, which costs 20 ns.
constexpr std::int64_t kUnlockedFrom = std::int64_t{1} << 15;

constexpr std::size_t kMostParameters = 16;
constexpr std::size_t kMostInputs = 8;

struct Parameter {
  int input = -1;
  int field = -1;
  bool own_dtype = false;
  bool required = false;
  std::string only;  // the Python text of the one value that it may have, or nothing
};

struct Binding {
  Op op;
  AttributeSet defaults;
  std::string name, text;
  Signature signature;
  std::vector<Parameter> parameters;  // for each name of the signature
  bool is_variadic = false, mixes_dtypes = false, has_choices = false;
  PyMethodDef definition = {};

  Binding(const std::string& op_name, const std::string& python_name)
      : op(op_name), defaults(op), name(python_name), signature(name.c_str(), {}, 0) {}
};

PyObject* result_of(std::vector<Tensor> outputs, bool as_list) {
  const auto n = static_cast<Py_ssize_t>(outputs.size());
  PyObject* const made = as_list ? PyList_New(n) : PyTuple_New(n);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const item = wrap(std::move(outputs[static_cast<std::size_t>(i)]));
    as_list ? PyList_SET_ITEM(made, i, item) : PyTuple_SET_ITEM(made, i, item);
  }
  return made;
}

// Calls the op, without the lock if there is much to do.
PyObject* run(const Binding& binding, std::span<Operand> operands, const AttributeSet& attributes, bool is_large) {
  const bool is_one = binding.op.outputs() == 1;
  if (any_in_graph(operands)) [[unlikely]] {
    std::vector<Tensor> outputs = call_in_graph(binding.op, operands, attributes);
    return is_one ? wrap(std::move(outputs[0])) : result_of(std::move(outputs), binding.op.outputs() < 0);
  }
  if (!is_large) {
    if (is_one) return wrap(call(binding.op, operands, attributes));
    return result_of(call_all(binding.op, operands, attributes), binding.op.outputs() < 0);
  }
  std::vector<Tensor> outputs;
  {
    const Unlocked unlocked;
    outputs = call_all(binding.op, operands, attributes);
  }
  return is_one ? wrap(std::move(outputs[0])) : result_of(std::move(outputs), binding.op.outputs() < 0);
}

std::int64_t size_of_argument(PyObject* o) { return is_tensor(o) ? tensor_of(o).size() : 0; }

// The dtype of the first tensor among the inputs, which those that are none take.
const DType* common_dtype(const Binding& binding, PyObject* const* given, DType* dtype) {
  for (std::size_t i = 0; i < binding.parameters.size(); ++i) {
    const Parameter& parameter = binding.parameters[i];
    if (parameter.input < 0 || parameter.own_dtype || given[i] == nullptr || !is_leaf(given[i])) continue;
    *dtype = dtype_of(given[i]);
    return dtype;
  }
  return nullptr;
}

void put_attributes(const Binding& binding, PyObject* const* given, AttributeSet& attributes) {
  for (std::size_t i = 0; i < binding.parameters.size(); ++i) {
    const Parameter& parameter = binding.parameters[i];
    if (parameter.field < 0 || given[i] == nullptr) continue;
    if (given[i] == Py_None && !parameter.required) continue;
    attributes.put(parameter.field, to_attribute(given[i]));
  }
}

PyObject* call_variadic(const Binding& binding, PyObject* const* given) {
  PyObject* list = nullptr;
  for (std::size_t i = 0; i < binding.parameters.size(); ++i) {
    if (binding.parameters[i].input == 0) list = given[i];
  }
  const nb::object items =
      steal(is_leaf(list) || PyObject_CheckBuffer(list) != 0 ? PySequence_List(list)
                                                             : PySequence_Fast(list, "a list of tensors is needed"));
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items.ptr());
  DType dtype;
  Wish wish;
  std::int64_t size = 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.ptr(), i);
    size += size_of_argument(item);
    if (wish.dtype != nullptr || !is_leaf(item)) continue;
    dtype = dtype_of(item);
    wish.dtype = &dtype;
  }
  if (binding.mixes_dtypes) wish.dtype = nullptr;
  std::vector<Tensor> tensors;
  std::vector<Operand> operands;
  tensors.reserve(static_cast<std::size_t>(n));
  for (Py_ssize_t i = 0; i < n; ++i) tensors.push_back(to_tensor(PySequence_Fast_GET_ITEM(items.ptr(), i), wish));
  for (const Tensor& tensor : tensors) operands.emplace_back(tensor);
  AttributeSet attributes = binding.defaults;
  put_attributes(binding, given, attributes);
  return run(binding, operands, attributes, size >= kUnlockedFrom);
}

PyObject* call_fixed(const Binding& binding, PyObject* const* given) {
  Tensor holders[kMostInputs];
  Operand operands[kMostInputs] = {0, 0, 0, 0, 0, 0, 0, 0};
  const int arity = binding.op.inputs();
  DType dtype;
  const DType* const common = arity > 1 ? common_dtype(binding, given, &dtype) : nullptr;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < binding.parameters.size(); ++i) {
    const Parameter& parameter = binding.parameters[i];
    if (parameter.input < 0) continue;
    const auto at = static_cast<std::size_t>(parameter.input);
    size += size_of_argument(given[i]);
    if (parameter.own_dtype && !is_leaf(given[i])) {  // a number would take the dtype of the other inputs
      holders[at] = to_tensor(given[i]);
      operands[at] = Operand(static_cast<const Tensor&>(holders[at]));
      continue;
    }
    if (!to_operand(given[i], parameter.own_dtype ? nullptr : common, holders[at], &operands[at])) {
      PyErr_Format(PyExc_TypeError, "%s(): %U is %R, which is no tensor", binding.name.c_str(),
                   binding.signature.names[i], given[i]);
      return nullptr;
    }
    // As in TensorFlow, a list of integers after a float is one of floats.
    if (common == nullptr && at == 1 && operands[0].kind() == Operand::Kind::kFloat && !parameter.own_dtype &&
        (PyList_Check(given[i]) || PyTuple_Check(given[i])) && is_integer(holders[at].dtype())) {
      holders[at] = cast(holders[at], floatx());
      operands[at] = Operand(static_cast<const Tensor&>(holders[at]));
    }
  }
  const std::span<Operand> list(operands, static_cast<std::size_t>(arity));
  if (binding.op.fields().empty()) return run(binding, list, binding.defaults, size >= kUnlockedFrom);
  AttributeSet attributes = binding.defaults;
  put_attributes(binding, given, attributes);
  return run(binding, list, attributes, size >= kUnlockedFrom);
}

// Another value than the only one of a choice would be a silent wrong number.
void check_choices(const Binding& binding, PyObject* const* given) {
  for (std::size_t i = 0; i < binding.parameters.size(); ++i) {
    const std::string& only = binding.parameters[i].only;
    if (only.empty() || given[i] == nullptr || given[i] == Py_None) continue;
    const auto text = nb::cast<std::string>(steal(PyObject_Repr(given[i])));
    if (text == only) continue;
    const auto name = nb::cast<std::string>(nb::handle(binding.signature.names[i]));
    throw ValueError(binding.name + ": " + name + " is " + text + "; the library has " + only + " alone" +
                     (name == "data_format" ? "\n  help: channels are the last axis; transpose the input" : ""));
  }
}

PyObject* call_on_tensors(const Binding& binding, PyObject* const* given) {
  CAPSTAN_PYTHON_TRY
  if (binding.has_choices) check_choices(binding, given);
  return binding.is_variadic ? call_variadic(binding, given) : call_fixed(binding, given);
  CAPSTAN_PYTHON_CATCH_OF_OP(nullptr)
}

PyObject* call_with_composites(const Binding& binding, PyObject* const* given) {
  CAPSTAN_PYTHON_TRY
  nb::dict arguments;
  for (std::size_t i = 0; i < binding.parameters.size(); ++i) {
    if (given[i] != nullptr) arguments[nb::handle(binding.signature.names[i])] = nb::handle(given[i]);
  }
  return call_on_composites(binding.name, arguments);
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* call_op(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  const auto& binding = *static_cast<const Binding*>(PyCapsule_GetPointer(self, nullptr));
  PyObject* given[kMostParameters];
  if (!binding.signature.read(args, n, keywords, given)) return nullptr;
  PyObject* const result = call_on_tensors(binding, given);
  if (result == nullptr && std::any_of(given, given + binding.parameters.size(), has_composite)) [[unlikely]] {
    PyErr_Clear();
    return call_with_composites(binding, given);
  }
  return result;
}

std::vector<std::string> names_of_inputs(const Op& op) {
  std::vector<std::string> names;
  std::string_view rest = op.input_names();
  while (!rest.empty()) {
    const std::size_t end = rest.find(", ");
    names.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
  }
  if (op.inputs() < 0) names.resize(1);
  return names;
}

// "reduce_sum(input_tensor, axis=None, keepdims=False, name=None)"
std::string signature_text(const Binding& binding) {
  std::string text = binding.name + "(";
  for (std::size_t i = 0; i < binding.parameters.size(); ++i) {
    const Parameter& parameter = binding.parameters[i];
    text += (i == 0 ? "" : ", ") + std::string(PyUnicode_AsUTF8(binding.signature.names[i]));
    if (parameter.required) continue;
    std::string value = parameter.only.empty() ? "None" : parameter.only;
    if (parameter.field >= 0) {
      const nb::object number = nb::steal(from_attribute(binding.defaults.get(parameter.field)));
      value = nb::cast<std::string>(steal(PyObject_Repr(number.ptr())));
      if (value == "nan") value = "None";
      if (value == "inf" || value == "-inf") value = value[0] == '-' ? "-1e999" : "1e999";  // what a signature can say
    }
    text += "=" + value;
  }
  return text + ")";
}

// A parameter is written as in the table: "axis", "input_tensor=x", "name=" (ignored), "data_format~'NHWC'" (a choice
// of which there is one), "indices!" (dtype of its own).
nb::object bind(const std::string& op_name, const std::string& python_name,
                const std::vector<std::string>& parameters) {
  auto binding = std::make_unique<Binding>(op_name, python_name);
  const std::vector<std::string> inputs = names_of_inputs(binding->op);
  if (parameters.size() > kMostParameters || inputs.size() > kMostInputs) throw nb::value_error("too many parameters");
  binding->is_variadic = binding->op.inputs() < 0;
  binding->mixes_dtypes = binding->op.takes_any_dtypes();
  const std::span<const AttributeField> fields = binding->op.fields();
  for (const std::string& entry : parameters) {
    Parameter parameter;
    const std::size_t mark = entry.find_first_of("=~");
    std::string name = entry.substr(0, mark);
    std::string target = mark == std::string::npos ? name : entry.substr(mark + 1);
    if (mark != std::string::npos && entry[mark] == '~') {
      parameter.only = std::exchange(target, "");
      binding->has_choices = true;
    }
    if (name.ends_with('!')) {
      parameter.own_dtype = true;
      name.pop_back();
      if (target.ends_with('!')) target.pop_back();
    }
    const auto input = std::find(inputs.begin(), inputs.end(), target);
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const AttributeField& f) { return f.name == target; });
    if (input != inputs.end()) {
      parameter.input = static_cast<int>(input - inputs.begin());
      parameter.required = true;
    } else if (field != fields.end()) {
      parameter.field = static_cast<int>(field - fields.begin());
      parameter.required = field->required;
    } else if (!target.empty()) {
      throw nb::value_error((op_name + " has no \"" + target + "\"").c_str());
    }
    binding->signature.names.push_back(PyUnicode_InternFromString(name.c_str()));
    binding->parameters.push_back(parameter);
  }
  for (std::size_t i = 0; i < binding->parameters.size(); ++i) {
    if (!binding->parameters[i].required) continue;
    if (i != static_cast<std::size_t>(binding->signature.required)) {
      throw nb::value_error((op_name + ": a required parameter stands behind an optional one").c_str());
    }
    ++binding->signature.required;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool found = std::any_of(binding->parameters.begin(), binding->parameters.end(),
                                   [&](const Parameter& p) { return p.input == static_cast<int>(i); });
    if (!found) throw nb::value_error((op_name + ": no parameter is its input \"" + inputs[i] + "\"").c_str());
  }
  binding->text = signature_text(*binding) + "\n--\n\n" + std::string(binding->op.text());
  Binding* const kept = binding.release();  // functions live as long as the process
  kept->definition = {kept->name.c_str(), fast(call_op), METH_FASTCALL | METH_KEYWORDS, kept->text.c_str()};
  static PyObject* const module = PyUnicode_InternFromString("capstan");
  return steal(PyCFunction_NewEx(&kept->definition, steal(PyCapsule_New(kept, nullptr, nullptr)).ptr(), module));
}

}  // namespace

void add_ops(nb::module_& m) {
  m.def("bind", &bind);
  m.def("list_ops", [] {
    nb::list list;
    for (const OpInfo& info : list_ops()) {
      const Op op(info.name);
      nb::list fields;
      for (const AttributeField& field : op.fields())
        fields.append(nb::make_tuple(std::string(field.name), field.required));
      list.append(nb::make_tuple(std::string(info.name), names_of_inputs(op), op.inputs(), op.outputs(), fields));
    }
    return list;
  });
}

}  // namespace capstan::python
