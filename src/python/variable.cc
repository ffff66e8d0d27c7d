// The Python type of variables.
//
// A variable has one Python object, which is found by the word that the library keeps with it (capstan/bindings.h). The
// word is weak: the object forgets it when it dies, and the next one that is asked for is new.
#include "capstan/bindings.h"
#include "capstan/constraints.h"
#include "src/python/objects.h"

namespace capstan::python {

PyTypeObject* variable_type;

namespace {

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  auto* const o = reinterpret_cast<PyVariable*>(type->tp_alloc(type, 0));
  if (o != nullptr) new (&o->variable) Variable();
  return reinterpret_cast<PyObject*>(o);
}

int initialise(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"initial_value", "trainable", "validate_shape", "caching_device", "name",
                                "variable_def",  "dtype",     "import_scope",   "constraint",     "synchronization",
                                "aggregation",   "shape",     nullptr};
  PyObject *initial = nullptr, *trainable = nullptr, *dtype = nullptr, *constraint = nullptr, *unused = nullptr;
  const char* name = nullptr;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|OOOOzOOOOOOO:Variable", const_cast<char**>(names), &initial,
                                  &trainable, &unused, &unused, &name, &unused, &dtype, &unused, &constraint, &unused,
                                  &unused, &unused) == 0) {
    return -1;
  }
  CAPSTAN_PYTHON_TRY
  if (initial == nullptr || initial == Py_None) throw ValueError("Variable: an initial value must be given");
  VariableOptions options;
  if (name != nullptr) options.name = name;
  if (trainable != nullptr && trainable != Py_None) options.trainable = PyObject_IsTrue(trainable) != 0;
  DType wanted;
  Wish wish;
  if (dtype != nullptr && dtype != Py_None) {
    wanted = to_dtype(dtype);
    wish = {&wanted, true};
  }
  nb::object value = nb::borrow(initial);
  if (!is_leaf(initial) && PyCallable_Check(initial) != 0) value = steal(PyObject_CallNoArgs(initial));
  Variable made(to_tensor(value.ptr(), wish), options);
  if (constraint != nullptr && constraint != Py_None) {
    const nb::object f = nb::borrow(constraint);
    set_constraint(made, Constraint([f](const Tensor& t) {
                     const Locked lock;
                     return to_tensor(steal(PyObject_CallOneArg(f.ptr(), steal(wrap(t)).ptr())).ptr());
                   }));
  }
  attach(made, self);
  Variable& own = variable_of(self);
  if (own.has_value()) attach(own, nullptr);
  own = std::move(made);
  return 0;
  CAPSTAN_PYTHON_CATCH(-1)
}

void deallocate(PyObject* self) {
  auto* const o = reinterpret_cast<PyVariable*>(self);
  PyObject_GC_UnTrack(self);
  if (o->weak != nullptr) PyObject_ClearWeakRefs(self);
  if (o->variable.has_value() && attachment(o->variable) == self) attach(o->variable, nullptr);
  o->variable.~Variable();
  Py_CLEAR(o->attributes);
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(reinterpret_cast<PyVariable*>(self)->attributes);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<PyVariable*>(self)->attributes);
  return 0;
}

Py_hash_t hash(PyObject* self) {
  const auto address = reinterpret_cast<std::uintptr_t>(variable_of(self).state());
  return static_cast<Py_hash_t>(address >> 4);
}

PyObject* get_shape(PyObject* self, void*) {
  CAPSTAN_PYTHON_TRY
  return wrap(variable_of(self).shape());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_dtype(PyObject* self, void*) {
  CAPSTAN_PYTHON_TRY
  return Py_NewRef(object_of(variable_of(self).dtype()));
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_ndim(PyObject* self, void*) {
  CAPSTAN_PYTHON_TRY
  return PyLong_FromLong(variable_of(self).shape().rank());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_name(PyObject* self, void*) {
  CAPSTAN_PYTHON_TRY
  return PyUnicode_FromString(variable_of(self).name().c_str());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_path(PyObject* self, void*) {
  CAPSTAN_PYTHON_TRY
  return PyUnicode_FromString(variable_of(self).path().c_str());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_constraint(PyObject* self, void*) {
  CAPSTAN_PYTHON_TRY
  auto f = constraint_of(variable_of(self));
  if (!f) Py_RETURN_NONE;
  return nb::cpp_function([f = std::move(f)](nb::handle x) { return nb::steal(wrap(f(to_tensor(x.ptr())))); })
      .release()
      .ptr();
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_trainable(PyObject* self, void*) {
  CAPSTAN_PYTHON_TRY
  return PyBool_FromLong(variable_of(self).trainable());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_priority(PyObject*, void*) { return PyLong_FromLong(100); }
PyObject* get_identity(PyObject* self, void*) { return PyLong_FromVoidPtr(variable_of(self).state()); }

// One operand, and whatever else TensorFlow's methods take.
using Change = const Variable& (Variable::*)(Operand) const;
PyObject* change(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords, const Signature& signature,
                 Change function) {
  PyObject* given[4];
  if (!signature.read(args, n, keywords, given)) return nullptr;
  CAPSTAN_PYTHON_TRY
  const Variable& variable = variable_of(self);
  const DType dtype = variable.dtype();
  Tensor holder;
  Operand operand = 0;
  if (!to_operand(given[0], is_leaf(given[0]) ? nullptr : &dtype, holder, &operand)) {
    PyErr_Format(PyExc_TypeError, "%s() takes a tensor, not %R", signature.function, given[0]);
    return nullptr;
  }
  (variable.*function)(operand);
  return Py_NewRef(self);
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* assign(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature("assign", {"value", "use_locking", "name", "read_value"}, 1);
  return change(self, args, n, keywords, signature, &Variable::assign);
}
PyObject* assign_add(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature("assign_add", {"delta", "use_locking", "name", "read_value"}, 1);
  return change(self, args, n, keywords, signature, &Variable::assign_add);
}
PyObject* assign_sub(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature("assign_sub", {"delta", "use_locking", "name", "read_value"}, 1);
  return change(self, args, n, keywords, signature, &Variable::assign_sub);
}

// Rows or coordinates, and what happens to them.
using Scatter = const Variable& (Variable::*)(Operand, Operand) const;
template <Scatter Function>
PyObject* scatter(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature("scatter", {"indices", "updates", "name"}, 2);
  PyObject* given[3];
  if (!signature.read(args, n, keywords, given)) return nullptr;
  CAPSTAN_PYTHON_TRY
  const DType dtype = variable_of(self).dtype();
  (variable_of(self).*Function)(to_tensor(given[0]), to_tensor(given[1], {&dtype}));
  return Py_NewRef(self);
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* value(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  return wrap(variable_of(self).value());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* repr(PyObject* self) {
  CAPSTAN_PYTHON_TRY
  const Variable& v = variable_of(self);
  if (!v.has_value()) return PyUnicode_FromString("<tf.Variable (empty)>");
  const nb::object shape = steal(PyObject_Repr(steal(PySequence_Tuple(steal(wrap(v.shape())).ptr())).ptr()));
  std::string text = "<tf.Variable '" + v.path() + "' shape=" + nb::cast<std::string>(shape) +
                     " dtype=" + std::string(name_of(v.dtype()));
  const Tensor t = v.value();
  if (!is_symbolic(t)) {
    text += ", numpy=" + (t.rank() == 0 ? t.to_string()
                                        : nb::cast<std::string>(steal(PyObject_Repr(steal(to_numpy_view(t)).ptr()))));
  }
  return PyUnicode_FromString((text + ">").c_str());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* reduce(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  static PyObject* const unpickle = import_from("capstan._convert", "unpickle_variable");
  const Variable& v = variable_of(self);
  return Py_BuildValue("O(NONO)", unpickle, steal(to_numpy(v.value())).release().ptr(), object_of(v.dtype()),
                       PyUnicode_FromString(v.name().c_str()), v.trainable() ? Py_True : Py_False);
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyGetSetDef properties[] = {
    {"shape", get_shape, nullptr, "The lengths of the axes.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
    {"name", get_name, nullptr, "The name that it was given.", nullptr},
    {"path", get_path, nullptr, "The path of layers to the variable, and its name.", nullptr},
    {"constraint", get_constraint, nullptr, "What an update makes of the value, or None.", nullptr},
    {"trainable", get_trainable, nullptr, "Tapes watch it by themselves.", nullptr},
    {"__array_priority__", get_priority, nullptr, nullptr, nullptr},
    {"_id", get_identity, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
constexpr int kNamed = METH_FASTCALL | METH_KEYWORDS;
PyMethodDef own_methods[] = {{"assign", fast(assign), kNamed,
                              "assign($self, value, use_locking=False, name=None, read_value=True)\n--\n\n"
                              "Replaces the value."},
                             {"assign_add", fast(assign_add), kNamed,
                              "assign_add($self, delta, use_locking=False, name=None, read_value=True)"
                              "\n--\n\nIncreases the value."},
                             {"assign_sub", fast(assign_sub), kNamed,
                              "assign_sub($self, delta, use_locking=False, name=None, read_value=True)"
                              "\n--\n\nDecreases the value."},
                             {"_scatter_add", fast(scatter<&Variable::scatter_add>), kNamed, nullptr},
                             {"_scatter_sub", fast(scatter<&Variable::scatter_sub>), kNamed, nullptr},
                             {"_scatter_update", fast(scatter<&Variable::scatter_update>), kNamed, nullptr},
                             {"scatter_nd_add", fast(scatter<&Variable::scatter_nd_add>), kNamed,
                              "scatter_nd_add($self, indices, updates, name=None)\n--\n\nAdds slices at places."},
                             {"scatter_nd_sub", fast(scatter<&Variable::scatter_nd_sub>), kNamed,
                              "scatter_nd_sub($self, indices, updates, name=None)\n--\n\nSubtracts slices at places."},
                             {"scatter_nd_update", fast(scatter<&Variable::scatter_nd_update>), kNamed,
                              "scatter_nd_update($self, indices, updates, name=None)\n--\n\nSets slices at places."},
                             {"value", value, METH_NOARGS, "value()\n--\n\nThe value now."},
                             {"read_value", value, METH_NOARGS, "read_value()\n--\n\nThe value now."},
                             {"__reduce__", reduce, METH_NOARGS, nullptr}};
PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyVariable, weak), READONLY, nullptr},
                         {"__dictoffset__", T_PYSSIZET, offsetof(PyVariable, attributes), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyObject* wrap(const Variable& variable) {
  CAPSTAN_PYTHON_TRY
  if (void* const known = attachment(variable)) return Py_NewRef(static_cast<PyObject*>(known));
  PyObject* const made = make(variable_type, nullptr, nullptr);
  if (made == nullptr) return nullptr;
  variable_of(made) = variable;
  attach(variable, made);
  return made;
  CAPSTAN_PYTHON_CATCH(nullptr)
}

void add_variable(nb::module_& m) {
  static const char* const text =
      "Variable(initial_value=None, trainable=None, validate_shape=True, caching_device=None, name=None, "
      "variable_def=None, dtype=None, import_scope=None, constraint=None, synchronization=None, aggregation=None, "
      "shape=None)\n--\n\nA tensor that can be changed.";
  static std::vector<PyMethodDef> methods;
  for (const PyMethodDef& method : own_methods) methods.push_back(method);
  for (const PyMethodDef* method = array_methods;; ++method) {
    methods.push_back(*method);
    if (method->ml_name == nullptr) break;
  }
  std::vector<PyType_Slot> slots = {{Py_tp_new, reinterpret_cast<void*>(make)},
                                    {Py_tp_init, reinterpret_cast<void*>(initialise)},
                                    {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                    {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                    {Py_tp_hash, reinterpret_cast<void*>(hash)},
                                    {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                    {Py_tp_getset, properties},
                                    {Py_tp_methods, methods.data()},
                                    {Py_tp_members, members},
                                    {Py_tp_doc, const_cast<char*>(text)}};
  add_operator_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"capstan.Variable", sizeof(PyVariable), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  variable_type = reinterpret_cast<PyTypeObject*>(steal(PyType_FromSpec(&spec)).release().ptr());
  m.attr("Variable") = nb::borrow(reinterpret_cast<PyObject*>(variable_type));
}

}  // namespace capstan::python
