// The Python type of traced functions.
//
// A call walks its arguments once and writes the signature of the library: tensors and arrays by dtype and shape,
// variables by identity, numbers, texts and None by value, lists, tuples and dicts with their form, everything else by
// identity. If there is no trace for it, the Python function is called with symbolic tensors in the places of tensors;
// of its result the tensors are taken out and the rest is kept, into which later calls put their tensors.
#include <cstring>
#include <deque>
#include <memory>
#include <optional>

#include "capstan/control_flow.h"
#include "capstan/dynamic.h"
#include "src/python/composites.h"
#include "src/python/nest.h"

namespace capstan::python {

namespace {

struct PyFunction {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
  PyObject* attributes;
  PyObject* weak;
  PyObject* kinds;  // a list of what it was traced for, unless a signature says that
  std::shared_ptr<dynamic::Function> traced;
  std::vector<TensorSpec> specs;
  std::string name;
  bool is_untraceable;  // it has met what needs values while it is traced
  bool is_method;       // its first argument is an object, to which no spec belongs
  bool is_flat;         // each spec is one argument, so a list in its place is a tensor
};

PyTypeObject* function_type;
PyTypeObject* spec_type;

PyFunction& of(PyObject* o) { return *reinterpret_cast<PyFunction*>(o); }

// --- arguments ---

enum StructureTag : std::size_t { kList, kTuple, kDict };
constexpr std::uint64_t kNoneBits = 0x656e6f4e;  // no value of a bool

bool is_spec(PyObject* o) { return Py_TYPE(o) == spec_type; }
bool is_array(PyObject* o) { return PyObject_CheckBuffer(o) != 0 && !PyBytes_Check(o) && !PyByteArray_Check(o); }

// What stands for a tensor if a spec is one argument.
bool is_list_for_spec(PyObject* o, std::size_t spec, std::size_t specs) {
  return spec < specs && (PyList_Check(o) || PyTuple_Check(o));
}

class Arguments {
 public:
  Arguments(detail::CallSignature& signature, const std::vector<TensorSpec>& specs)
      : signature_(signature), specs_(specs) {}

  void add(PyObject* o) {
    using Type = detail::NumberType;
    if (is_variable(o)) return signature_.add(static_cast<const Variable&>(variable_of(o)));
    if (is_structure(o)) return add_structure(o);
    if (next_spec_ < specs_.size()) {
      if (is_spec(o)) return ++next_spec_, add_spec(o);
      const DType dtype = specs_[next_spec_++].dtype;
      made_.push_back(to_tensor(o, {&dtype, !is_leaf(o)}));
      return signature_.add(static_cast<const Tensor&>(made_.back()));
    }
    if (is_tensor(o)) return signature_.add(static_cast<const Tensor&>(tensor_of(o)));
    if (o == Py_None) return signature_.add_number(Type::kBool, kNoneBits);
    if (PyBool_Check(o)) return signature_.add_number(Type::kBool, o == Py_True ? 1 : 0);
    if (PyLong_CheckExact(o)) {
      int overflow = 0;
      const long long n = PyLong_AsLongLongAndOverflow(o, &overflow);
      if (overflow != 0) return signature_.add(nb::cast<std::string>(steal(PyObject_Str(o))));
      return signature_.add_number(Type::kSigned, static_cast<std::uint64_t>(n));
    }
    if (PyFloat_CheckExact(o)) {
      const double x = PyFloat_AS_DOUBLE(o);
      std::uint64_t bits;
      std::memcpy(&bits, &x, sizeof(bits));
      return signature_.add_number(Type::kDouble, bits);
    }
    if (PyUnicode_Check(o)) return add_text(o);
    if (is_composite(o)) has_composites_ = true;
    if (is_array(o)) {
      made_.push_back(to_tensor(o));
      return signature_.add(static_cast<const Tensor&>(made_.back()));
    }
    if (is_spec(o)) return add_spec(o);
    add_object(o);
  }

  // Of the function itself, not within a structure.
  void add_argument(PyObject* o, bool is_flat) {
    if (!is_flat || !is_list_for_spec(o, next_spec_, specs_.size())) return add(o);
    const DType dtype = specs_[next_spec_++].dtype;
    made_.push_back(to_tensor(o, {&dtype, true}));
    signature_.add(static_cast<const Tensor&>(made_.back()));
  }

  // By identity.
  void add_object(PyObject* o) {
    signature_.add_number(detail::NumberType::kUnsigned, reinterpret_cast<std::uintptr_t>(o));
  }

  /// Whether there are texts or other composites, of which there are no symbols.
  bool has_composites() const { return has_composites_; }

  void add_text(PyObject* text) {
    Py_ssize_t size = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == nullptr) throw nb::python_error();
    signature_.add(std::string_view(data, static_cast<std::size_t>(size)));
  }

 private:
  void add_spec(PyObject* o) { signature_.add(*nb::inst_ptr<TensorSpec>(o)); }
  void add_structure(PyObject* o) {
    const Level level;
    if (PyDict_Check(o)) {
      signature_.add_list(static_cast<std::size_t>(PyDict_Size(o)) * 4 + kDict);
      const nb::object keys = sorted_keys(o);
      for (const nb::handle key : nb::borrow<nb::list>(keys)) {
        add_key(key.ptr());
        add(PyDict_GetItem(o, key.ptr()));
      }
      return;
    }
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    signature_.add_list(static_cast<std::size_t>(n) * 4 + (PyList_Check(o) ? kList : kTuple));
    for (Py_ssize_t i = 0; i < n; ++i) add(PySequence_Fast_GET_ITEM(o, i));
  }
  void add_key(PyObject* key) { PyUnicode_Check(key) ? add_text(key) : add_text(steal(PyObject_Repr(key)).ptr()); }

  detail::CallSignature& signature_;
  const std::vector<TensorSpec>& specs_;
  std::size_t next_spec_ = 0;
  bool has_composites_ = false;
  std::deque<Tensor> made_;  // whose addresses stay
};

// The arguments with symbolic tensors in the places of tensors and of what became one.
nb::object with_symbols(PyObject* o, const std::vector<Tensor>& symbols, std::size_t& next, std::size_t& spec,
                        std::size_t specs) {
  return map_leaves(o, [&](PyObject* leaf) {
    if (is_variable(leaf)) return Py_NewRef(leaf);
    const bool by_spec = spec < specs;
    if (by_spec) ++spec;
    if (by_spec || is_tensor(leaf) || is_array(leaf) || is_spec(leaf)) return wrap(symbols[next++]);
    return Py_NewRef(leaf);
  });
}

// --- results ---

// What a trace gave: its structure with capsules in the places of tensors, which hold their number plus one.
struct Result {
  PyObject* form = nullptr;
  PyObject* arguments = nullptr;  // kept alive: the signature may name what is in them by its address
  bool is_tensor = false, is_flat_tuple = false;

  ~Result() {
    if (Py_IsInitialized() == 0) return;
    const Locked lock;
    Py_XDECREF(form);
    Py_XDECREF(arguments);
  }
};

PyObject* slot(std::vector<Tensor>& tensors, Tensor tensor) {
  tensors.push_back(std::move(tensor));
  return PyCapsule_New(reinterpret_cast<void*>(tensors.size()), nullptr, nullptr);
}

std::shared_ptr<Result> take_tensors(PyObject* value, std::vector<Tensor>& tensors) {
  auto result = std::make_shared<Result>();
  result->is_tensor = is_tensor(value);
  bool all_tensors = PyTuple_CheckExact(value);
  for (Py_ssize_t i = 0; all_tensors && i < PyTuple_GET_SIZE(value); ++i) {
    all_tensors = is_tensor(PyTuple_GET_ITEM(value, i));
  }
  result->is_flat_tuple = all_tensors;
  result->form = map_leaves(value,
                            [&](PyObject* leaf) -> PyObject* {
                              if (is_leaf(leaf)) return slot(tensors, value_of(leaf));
                              const bool is_number = PyFloat_Check(leaf) || PyLong_Check(leaf) || PyComplex_Check(leaf);
                              if (is_number || is_array(leaf)) return slot(tensors, to_tensor(leaf));
                              return Py_NewRef(leaf);
                            })
                     .release()
                     .ptr();
  return result;
}

PyObject* put_tensors(const Result& result, std::vector<Tensor>& tensors) {
  if (result.is_tensor) return wrap(std::move(tensors[0]));
  if (result.is_flat_tuple) {
    const auto n = static_cast<Py_ssize_t>(tensors.size());
    PyObject* const made = PyTuple_New(n);
    for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(made, i, wrap(std::move(tensors[static_cast<std::size_t>(i)])));
    return made;
  }
  return map_leaves(result.form,
                    [&](PyObject* leaf) -> PyObject* {
                      if (!PyCapsule_CheckExact(leaf)) return Py_NewRef(leaf);
                      const auto number = reinterpret_cast<std::size_t>(PyCapsule_GetPointer(leaf, nullptr));
                      return wrap(tensors[number - 1]);
                    })
      .release()
      .ptr();
}

// --- calls ---

// One call: its arguments in a signature, and the Python function as the body of a trace.
class PythonCall {
 public:
  // Inlined, or a call takes a tenth more time.
  [[gnu::always_inline]] PythonCall(PyObject* function, PyObject* kinds, const std::vector<TensorSpec>& specs,
                                    bool is_method, bool is_flat, PyObject* const* args, std::size_t flagged,
                                    PyObject* keywords)
      : call(static_cast<std::uint64_t>(PyVectorcall_NARGS(flagged))),
        function_(function),
        kinds_(kinds),
        specs_(specs.size()),
        is_flat_(is_flat),
        objects_(is_method && PyVectorcall_NARGS(flagged) > 0 ? 1 : 0),
        args_(args),
        given_(PyVectorcall_NARGS(flagged)),
        count_(given_ + (keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords))),
        keywords_(keywords),
        arguments_(call.signature(), specs) {
    if (objects_ == 1) {
      arguments_.add_object(args[0]);
      call.signature().owner = reinterpret_cast<std::uintptr_t>(args[0]);
    }
    for (Py_ssize_t i = objects_; i < count_; ++i) {
      if (i >= given_) arguments_.add_text(PyTuple_GET_ITEM(keywords, i - given_));
      arguments_.add_argument(args[i], is_flat);
    }
  }

  // Whether there are texts or other composites, of which there are no symbols.
  bool has_composites() const { return arguments_.has_composites(); }

  // Whether the tensors are those that the signature says.
  bool fits(const std::vector<TensorSpec>& specs) {
    std::size_t next = 0;
    for (const Source& leaf : call.signature().leaves) {
      if (leaf.tensor() == nullptr) continue;
      if (next == specs.size() || !specs[next].fits(leaf.tensor()->dtype(), leaf.tensor()->shape())) return false;
      ++next;
    }
    return next == specs.size();
  }

  std::shared_ptr<void> operator()(std::vector<Tensor>& tensors) {
    const Locked lock;
    std::size_t next = 0, spec = 0;
    nb::list symbols;
    if (objects_ == 1) symbols.append(nb::handle(args_[0]));
    for (Py_ssize_t i = objects_; i < count_; ++i) {
      if (is_flat_ && is_list_for_spec(args_[i], spec, specs_)) {
        symbols.append(steal(wrap(tensors[next++])));
        ++spec;
      } else {
        symbols.append(with_symbols(args_[i], tensors, next, spec, specs_));
      }
    }
    std::vector<PyObject*> given;
    for (const nb::handle symbol : symbols) given.push_back(symbol.ptr());
    tensors.clear();
    const nb::object value =
        steal(PyObject_Vectorcall(function_, given.data(), static_cast<std::size_t>(given_), keywords_));
    std::shared_ptr<Result> result = take_tensors(value.ptr(), tensors);
    nb::list kept;
    for (Py_ssize_t i = 0; i < count_; ++i) {
      if (!is_tensor(args_[i])) kept.append(nb::handle(args_[i]));
    }
    result->arguments = kept.release().ptr();
    if (specs_ == 0) note_kind();
    return result;
  }

  dynamic::Function::Call call;

 private:
  // The arguments with specs in the places of tensors, and the names of those that have some.
  void note_kind() const {
    nb::list given;
    for (Py_ssize_t i = 0; i < count_; ++i) {
      given.append(map_leaves(args_[i], [](PyObject* leaf) {
        if (is_variable(leaf) || !(is_tensor(leaf) || is_array(leaf))) return Py_NewRef(leaf);
        const Tensor tensor = to_tensor(leaf);
        return nb::cast(TensorSpec(tensor.shape(), tensor.dtype())).release().ptr();
      }));
    }
    const nb::object keywords = keywords_ == nullptr ? nb::object(nb::tuple()) : nb::borrow(keywords_);
    nb::borrow<nb::list>(kinds_).append(nb::make_tuple(given, keywords));
  }

  PyObject* const function_;
  PyObject* const kinds_;
  const std::size_t specs_;
  const bool is_flat_;
  const Py_ssize_t objects_;
  PyObject* const* const args_;
  const Py_ssize_t given_, count_;
  PyObject* const keywords_;
  Arguments arguments_;
};

PyObject* call_traced(PyFunction& o, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  CAPSTAN_PYTHON_TRY
  PythonCall traced(o.function, o.kinds, o.specs, o.is_method, o.is_flat, args, flagged, keywords);
  if (traced.has_composites()) return PyObject_Vectorcall(o.function, args, flagged, keywords);
  std::optional<const void*> result = o.traced->run_if_short(traced.call);
  if (!result) {
    try {
      const Unlocked unlocked;
      result = o.traced->run(traced.call, traced);
    } catch (const Error& error) {
      if (o.specs.empty() || traced.fits(o.specs)) throw;
      set_signature_error(error);
      return nullptr;
    }
  }
  return put_tensors(*static_cast<const Result*>(*result), traced.call.tensors());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

// One kind of calls of a function.
struct Concrete {
  nb::object function;  // its Python function, which is called if an open length has to be traced again
  nb::object kinds;
  std::vector<TensorSpec> specs;
  bool is_method, is_flat;
  std::optional<dynamic::Function::Concrete> traced;  // made while others have the lock of Python
};

// Arguments and keyword arguments as a vectorcall has them.
struct Given {
  Given(const nb::tuple& args, const nb::dict& kwargs) : count(args.size()) {
    for (const nb::handle value : args) values.push_back(value.ptr());
    for (const auto [key, value] : kwargs) values.push_back(value.ptr());
    if (kwargs.size() > 0) keywords = nb::tuple(kwargs.keys());
  }
  std::vector<PyObject*> values;
  std::size_t count;
  nb::object keywords;
};

Concrete make_concrete(const nb::object& function, const nb::tuple& args, const nb::dict& kwargs) {
  const PyFunction& o = of(function.ptr());
  const Given given(args, kwargs);
  PythonCall call(o.function, o.kinds, o.specs, o.is_method, o.is_flat, given.values.data(), given.count,
                  given.keywords.ptr());
  if (call.has_composites())
    throw nb::type_error("get_concrete_function: there are no symbols of texts, ragged and sparse tensors");
  Concrete concrete{nb::borrow(o.function), nb::borrow(o.kinds), o.specs, o.is_method, o.is_flat, {}};
  const Unlocked unlocked;
  concrete.traced.emplace(o.traced->get_concrete(call.call, call));
  return concrete;
}

nb::object call_concrete(const Concrete& concrete, const nb::tuple& args, const nb::dict& kwargs) {
  const Given given(args, kwargs);
  PythonCall call(concrete.function.ptr(), concrete.kinds.ptr(), concrete.specs, concrete.is_method, concrete.is_flat,
                  given.values.data(), given.count, given.keywords.ptr());
  const void* result = nullptr;
  {
    const Unlocked unlocked;
    result = concrete.traced->run(call.call, call);
  }
  return steal(put_tensors(*static_cast<const Result*>(result), call.call.tensors()));
}

// The result with specs in the places of its tensors, whose names are the numbers of these.
nb::object results_of(const Concrete& concrete) {
  const std::vector<std::optional<TensorSpec>> types = concrete.traced->results();
  return map_leaves(static_cast<const Result*>(concrete.traced->structure())->form, [&](PyObject* leaf) -> PyObject* {
    if (!PyCapsule_CheckExact(leaf)) return Py_NewRef(leaf);
    const auto number = reinterpret_cast<std::size_t>(PyCapsule_GetPointer(leaf, nullptr));
    TensorSpec type = *types[number - 1];
    type.name = std::to_string(number - 1);
    return nb::cast(std::move(type)).release().ptr();
  });
}

// Name, op and inputs of each node.
nb::list nodes_of(const Concrete& concrete) {
  nb::list nodes;
  for (const GraphNode& node : concrete.traced->graph_nodes())
    nodes.append(nb::make_tuple(node.name, node.op, node.inputs));
  return nodes;
}

nb::list lengths_of(const TensorSpec& spec) {
  nb::list lengths;
  for (const std::int64_t n : spec.shape->dims()) {
    if (n < 0) {
      lengths.append(nb::none());
    } else {
      lengths.append(n);
    }
  }
  return lengths;
}

// From now on the function runs without a trace; false, with an exception set, if the warning is one.
bool give_up_traces(PyFunction& o) {
  CAPSTAN_PYTHON_TRY
  const nb::python_error error;  // takes what is set
  o.is_untraceable = true;
  const auto text = nb::cast<std::string>(nb::str(error.value()));
  const std::string warning = o.name + " runs without a trace, op by op: " + text.substr(0, text.find('\n'));
  return PyErr_WarnEx(PyExc_UserWarning, warning.c_str(), 1) == 0;
  CAPSTAN_PYTHON_CATCH(false)
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  PyFunction& o = of(self);
  if (!o.is_untraceable && !dynamic::functions_run_eagerly()) {
    PyObject* const result = call_traced(o, args, flagged, keywords);
    // A function around this one, which is being traced, has to do without its trace as well.
    if (result != nullptr || !is_untraceable_error() || inside_function() || !give_up_traces(o)) return result;
  }
  return PyObject_Vectorcall(o.function, args, flagged, keywords);
}

// --- the type ---

PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject *function, *specs;
  const char* name;
  int reduce_retracing, is_method, is_flat;
  Py_ssize_t budget;
  if (PyArg_ParseTuple(args, "OsOpnpp:Function", &function, &name, &specs, &reduce_retracing, &budget, &is_method,
                       &is_flat) == 0)
    return nullptr;
  CAPSTAN_PYTHON_TRY
  FunctionOptions options{
      .name = name, .reduce_retracing = reduce_retracing != 0, .memory_budget = static_cast<std::size_t>(budget)};
  for (Py_ssize_t i = 0; specs != Py_None && i < PyList_GET_SIZE(specs); ++i) {
    // Lengths or None, dtype, name.
    const auto [lengths, dtype, label] =
        nb::cast<std::tuple<nb::object, nb::object, std::string>>(nb::handle(PyList_GET_ITEM(specs, i)));
    if (lengths.is_none()) {
      options.input_signature.emplace_back(std::nullopt, to_dtype(dtype.ptr()), label);
    } else {
      options.input_signature.emplace_back(to_shape(lengths.ptr()), to_dtype(dtype.ptr()), label);
    }
  }
  auto* const o = reinterpret_cast<PyFunction*>(type->tp_alloc(type, 0));
  if (o == nullptr) return nullptr;
  o->call = call;
  o->function = Py_NewRef(function);
  o->kinds = PyList_New(0);
  o->is_method = is_method != 0;
  o->is_flat = is_flat != 0;
  new (&o->name) std::string(name);
  new (&o->specs) std::vector<TensorSpec>(options.input_signature);
  new (&o->traced) std::shared_ptr<dynamic::Function>(std::make_shared<dynamic::Function>(options));
  return reinterpret_cast<PyObject*>(o);
  CAPSTAN_PYTHON_CATCH(nullptr)
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(of(self).function);
  Py_VISIT(of(self).attributes);
  Py_VISIT(of(self).kinds);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(of(self).function);
  Py_CLEAR(of(self).attributes);
  Py_CLEAR(of(self).kinds);
  return 0;
}
void deallocate(PyObject* self) {
  PyFunction& o = of(self);
  PyObject_GC_UnTrack(self);
  if (o.weak != nullptr) PyObject_ClearWeakRefs(self);
  o.traced.~shared_ptr();
  o.specs.~vector();
  o.name.~basic_string();
  clear(self);
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* bind_method(PyObject* self, PyObject* object, PyObject*) {
  return object == nullptr || object == Py_None ? Py_NewRef(self) : bound_function(self, object);
}

// What is asked of a function waits until another thread has traced it, which may need Python's lock.
template <class Ask>
auto ask(PyObject* self, const Ask& ask_state) {
  const FunctionState& state = of(self).traced->state();
  const Unlocked unlocked;
  return ask_state(state);
}
PyObject* tracing_count(PyObject* self, PyObject*) {
  return PyLong_FromLong(ask(self, [](const FunctionState& state) { return capstan::tracing_count(state); }));
}
template <std::string (*Text)(const FunctionState&)>
PyObject* text_of(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  return PyUnicode_FromString(ask(self, [](const FunctionState& state) { return Text(state); }).c_str());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* python_function(PyObject* self, void*) { return Py_NewRef(of(self).function); }
PyObject* kinds_of(PyObject* self, void*) { return Py_NewRef(of(self).kinds); }

PyMethodDef methods[] = {
    {"experimental_get_tracing_count", tracing_count, METH_NOARGS,
     "experimental_get_tracing_count($self)\n--\n\nHow many traces there are."},
    {"retrace_reason", text_of<&retrace_reason>, METH_NOARGS,
     "retrace_reason($self)\n--\n\nWhat made the newest trace necessary."},
    {"graph_text", text_of<&graph_text>, METH_NOARGS, "graph_text($self)\n--\n\nThe newest trace, one op per line."},
    {"graph_dot", text_of<&graph_dot>, METH_NOARGS, "graph_dot($self)\n--\n\nThe newest trace for Graphviz."},
    {"memory_use", text_of<&memory_use>, METH_NOARGS, "memory_use($self)\n--\n\nWhat the newest trace keeps at once."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"python_function", python_function, nullptr, "The function that is traced.", nullptr},
                            {"_kinds", kinds_of, nullptr, "A list of what it was traced for.", nullptr},
                            {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyFunction, call), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(PyFunction, attributes), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyFunction, weak), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

}  // namespace

std::shared_ptr<const ConcreteState> state_of_concrete(nb::handle concrete) {
  return nb::cast<Concrete&>(concrete).traced->state();
}

void add_function(nb::module_& m) {
  // Stands for a tensor where a function is traced without a call.
  const auto spec_class = nb::class_<TensorSpec>(m, "Spec")
                              .def("__init__",
                                   [](TensorSpec* spec, const nb::object& lengths, DType dtype, std::string name) {
                                     new (spec) TensorSpec(to_shape(lengths.ptr()), dtype, std::move(name));
                                   })
                              .def_prop_ro("lengths", lengths_of)
                              .def_prop_ro("dtype", [](const TensorSpec& spec) { return spec.dtype; })
                              .def_prop_ro("name", [](const TensorSpec& spec) { return spec.name; });
  spec_type = reinterpret_cast<PyTypeObject*>(spec_class.ptr());
  nb::class_<Concrete>(m, "Concrete")
      .def(nb::new_(&make_concrete))
      .def("__call__", call_concrete)
      .def_prop_ro("results", results_of)
      .def_prop_ro("signature", [](const Concrete& concrete) { return concrete.traced->signature(); })
      .def_prop_ro("text", [](const Concrete& concrete) { return concrete.traced->graph_text(); })
      .def_prop_ro("nodes", nodes_of);
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_descr_get, reinterpret_cast<void*>(bind_method)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, properties},
                         {Py_tp_members, members},
                         {Py_tp_doc, const_cast<char*>("A function that is traced once for each kind of arguments.")},
                         {0, nullptr}};
  PyType_Spec spec = {
      "capstan.Function", sizeof(PyFunction), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
  function_type = reinterpret_cast<PyTypeObject*>(steal(PyType_FromSpec(&spec)).release().ptr());
  m.attr("Function") = nb::borrow(reinterpret_cast<PyObject*>(function_type));
  m.def("run_functions_eagerly", [](bool eagerly) { run_functions_eagerly(eagerly); });
  m.def("functions_run_eagerly", [] { return dynamic::functions_run_eagerly(); });
  m.def("inside_function", [] { return inside_function(); });
}

}  // namespace capstan::python
