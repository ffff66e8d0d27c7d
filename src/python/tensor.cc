// The Python type of tensors, and that of their shapes.
#include "src/python/graph_layers.h"
#include "src/python/objects.h"

namespace capstan::python {

PyTypeObject* tensor_type;
PyTypeObject* shape_type;

namespace {

// Tensors come and go with every op: their objects are kept for the next one.
constexpr int kMostKept = 64;
PyTensor* kept[kMostKept];
int kept_count = 0;

void deallocate(PyObject* self) {
  auto* const o = reinterpret_cast<PyTensor*>(self);
  if (o->weak != nullptr) PyObject_ClearWeakRefs(self);
  o->tensor.~Tensor();
  Py_XDECREF(o->place);
  if (kept_count < kMostKept) {
    kept[kept_count++] = o;
    return;
  }
  PyTypeObject* const type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

PyObject* get_shape(PyObject* self, void*) {
  CAPSTAN_PYTHON_TRY
  const Tensor& t = tensor_of(self);
  return wrap(is_in_graph(t) ? *open_shape(t) : t.shape());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_dtype(PyObject* self, void*) { return Py_NewRef(object_of(tensor_of(self).dtype())); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromLong(tensor_of(self).rank()); }
PyObject* get_symbolic(PyObject* self, void*) { return PyBool_FromLong(is_symbolic(tensor_of(self))); }
// For tests: whether a tape records what is done with the tensor.
PyObject* get_recorded(PyObject* self, void*) {
  const detail::Block* const block = tensor_of(self).block();
  return PyBool_FromLong(block->node != 0 ||
                         (block->flags.load(std::memory_order_relaxed) & detail::Block::kLeaf) != 0);
}
PyObject* get_row_sparse(PyObject* self, void*) { return PyBool_FromLong(tensor_of(self).is_row_sparse()); }
PyObject* get_priority(PyObject*, void*) { return PyLong_FromLong(100); }
// What an item of a variable has beside other tensors, as programs ask by hasattr().
PyObject* get_assign(PyObject* self, void*) {
  PyObject* const place = reinterpret_cast<PyTensor*>(self)->place;
  if (place == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "assign: only variables and their items, such as v[0], can be assigned");
    return nullptr;
  }
  CAPSTAN_PYTHON_TRY
  static PyObject* const assigner = import_from("capstan._convert", "item_assigner");
  return PyObject_Call(assigner, place, nullptr);
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_identity(PyObject* self, void*) { return PyLong_FromVoidPtr(tensor_of(self).block()); }
// A dense tensor has no such attribute, as programs ask by hasattr().
bool is_rows(PyObject* self, const char* name) {
  if (tensor_of(self).is_row_sparse()) return true;
  PyErr_Format(PyExc_AttributeError, "%s: this tensor is dense", name);
  return false;
}
PyObject* get_indices(PyObject* self, void*) {
  if (!is_rows(self, "indices")) return nullptr;
  CAPSTAN_PYTHON_TRY
  return wrap(tensor_of(self).indices());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* get_values(PyObject* self, void*) {
  if (!is_rows(self, "values")) return nullptr;
  CAPSTAN_PYTHON_TRY
  return wrap(tensor_of(self).values());
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* to_dense(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  return wrap(tensor_of(self).to_dense());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

Py_hash_t no_hash(PyObject*) {
  PyErr_SetString(PyExc_TypeError, "Tensor is unhashable. Instead, use tensor.ref() as the key.");
  return -1;
}

PyObject* repr(PyObject* self) {
  CAPSTAN_PYTHON_TRY
  const Tensor& t = tensor_of(self);
  const nb::object shape = steal(PyObject_Repr(steal(PySequence_Tuple(steal(get_shape(self, nullptr)).ptr())).ptr()));
  const std::string text = "shape=" + nb::cast<std::string>(shape) + ", dtype=" + std::string(name_of(t.dtype()));
  if (is_symbolic(t)) return PyUnicode_FromString(("<tf.Tensor (symbolic) " + text + ">").c_str());
  if (is_in_graph(t)) return PyUnicode_FromString(("<KerasTensor " + text + ">").c_str());
  if (t.is_row_sparse()) return PyUnicode_FromString(("<tf.IndexedSlices " + text + ">").c_str());
  const nb::object numbers = steal(PyObject_Repr(steal(to_numpy_view(t)).ptr()));
  const std::string elements = t.rank() == 0 ? t.to_string() : nb::cast<std::string>(numbers);
  return PyUnicode_FromString(("<tf.Tensor: " + text + ", numpy=" + elements + ">").c_str());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* str(PyObject* self) {
  CAPSTAN_PYTHON_TRY
  const Tensor& t = tensor_of(self);
  if (is_symbolic(t) || is_in_graph(t) || t.is_row_sparse()) return repr(self);
  const nb::object shape = steal(PyObject_Repr(steal(PySequence_Tuple(steal(wrap(t.shape())).ptr())).ptr()));
  const nb::object numbers = steal(PyObject_Str(steal(to_numpy(t)).ptr()));
  return PyUnicode_FromFormat("tf.Tensor(%U, shape=%U, dtype=%s)", numbers.ptr(), shape.ptr(),
                              std::string(name_of(t.dtype())).c_str());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* reduce(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  static PyObject* const unpickle = import_from("capstan._convert", "unpickle_tensor");
  return Py_BuildValue("O(NO)", unpickle, steal(to_numpy(tensor_of(self))).release().ptr(),
                       object_of(tensor_of(self).dtype()));
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyGetSetDef properties[] = {{"shape", get_shape, nullptr, "The lengths of the axes.", nullptr},
                            {"dtype", get_dtype, nullptr, "The type of the elements.", nullptr},
                            {"ndim", get_ndim, nullptr, "The number of axes.", nullptr},
                            {"is_symbolic", get_symbolic, nullptr, "A value of a traced function.", nullptr},
                            {"_is_recorded", get_recorded, nullptr, nullptr, nullptr},
                            {"is_row_sparse", get_row_sparse, nullptr, "A gradient that is given as rows.", nullptr},
                            {"indices", get_indices, nullptr, "Of a gradient that is given as rows.", nullptr},
                            {"values", get_values, nullptr, "Of a gradient that is given as rows.", nullptr},
                            {"assign", get_assign, nullptr, "Of an item of a variable: changes it there.", nullptr},
                            {"__array_priority__", get_priority, nullptr, nullptr, nullptr},
                            {"_id", get_identity, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef own_methods[] = {{"to_dense", to_dense, METH_NOARGS, "to_dense()\n--\n\nThe dense tensor."},
                             {"__reduce__", reduce, METH_NOARGS, nullptr}};
PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyTensor, weak), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};

// --- shapes ---

PyObject* shape_new(PyTypeObject* type, PyObject* args, PyObject*) {
  CAPSTAN_PYTHON_TRY
  PyObject* dims = nullptr;
  if (PyArg_ParseTuple(args, "|O:TensorShape", &dims) == 0) return nullptr;
  nb::object items = nb::tuple();
  if (dims != nullptr && dims != Py_None) {
    items = PyIndex_Check(dims) != 0 ? nb::object(nb::make_tuple(nb::handle(dims))) : steal(PySequence_Tuple(dims));
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(items.ptr());
  PyObject* const made = type->tp_alloc(type, n);
  for (Py_ssize_t i = 0; made != nullptr && i < n; ++i) {
    PyTuple_SET_ITEM(made, i, Py_NewRef(PyTuple_GET_ITEM(items.ptr(), i)));
  }
  return made;
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* shape_subscript(PyObject* self, PyObject* key) {
  PyObject* const found = PyTuple_Type.tp_as_mapping->mp_subscript(self, key);
  if (found == nullptr || !PySlice_Check(key)) return found;
  PyObject* const made = PyObject_CallOneArg(reinterpret_cast<PyObject*>(shape_type), found);
  Py_DECREF(found);
  return made;
}

/// A list of the same lengths is equal too, as in TensorFlow.
PyObject* shape_compared(PyObject* self, PyObject* other, int operation) {
  CAPSTAN_PYTHON_TRY
  const nb::object right = PyList_Check(other) ? steal(PySequence_Tuple(other)) : nb::borrow(other);
  return PyTuple_Type.tp_richcompare(self, right.ptr(), operation);
  CAPSTAN_PYTHON_CATCH(nullptr)
}

}  // namespace

PyObject* wrap(Tensor tensor) {
  if (!tensor.has_value()) Py_RETURN_NONE;
  PyTensor* o;
  if (kept_count > 0) {
    o = kept[--kept_count];
    _Py_NewReference(reinterpret_cast<PyObject*>(o));
  } else {
    o = static_cast<PyTensor*>(PyObject_Malloc(sizeof(PyTensor)));
    if (o == nullptr) return PyErr_NoMemory();
    PyObject_Init(reinterpret_cast<PyObject*>(o), tensor_type);
  }
  o->weak = nullptr;
  o->place = nullptr;
  new (&o->tensor) Tensor(std::move(tensor));
  return reinterpret_cast<PyObject*>(o);
}

PyObject* wrap(const Shape& shape) {
  PyObject* const made = shape_type->tp_alloc(shape_type, shape.rank());
  for (int i = 0; made != nullptr && i < shape.rank(); ++i) {
    PyTuple_SET_ITEM(made, i, shape[i] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(shape[i]));
  }
  return made;
}

void add_tensor(nb::module_& m) {
  static std::vector<PyMethodDef> methods;
  for (const PyMethodDef& method : own_methods) methods.push_back(method);
  for (const PyMethodDef* method = array_methods;; ++method) {
    methods.push_back(*method);
    if (method->ml_name == nullptr) break;
  }
  std::vector<PyType_Slot> slots = {{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                    {Py_tp_hash, reinterpret_cast<void*>(no_hash)},
                                    {Py_tp_repr, reinterpret_cast<void*>(repr)},
                                    {Py_tp_str, reinterpret_cast<void*>(str)},
                                    {Py_tp_getset, properties},
                                    {Py_tp_methods, methods.data()},
                                    {Py_tp_members, members},
                                    {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                    {Py_tp_doc, const_cast<char*>("An immutable array of numbers.")}};
  add_operator_slots(slots);
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"capstan.Tensor", sizeof(PyTensor), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots.data()};
  tensor_type = reinterpret_cast<PyTypeObject*>(steal(PyType_FromSpec(&spec)).release().ptr());
  m.attr("Tensor") = nb::borrow(reinterpret_cast<PyObject*>(tensor_type));

  PyType_Slot shape_slots[] = {{Py_tp_new, reinterpret_cast<void*>(shape_new)},
                               {Py_mp_subscript, reinterpret_cast<void*>(shape_subscript)},
                               {Py_tp_richcompare, reinterpret_cast<void*>(shape_compared)},
                               {Py_tp_hash, reinterpret_cast<void*>(PyTuple_Type.tp_hash)},
                               {Py_tp_doc, const_cast<char*>("The lengths of the axes of a tensor.")},
                               {0, nullptr}};
  PyType_Spec shape_spec = {"capstan.TensorShape", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, shape_slots};
  const nb::object bases = steal(PyTuple_Pack(1, reinterpret_cast<PyObject*>(&PyTuple_Type)));
  shape_type =
      reinterpret_cast<PyTypeObject*>(steal(PyType_FromSpecWithBases(&shape_spec, bases.ptr())).release().ptr());
  m.attr("TensorShape") = nb::borrow(reinterpret_cast<PyObject*>(shape_type));
}

}  // namespace capstan::python
