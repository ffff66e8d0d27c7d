// Tensors as arrays: copies, views, the buffer protocol and DLPack.
//
// A view is read-only and holds the tensor; a variable that is updated while one lives gets another block, so a view
// never changes. A copy is the caller's.
#include <complex>

#include "capstan/ops/math.h"
#include "src/python/graph_layers.h"
#include "src/python/objects.h"

namespace capstan::python {

namespace {

constexpr const char* kFormats[kDTypes] = {"f", "d", "H", "i", "q", "B", "?", "Zf", "Zd"};
constexpr const char* kNumpyNames[kDTypes] = {"float32", "float64", "float32",   "int32",     "int64",
                                              "uint8",   "bool_",   "complex64", "complex128"};

// Dense, with elements, of a dtype that buffers have.
Tensor readable(const Tensor& given) {
  need_values("numpy", given);
  const Tensor t = given.is_row_sparse() ? given.to_dense() : given;
  if (t.raw_data() == nullptr && t.size() > 0) {
    detail::throw_symbolic("numpy", t.block());
  }
  return t.dtype() == bfloat16 ? cast(t, float32) : t;
}

PyObject* scalar(const Tensor& t) {
  static PyObject* types[kDTypes] = {};
  PyObject*& type = types[static_cast<int>(t.dtype())];
  if (type == nullptr) type = import_from("numpy", kNumpyNames[static_cast<int>(t.dtype())]);
  nb::object number;
  if (is_complex(t.dtype())) {
    const auto z = t.item<std::complex<double>>();
    number = steal(PyComplex_FromDoubles(z.real(), z.imag()));
  } else if (is_floating(t.dtype())) {
    number = steal(PyFloat_FromDouble(t.item<double>()));
  } else if (t.dtype() == bool_) {
    number = nb::bool_(t.item<bool>());
  } else {
    number = steal(PyLong_FromLongLong(t.item<std::int64_t>()));
  }
  return PyObject_CallOneArg(type, number.ptr());
}

// A copy, or a read-only view. Through a memoryview, so that NumPy does not ask for __array__ again.
PyObject* by_numpy(const Tensor& t, bool copy) {
  const nb::object object = steal(wrap(t));
  const nb::object view = steal(PyMemoryView_FromObject(object.ptr()));
  static PyObject* const array = import_from("numpy", "array");
  static PyObject* const asarray = import_from("numpy", "asarray");
  return PyObject_CallOneArg(copy ? array : asarray, view.ptr());
}

PyObject* numpy_method(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  return to_numpy(value_of(self));
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* array_method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  static const Signature signature("__array__", {"dtype", "copy"}, 0);
  PyObject* given[2];
  if (!signature.read(args, n, keywords, given)) return nullptr;
  CAPSTAN_PYTHON_TRY
  const bool copy = given[1] != nullptr && given[1] == Py_True;
  const Tensor t = readable(value_of(self));
  nb::object array = steal(by_numpy(t, copy));
  if (given[0] != nullptr && given[0] != Py_None)
    array = array.attr("astype")(nb::handle(given[0]), nb::arg("copy") = false);
  return array.release().ptr();
  CAPSTAN_PYTHON_CATCH(nullptr)
}

// By way of NumPy, whose arrays know the protocol; the view holds the tensor. A read-only array is exported only to
// those who ask in the newer form, so older ones get a copy.
PyObject* dlpack_method(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) {
  CAPSTAN_PYTHON_TRY
  const Tensor t = readable(value_of(self));
  nb::dict named;
  for (Py_ssize_t k = 0; keywords != nullptr && k < PyTuple_GET_SIZE(keywords); ++k) {
    named[nb::handle(PyTuple_GET_ITEM(keywords, k))] = nb::handle(args[n + k]);
  }
  const nb::object array = steal(by_numpy(t, !named.contains("max_version")));
  return array.attr("__dlpack__")(**named).release().ptr();
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* dlpack_device(PyObject*, PyObject*) { return Py_BuildValue("(ii)", 1, 0); }

PyObject* tolist(PyObject* self, PyObject*) {
  CAPSTAN_PYTHON_TRY
  return steal(to_numpy(value_of(self))).attr("tolist")().release().ptr();
  CAPSTAN_PYTHON_CATCH(nullptr)
}

// A symbolic tensor has no number to format, and a format must not be where a trace ends.
PyObject* format(PyObject* self, PyObject* spec) {
  CAPSTAN_PYTHON_TRY
  if (PyUnicode_GetLength(spec) == 0 || (is_tensor(self) && is_symbolic(tensor_of(self)))) return PyObject_Str(self);
  return PyObject_Format(steal(to_numpy(value_of(self))).ptr(), spec);
  CAPSTAN_PYTHON_CATCH(nullptr)
}

}  // namespace

PyObject* to_numpy(const Tensor& given) {
  CAPSTAN_PYTHON_TRY
  try {
    const Tensor t = readable(given);
    return t.rank() == 0 ? scalar(t) : by_numpy(t, true);
  } catch (const TraceError& error) {
    set_no_array_error(error);
    return nullptr;
  }
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* to_numpy_view(const Tensor& given) {
  CAPSTAN_PYTHON_TRY
  return by_numpy(readable(given), false);
  CAPSTAN_PYTHON_CATCH(nullptr)
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  CAPSTAN_PYTHON_TRY
  const Tensor t = tensor_of(self);
  view->obj = nullptr;
  if (t.is_row_sparse() || is_in_graph(t) || (t.raw_data() == nullptr && t.size() > 0)) {
    PyErr_SetString(PyExc_BufferError, "this tensor has no elements of its own: it is symbolic or row-sparse");
    return -1;
  }
  if ((flags & PyBUF_WRITABLE) != 0) {
    PyErr_SetString(PyExc_BufferError, "tensors are immutable; numpy() gives a copy that can be written to");
    return -1;
  }
  auto* const lengths = static_cast<Py_ssize_t*>(PyMem_Malloc(sizeof(Py_ssize_t) * 2 * kMaxRank));
  if (lengths == nullptr) {
    PyErr_NoMemory();
    return -1;
  }
  static char nothing[1];
  view->obj = Py_NewRef(self);
  view->buf = t.raw_data() == nullptr ? nothing : const_cast<void*>(t.raw_data());
  view->itemsize = static_cast<Py_ssize_t>(size_of(t.dtype()));
  view->len = t.size() * view->itemsize;
  view->readonly = 1;
  view->ndim = t.rank();
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(kFormats[static_cast<int>(t.dtype())]) : nullptr;
  view->shape = lengths;
  view->strides = lengths + kMaxRank;
  view->suboffsets = nullptr;
  view->internal = lengths;
  Py_ssize_t step = view->itemsize;
  for (int i = t.rank() - 1; i >= 0; --i) {
    view->shape[i] = t.dim(i);
    view->strides[i] = step;
    step *= t.dim(i);
  }
  return 0;
  CAPSTAN_PYTHON_CATCH(-1)
}

void release_buffer(PyObject*, Py_buffer* view) { PyMem_Free(view->internal); }

PyMethodDef array_methods[] = {
    {"numpy", numpy_method, METH_NOARGS, "numpy()\n--\n\nA copy as an array, or a NumPy scalar for rank 0."},
    {"__array__", fast(array_method), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__dlpack__", fast(dlpack_method), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
    {"tolist", tolist, METH_NOARGS, "tolist()\n--\n\nNested lists of numbers."},
    {"__format__", format, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace capstan::python
