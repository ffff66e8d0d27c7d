// The Python type of tapes: a plain C type, for a step of a small program is a tape, an op and a gradient.
#include <optional>

#include "capstan/ops/math.h"
#include "src/python/nest.h"

namespace capstan::python {

namespace {

struct PyTape {
  PyObject_HEAD std::optional<GradientTape> tape;
  GradientTapeOptions options;
  PyObject* weak;
};

PyTypeObject* tape_type;
PyTypeObject* pause_type;

PyTape& of(PyObject* o) { return *reinterpret_cast<PyTape*>(o); }
bool is_recording(PyObject* o) { return of(o).tape && of(o).tape->is_recording(); }

// A tape that has not recorded yet is made when it is asked for, and does not record.
GradientTape& tape_of(PyObject* o) {
  if (!of(o).tape) of(o).tape.emplace(of(o).options).stop();
  return *of(o).tape;
}

UnconnectedGradients unconnected(PyObject* o) {
  if (o == nullptr || o == Py_None) return UnconnectedGradients::kNone;
  nb::object value = nb::borrow(o);
  if (!PyUnicode_Check(o) && PyObject_HasAttrString(o, "value") != 0) value = value.attr("value");
  if (PyUnicode_Check(value.ptr())) {
    const std::string text = nb::cast<std::string>(value);
    if (text == "none") return UnconnectedGradients::kNone;
    if (text == "zero") return UnconnectedGradients::kZero;
  }
  PyErr_Format(PyExc_ValueError, "Unknown value for unconnected_gradients: '%S'", o);
  throw nb::python_error();
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  auto* const o = reinterpret_cast<PyTape*>(type->tp_alloc(type, 0));
  if (o == nullptr) return nullptr;
  new (&o->tape) std::optional<GradientTape>();
  new (&o->options) GradientTapeOptions();
  return reinterpret_cast<PyObject*>(o);
}

int initialise(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"persistent", "watch_accessed_variables", nullptr};
  int persistent = 0, watch = 1;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|pp:GradientTape", const_cast<char**>(names), &persistent, &watch) ==
      0) {
    return -1;
  }
  of(self).options = {.persistent = persistent != 0, .watch_accessed_variables = watch != 0};
  return 0;
}

void deallocate(PyObject* self) {
  PyTape& o = of(self);
  if (o.weak != nullptr) PyObject_ClearWeakRefs(self);
  o.tape.~optional();
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* enter(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  if (is_recording(self)) {
    PyErr_SetString(PyExc_ValueError,
                    "Tape is still recording, This can happen if you try to re-enter an "
                    "already-active tape.");
    return nullptr;
  }
  if (of(self).tape) {
    of(self).tape->start();
  } else {
    of(self).tape.emplace(of(self).options);
  }
  return Py_NewRef(self);
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  CAPSTAN_PYTHON_TRY
  if (is_recording(self)) of(self).tape->stop();
  Py_RETURN_NONE;
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* watch(PyObject* self, PyObject* structure) {
  CAPSTAN_PYTHON_TRY
  const Sources sources(structure, false);
  tape_of(self).watch(sources.list());
  Py_RETURN_NONE;
  CAPSTAN_PYTHON_CATCH(nullptr)
}

// The weights of targets, brought to their dtypes.
std::vector<Tensor> weights_of(PyObject* structure, const Sources& targets) {
  std::vector<PyObject*> leaves;
  flatten(structure, leaves);
  std::vector<Tensor> weights;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i] == Py_None) {
      weights.emplace_back();
      continue;
    }
    DType dtype = float32;
    const bool known = i < targets.leaves().size() && is_leaf(targets.leaves()[i]);
    if (known) dtype = dtype_of(targets.leaves()[i]);
    weights.push_back(to_tensor(leaves[i], {known ? &dtype : nullptr}));
  }
  return weights;
}

Source source_of(PyObject* o) { return is_tensor(o) ? Source(tensor_of(o)) : Source(variable_of(o)); }

PyObject* gradient(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature("gradient", {"target", "sources", "output_gradients", "unconnected_gradients"}, 2);
  PyObject* given[4];
  if (!signature.read(args, n, keywords, given)) return nullptr;
  CAPSTAN_PYTHON_TRY
  GradientTape& tape = tape_of(self);
  GradientOptions options;
  if (given[3] != nullptr) options.unconnected_gradients = unconnected(given[3]);
  const bool weighted = given[2] != nullptr && given[2] != Py_None;
  // The common case needs no lists.
  if (!weighted && is_leaf(given[0]) && is_leaf(given[1])) {
    const Source target = source_of(given[0]), source = source_of(given[1]);
    return wrap(std::move(tape.gradient(std::span(&target, 1), std::span(&source, 1), options)[0]));
  }
  const Sources targets(given[0]), sources(given[1], false);
  if (weighted) options.output_gradients = weights_of(given[2], targets);
  std::vector<Tensor> gradients = tape.gradient(targets.list(), sources.list(), options);
  std::size_t i = 0;
  return map_leaves(given[1], [&](PyObject*) { return wrap(std::move(gradients[i++])); }).release().ptr();
  CAPSTAN_PYTHON_CATCH(nullptr)
}

JacobianOptions jacobian_options(PyObject* const* given) {
  JacobianOptions options;
  options.unconnected_gradients = unconnected(given[2]);
  if (given[3] != nullptr && given[3] != Py_None) options.parallel_iterations = nb::cast<int>(nb::handle(given[3]));
  if (given[4] != nullptr) options.experimental_use_pfor = PyObject_IsTrue(given[4]) != 0;
  return options;
}

PyObject* jacobian(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature(
      "jacobian", {"target", "sources", "unconnected_gradients", "parallel_iterations", "experimental_use_pfor"}, 2);
  PyObject* given[5];
  if (!signature.read(args, n, keywords, given)) return nullptr;
  CAPSTAN_PYTHON_TRY
  const Sources targets(given[0]), sources(given[1], false);
  const JacobianOptions options = jacobian_options(given);
  GradientTape& tape = tape_of(self);
  std::vector<Tensor> list = tape.jacobian(targets.list(), sources.list(), options);
  std::size_t i = 0;
  const auto next = [&](PyObject*) { return wrap(std::move(list[i++])); };
  return map_leaves(given[0], [&](PyObject*) { return map_leaves(given[1], next).release().ptr(); }).release().ptr();
  CAPSTAN_PYTHON_CATCH(nullptr)
}

void expect_one(const std::string& method, const Sources& target, const Sources& source) {
  if (target.list().size() == 1 && source.list().size() == 1) return;
  throw nb::value_error((method + ": one target and one source are needed").c_str());
}

PyObject* batch_jacobian(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature(
      "batch_jacobian", {"target", "source", "unconnected_gradients", "parallel_iterations", "experimental_use_pfor"},
      2);
  PyObject* given[5];
  if (!signature.read(args, n, keywords, given)) return nullptr;
  CAPSTAN_PYTHON_TRY
  const Sources targets(given[0]), sources(given[1], false);
  expect_one("batch_jacobian", targets, sources);
  return wrap(tape_of(self).batch_jacobian(targets.list()[0], sources.list()[0], jacobian_options(given)));
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* explain(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature("explain", {"target", "source"}, 2);
  PyObject* given[2];
  if (!signature.read(args, n, keywords, given)) return nullptr;
  CAPSTAN_PYTHON_TRY
  const Sources target(given[0]), source(given[1], false);
  expect_one("explain", target, source);
  return PyUnicode_FromString(tape_of(self).explain(target.list()[0], source.list()[0]).c_str());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* reset(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  tape_of(self).reset();
  Py_RETURN_NONE;
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* watched_variables(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  nb::list list;
  for (const Variable& variable : tape_of(self).watched_variables()) list.append(steal(wrap(variable)));
  return PyList_AsTuple(list.ptr());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* recording(PyObject* self, void*) { return PyBool_FromLong(is_recording(self)); }
PyObject* persistent(PyObject* self, void*) { return PyBool_FromLong(of(self).options.persistent); }

// --- stop_recording(): a context in which the tape does not record ---

struct PyPause {
  PyObject_HEAD PyObject* tape;
};

PyObject* stop_recording(PyObject* self, PyObject*) {
  if (!is_recording(self)) {
    PyErr_SetString(PyExc_ValueError, "Tape is not recording.");
    return nullptr;
  }
  auto* const pause = PyObject_New(PyPause, pause_type);
  if (pause != nullptr) pause->tape = Py_NewRef(self);
  return reinterpret_cast<PyObject*>(pause);
}

void deallocate_pause(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_CLEAR(reinterpret_cast<PyPause*>(self)->tape);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* enter_pause(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  tape_of(reinterpret_cast<PyPause*>(self)->tape).stop();
  Py_RETURN_NONE;
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* leave_pause(PyObject* self, PyObject* const*, Py_ssize_t) {
  CAPSTAN_PYTHON_TRY
  PyObject* const tape = reinterpret_cast<PyPause*>(self)->tape;
  if (!is_recording(tape)) tape_of(tape).start();
  Py_RETURN_NONE;
  CAPSTAN_PYTHON_CATCH(nullptr)
}

constexpr int kNamed = METH_FASTCALL | METH_KEYWORDS;
PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", fast(leave), METH_FASTCALL, nullptr},
    {"watch", watch, METH_O, "watch($self, tensor)\n--\n\nWatches a tensor, a variable or a structure of them."},
    {"gradient", fast(gradient), kNamed,
     "gradient($self, target, sources, output_gradients=None, unconnected_gradients='none')\n--\n\n"
     "The gradient of the target with respect to the sources, in the structure of the sources; None where the target "
     "does not depend on a source."},
    {"jacobian", fast(jacobian), kNamed,
     "jacobian($self, target, sources, unconnected_gradients='none', parallel_iterations=None, "
     "experimental_use_pfor=True)\n--\n\nThe derivatives of each element of the target, for each source a tensor of "
     "shape target.shape + source.shape."},
    {"batch_jacobian", fast(batch_jacobian), kNamed,
     "batch_jacobian($self, target, source, unconnected_gradients='none', parallel_iterations=None, "
     "experimental_use_pfor=True)\n--\n\nThe jacobian of each example by itself."},
    {"explain", fast(explain), kNamed, "explain($self, target, source)\n--\n\nWhy a gradient is missing."},
    {"reset", reset, METH_NOARGS, "reset($self)\n--\n\nForgets everything and goes on recording."},
    {"stop_recording", stop_recording, METH_NOARGS,
     "stop_recording($self)\n--\n\nA context in which the tape does not record."},
    {"watched_variables", watched_variables, METH_NOARGS,
     "watched_variables($self)\n--\n\nThe variables watched so far, in the order of their construction."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef properties[] = {{"_recording", recording, nullptr, nullptr, nullptr},
                            {"_persistent", persistent, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyTape, weak), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyMethodDef pause_methods[] = {{"__enter__", enter_pause, METH_NOARGS, nullptr},
                               {"__exit__", fast(leave_pause), METH_FASTCALL, nullptr},
                               {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_tape(nb::module_& m) {
  static const char* const text =
      "GradientTape(persistent=False, watch_accessed_variables=True)\n--\n\n"
      "Records operations and computes gradients of what they made.";
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                         {Py_tp_init, reinterpret_cast<void*>(initialise)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, properties},
                         {Py_tp_members, members},
                         {Py_tp_doc, const_cast<char*>(text)},
                         {0, nullptr}};
  PyType_Spec spec = {"capstan.GradientTape", sizeof(PyTape), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  tape_type = reinterpret_cast<PyTypeObject*>(steal(PyType_FromSpec(&spec)).release().ptr());
  m.attr("GradientTape") = nb::borrow(reinterpret_cast<PyObject*>(tape_type));
  PyType_Slot pause_slots[] = {
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate_pause)}, {Py_tp_methods, pause_methods}, {0, nullptr}};
  PyType_Spec pause_spec = {"capstan._Pause", sizeof(PyPause), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, pause_slots};
  pause_type = reinterpret_cast<PyTypeObject*>(steal(PyType_FromSpec(&pause_spec)).release().ptr());

  m.def(
      "unconnected_is_zero", [](nb::handle o) { return unconnected(o.ptr()) == UnconnectedGradients::kZero; },
      nb::arg("value").none());
}

}  // namespace capstan::python
