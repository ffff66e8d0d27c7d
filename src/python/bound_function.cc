// Traced functions as methods: a function with the object that is its first argument.
//
// A method of Python would hand on the attributes of the function, which do not know of the object: a trace for given
// arguments, asked of a method, would miss one.
#include <algorithm>
#include <array>
#include <memory>

#include "src/python/objects.h"

namespace capstan::python {

namespace {

struct PyBoundFunction {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
  PyObject* object;
  PyObject* weak;
};

PyTypeObject* bound_type;

PyBoundFunction& of(PyObject* o) { return *reinterpret_cast<PyBoundFunction*>(o); }

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flagged, PyObject* keywords) {
  const PyBoundFunction& o = of(self);
  const auto n = static_cast<std::size_t>(PyVectorcall_NARGS(flagged));
  const std::size_t count = n + static_cast<std::size_t>(keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords));
  std::array<PyObject*, 8> few;
  std::unique_ptr<PyObject*[]> many;
  PyObject** given = few.data();
  if (count >= few.size()) {
    many = std::make_unique<PyObject*[]>(count + 1);
    given = many.get();
  }
  given[0] = o.object;
  std::copy(args, args + count, given + 1);
  return PyObject_Vectorcall(o.function, given, n + 1, keywords);
}

// What a bound function does not have is asked of the function.
PyObject* attribute(PyObject* self, PyObject* name) {
  PyObject* const found = PyObject_GenericGetAttr(self, name);
  if (found != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) return found;
  PyErr_Clear();
  return PyObject_GetAttr(of(self).function, name);
}

PyObject* compare(PyObject* a, PyObject* b, int operation) {
  if (Py_TYPE(b) != bound_type || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  const bool is_same = of(a).function == of(b).function && of(a).object == of(b).object;
  return PyBool_FromLong(is_same == (operation == Py_EQ) ? 1 : 0);
}
Py_hash_t hash(PyObject* self) {
  const auto bits =
      reinterpret_cast<std::uintptr_t>(of(self).object) * 31 + reinterpret_cast<std::uintptr_t>(of(self).function);
  const auto value = static_cast<Py_hash_t>(bits >> 4);
  return value == -1 ? -2 : value;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(of(self).function);
  Py_VISIT(of(self).object);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(of(self).function);
  Py_CLEAR(of(self).object);
  return 0;
}
void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (of(self).weak != nullptr) PyObject_ClearWeakRefs(self);
  clear(self);
  PyTypeObject* const type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(PyBoundFunction, call), READONLY, nullptr},
                         {"__weaklistoffset__", T_PYSSIZET, offsetof(PyBoundFunction, weak), READONLY, nullptr},
                         {"__func__", T_OBJECT, offsetof(PyBoundFunction, function), READONLY, "The function."},
                         {"__self__", T_OBJECT, offsetof(PyBoundFunction, object), READONLY, "The object."},
                         {nullptr, 0, 0, 0, nullptr}};

}  // namespace

PyObject* bound_function(PyObject* function, PyObject* object) {
  PyObject* const self = bound_type->tp_alloc(bound_type, 0);
  if (self == nullptr) return nullptr;
  of(self).call = call;
  of(self).function = Py_NewRef(function);
  of(self).object = Py_NewRef(object);
  return self;
}

void add_bound_function(nb::module_& m) {
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                         {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                         {Py_tp_clear, reinterpret_cast<void*>(clear)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_getattro, reinterpret_cast<void*>(attribute)},
                         {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                         {Py_tp_hash, reinterpret_cast<void*>(hash)},
                         {Py_tp_members, members},
                         {Py_tp_doc, const_cast<char*>("A traced function as a method of an object.")},
                         {0, nullptr}};
  PyType_Spec spec = {
      "capstan.BoundFunction", sizeof(PyBoundFunction), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  bound_type = reinterpret_cast<PyTypeObject*>(steal(PyType_FromSpec(&spec)).release().ptr());
  m.attr("BoundFunction") = nb::borrow(reinterpret_cast<PyObject*>(bound_type));
}

}  // namespace capstan::python
