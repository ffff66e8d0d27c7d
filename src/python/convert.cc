// Python objects as tensors and attributes.
//
// The rules are TensorFlow's: Python floats are float32 (floatx), integers int32 or int64; what NumPy has keeps its
// dtype, narrow integers widen, float16 becomes float32. Beside a tensor, numbers, lists and arrays take its dtype if
// nothing is lost that matters: integers become floating, nothing floating becomes an integer. Arrays are copied,
// because a tensor never changes and an array may.
#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>

#include "capstan/function.h"
#include "capstan/memory.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/python/composites.h"
#include "src/python/graph_layers.h"
#include "src/python/objects.h"
#include "src/python/texts.h"

namespace capstan::python {

using namespace nb::literals;

namespace {

bool is_number(PyObject* o) {
  return PyFloat_CheckExact(o) || PyLong_CheckExact(o) || PyBool_Check(o) || PyComplex_CheckExact(o);
}

std::string name_of_type(PyObject* o) { return Py_TYPE(o)->tp_name; }

std::int64_t to_int64(PyObject* o) {
  const long long n = PyLong_AsLongLong(o);
  if (n == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return n;
}

[[noreturn]] void refuse(std::string_view what, DType dtype) {
  throw DTypeError("convert: " + std::string(what) + " cannot become " + std::string(name_of(dtype)) +
                   "\n  help: convert it with cast(x, " + std::string(name_of(dtype)) + ")");
}

// --- numbers ---

enum Kind : std::uint8_t { kBool, kInt, kFloat, kComplex };

// The dtype that numbers of a kind get.
DType dtype_of_kind(Kind kind, bool wide, Wish wish) {
  const DType own = kind == kBool    ? bool_
                    : kind == kFloat ? floatx()
                    : kind == kInt   ? (wide ? int64 : int32)
                                     : complex128;
  if (wish.dtype == nullptr) return own;
  const DType wanted = *wish.dtype;
  const bool fits = kind == kBool    ? wanted == bool_
                    : kind == kInt   ? wanted != bool_
                    : kind == kFloat ? is_differentiable(wanted)
                                     : is_complex(wanted);
  if (!fits) {
    refuse(kind == kBool    ? "a truth value"
           : kind == kInt   ? "an integer"
           : kind == kFloat ? "a float"
                            : "a complex number",
           wanted);
  }
  return wanted;
}

bool is_wide(std::int64_t n) {
  return n > std::numeric_limits<std::int32_t>::max() || n < std::numeric_limits<std::int32_t>::min();
}

Tensor number(PyObject* o, Wish wish) {
  if (PyFloat_CheckExact(o)) return constant(PyFloat_AS_DOUBLE(o), dtype_of_kind(kFloat, false, wish));
  if (PyBool_Check(o)) return constant(o == Py_True, dtype_of_kind(kBool, false, wish));
  if (PyComplex_CheckExact(o)) {
    const std::complex<double> z(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
    return constant(z, dtype_of_kind(kComplex, false, wish));
  }
  const std::int64_t n = to_int64(o);
  return constant(n, dtype_of_kind(kInt, is_wide(n), wish));
}

// --- lists of numbers ---

// What is in nested lists.
struct Contents {
  Shape shape;
  Kind kind = kBool;
  bool wide = false, empty = true;
  bool others = false;   // arrays and what else is no number
  bool tensors = false;  // tensors and variables
};

bool is_list(PyObject* o) { return (PyList_Check(o) || PyTuple_Check(o)); }

void look(PyObject* o, int depth, Contents& contents) {
  if (!is_list(o)) {
    contents.tensors |= is_leaf(o);
    contents.others |= !is_number(o);
    if (contents.others) return;
    if (depth != contents.shape.rank() && !contents.empty) throw ShapeError("convert: a list of numbers and lists");
    contents.empty = false;
    const Kind kind = PyFloat_CheckExact(o) ? kFloat : PyBool_Check(o) ? kBool : PyLong_CheckExact(o) ? kInt : kComplex;
    contents.kind = std::max(contents.kind, kind);
    if (kind == kInt) contents.wide |= is_wide(to_int64(o));
    return;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  if (depth == contents.shape.rank()) {
    if (!contents.empty) throw ShapeError("convert: a list of numbers and lists");
    contents.shape.push_back(n);
  } else if (contents.shape[depth] != n) {
    throw ShapeError("convert: lists of different length, " + std::to_string(contents.shape[depth]) + " and " +
                     std::to_string(n));
  }
  for (Py_ssize_t i = 0; i < n && !contents.others; ++i) look(PySequence_Fast_GET_ITEM(o, i), depth + 1, contents);
}

template <class T>
void write(PyObject* o, T*& out) {
  if (is_list(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) write(PySequence_Fast_GET_ITEM(o, i), out);
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    *out++ = T(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o));
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    *out++ = to_int64(o);
  } else {
    *out++ = PyFloat_AsDouble(o);
  }
}

template <class T>
Tensor numbers(PyObject* list, const Shape& shape, DType dtype) {
  std::vector<T> values(static_cast<std::size_t>(shape.size()));
  T* out = values.data();
  write(list, out);
  const Tensor made = constant(std::span<const T>(values), shape);
  return made.dtype() == dtype ? made : cast(made, dtype);
}

Tensor array_of(PyObject* o, Wish wish);

// Tensors among others, as tf.stack() packs them: all take the dtype of the first tensor.
Tensor packed(PyObject* list, Wish wish) {
  DType dtype;
  const auto find = [&](auto& self, PyObject* o) -> bool {
    if (is_leaf(o)) return dtype = dtype_of(o), true;
    for (Py_ssize_t i = 0; is_list(o) && i < PySequence_Fast_GET_SIZE(o); ++i) {
      if (self(self, PySequence_Fast_GET_ITEM(o, i))) return true;
    }
    return false;
  };
  if (wish.dtype == nullptr && find(find, list)) wish.dtype = &dtype;
  std::vector<Tensor> parts;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list); ++i) {
    parts.push_back(to_tensor(PySequence_Fast_GET_ITEM(list, i), wish));
  }
  return stack(parts, 0);
}

bool any_leaf(PyObject* o) {
  if (!is_list(o)) return is_leaf(o);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    if (any_leaf(PySequence_Fast_GET_ITEM(o, i))) return true;
  }
  return false;
}

Tensor list(PyObject* o, Wish wish) {
  Contents contents;
  look(o, 0, contents);
  if (contents.others && any_leaf(o)) return packed(o, wish);
  if (contents.others) {
    static PyObject* const asarray = import_from("numpy", "asarray");
    return array_of(steal(PyObject_CallOneArg(asarray, o)).ptr(), wish);
  }
  if (contents.empty && wish.dtype == nullptr) contents.kind = kFloat;
  if (contents.empty && wish.dtype != nullptr) return zeros(contents.shape, *wish.dtype);
  const DType dtype = dtype_of_kind(contents.kind, contents.wide, wish);
  if (contents.kind == kComplex) return numbers<std::complex<double>>(o, contents.shape, dtype);
  if (contents.kind == kFloat) return numbers<double>(o, contents.shape, dtype);
  return numbers<std::int64_t>(o, contents.shape, dtype);
}

// --- arrays ---

// The dtype of elements of this format, if there is one.
bool dtype_of_format(const Py_buffer& view, DType* dtype) {
  const char* f = view.format == nullptr ? "B" : view.format;
  if (*f == '@' || *f == '=' || *f == '<') ++f;
  const bool one = f[0] != '\0' && f[1] == '\0';
  if (one && *f == 'f') return *dtype = float32, true;
  if (one && *f == 'd') return *dtype = float64, true;
  if (one && *f == '?') return *dtype = bool_, true;
  if (one && *f == 'B') return *dtype = uint8, true;
  if (one && (*f == 'i' || *f == 'l' || *f == 'q')) return *dtype = view.itemsize == 8 ? int64 : int32, true;
  if (std::string_view(f) == "Zf") return *dtype = complex64, true;
  if (std::string_view(f) == "Zd") return *dtype = complex128, true;
  return false;
}

class Buffer {
 public:
  bool open(PyObject* o) {
    is_open_ = PyObject_GetBuffer(o, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0;
    if (!is_open_) PyErr_Clear();
    return is_open_;
  }
  ~Buffer() {
    if (is_open_) PyBuffer_Release(&view);
  }
  Py_buffer view = {};

 private:
  bool is_open_ = false;
};

// As an array of elements that have a dtype here, by NumPy; `numpy` is what NumPy calls the dtype.
nb::object converted(PyObject* o) {
  static PyObject* const array = import_from("numpy", "array");
  const nb::object made = steal(PyObject_CallOneArg(array, o));
  const nb::object dtype = steal(PyObject_GetAttrString(made.ptr(), "dtype"));
  const std::string name = nb::cast<std::string>(dtype.attr("name"));
  const auto as = [&](const char* to) { return made.attr("astype")(to); };
  if (name == "float16" || name == "bfloat16") return as("float32");
  if (name == "float128" || name == "longdouble") return as("float64");
  if (name == "int8" || name == "int16" || name == "uint16") return as("int32");
  if (name == "uint32") return as("int64");
  if (name == "uint64") {
    static PyObject* const any = import_from("numpy", "any");
    const nb::object large = made.attr("__gt__")(nb::int_(std::numeric_limits<std::int64_t>::max()));
    if (PyObject_IsTrue(steal(PyObject_CallOneArg(any, large.ptr())).ptr()) != 0) {
      throw ValueError("convert: an array of uint64 holds numbers that int64 cannot");
    }
    return as("int64");
  }
  constexpr std::string_view kKnown[] = {"float32", "float64", "int32",     "int64",
                                         "uint8",   "bool",    "complex64", "complex128"};
  for (const std::string_view known : kKnown) {
    if (name == known)
      return made.attr("astype")(std::string(known), "order"_a = "C");  // another order of bytes or axes
  }
  throw DTypeError("convert: an array of " + name + " has no dtype here");
}

Tensor to_wish(Tensor t, Wish wish) {
  if (wish.dtype == nullptr || t.dtype() == *wish.dtype) return t;
  const DType wanted = *wish.dtype, own = t.dtype();
  const bool goes = is_complex(wanted)    ? own != bool_
                    : is_floating(wanted) ? is_floating(own) || is_integer(own)
                    : is_integer(wanted)  ? is_integer(own)
                                          : false;
  if (!goes && !wish.must) refuse("an array of " + std::string(name_of(own)), wanted);
  return cast(t, wanted);
}

Tensor array_of(PyObject* o, Wish wish) {
  Buffer buffer;
  DType dtype;
  if (!buffer.open(o) || !dtype_of_format(buffer.view, &dtype)) {
    const nb::object other = converted(o);
    Buffer again;
    if (!again.open(other.ptr()) || !dtype_of_format(again.view, &dtype)) {
      throw DTypeError("convert: a " + name_of_type(o) + " has elements of no dtype here");
    }
    return array_of(other.ptr(), wish);
  }
  const Py_buffer& view = buffer.view;
  if (view.ndim > kMaxRank) {
    throw ShapeError("convert: an array of rank " + std::to_string(view.ndim) + ", and tensors have at most " +
                     std::to_string(kMaxRank) + " axes");
  }
  Shape shape;
  for (int i = 0; i < view.ndim; ++i) shape.push_back(view.shape[i]);
  return to_wish(detail::copy_of(view.buf, shape.size(), dtype, shape), wish);
}

// --- memory of Python's ---

// Buffers of tensors that died on a thread without the lock of Python, which must not be waited for there: a thread
// that has it may wait for this one.
std::mutex released_mutex;
std::vector<Py_buffer*> released;

void release_now(Py_buffer* buffer) {
  PyBuffer_Release(buffer);
  delete buffer;
}

int release_later(void*) {
  std::vector<Py_buffer*> buffers;
  {
    const std::lock_guard lock(released_mutex);
    buffers.swap(released);
  }
  for (Py_buffer* const buffer : buffers) release_now(buffer);
  return 0;
}

void release_memory(Py_buffer* buffer) {
  if (Py_IsInitialized() == 0) return;
  if (PyGILState_Check() != 0) return release_now(buffer);
  const std::lock_guard lock(released_mutex);
  released.push_back(buffer);
  Py_AddPendingCall(release_later, nullptr);
}

// A tensor over the memory of an array, which nobody may write to while the tensor lives.
Tensor shared(PyObject* o) {
  auto* const view = new Py_buffer();
  if (PyObject_GetBuffer(o, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    delete view;
    throw nb::python_error();
  }
  const std::shared_ptr<const void> memory(view->buf, [view](const void*) { release_memory(view); });
  DType dtype;
  if (!dtype_of_format(*view, &dtype)) {
    throw DTypeError("asarray: this array has elements of no dtype here, and cannot be shared");
  }
  Shape shape;
  for (int i = 0; i < view->ndim; ++i) shape.push_back(view->shape[i]);
  return from_memory(memory, dtype, shape);
}

// An attribute of an object, or nothing.
nb::object attribute(PyObject* o, const char* name) {
  PyObject* const found = PyObject_GetAttrString(o, name);
  if (found == nullptr) PyErr_Clear();
  return nb::steal(found);
}

}  // namespace

Tensor to_tensor(PyObject* o, Wish wish) {
  if (is_leaf(o)) {
    const Tensor t = value_of(o);
    if (wish.dtype == nullptr || t.dtype() == *wish.dtype) return t;
    if (wish.must) return cast(t, *wish.dtype);
    return t;  // the op says best what is wrong with two dtypes
  }
  if (is_number(o)) return number(o, wish);
  if (is_list(o)) return list(o, wish);
  if (PyUnicode_Check(o) || PyBytes_Check(o) || o == Py_None) {
    throw DTypeError("convert: " + std::string(o == Py_None ? "None" : "a text") + " is no tensor");
  }
  if (is_text(o)) {
    throw DTypeError(
        "convert: texts have no numbers\n  help: tf.strings has what can be done with them; layers of texts make "
        "numbers of "
        "them, in front of a model or in Dataset.map");
  }
  if (is_composite(o)) {
    const std::string text = "convert: a " + name_of_type(o) + " is no tensor";
    if (inside_function()) throw ValueNeededError(text + ", and there are no symbols of it");
    throw DTypeError(text + "\n  help: its to_tensor(), or tf.sparse.to_dense(), makes one of it");
  }
  if (PyObject_CheckBuffer(o) != 0) return array_of(o, wish);
  if (const nb::object own = attribute(o, "__capstan_tensor__"); own.is_valid()) {
    return to_tensor(own().ptr(), wish);
  }
  if (const nb::object method = attribute(o, "__array__"); method.is_valid()) return array_of(method().ptr(), wish);
  if (PyFloat_Check(o)) return constant(PyFloat_AS_DOUBLE(o), dtype_of_kind(kFloat, false, wish));
  if (PyLong_Check(o)) {
    const std::int64_t n = to_int64(o);
    return constant(n, dtype_of_kind(kInt, is_wide(n), wish));
  }
  if (PySequence_Check(o) != 0) return list(steal(PySequence_List(o)).ptr(), wish);
  // What is a property in Keras and a method in TensorFlow: `return self.total.value`.
  if (PyCFunction_Check(o)) {
    PyObject* const self = PyCFunction_GET_SELF(o);
    const std::string_view name = reinterpret_cast<PyCFunctionObject*>(o)->m_ml->ml_name;
    if (self != nullptr && is_variable(self) && name == "value") return to_tensor(self, wish);
  }
  throw DTypeError("convert: a " + name_of_type(o) + " is no tensor");
}

bool to_operand(PyObject* o, const DType* beside, Tensor& holder, Operand* operand) {
  if (is_tensor(o)) return *operand = Operand(static_cast<const Tensor&>(tensor_of(o))), true;
  if (PyFloat_CheckExact(o)) {
    if (beside != nullptr && !is_differentiable(*beside)) refuse("a float", *beside);
    return *operand = Operand(PyFloat_AS_DOUBLE(o)), true;
  }
  if (PyBool_Check(o)) {
    if (beside != nullptr && *beside != bool_) refuse("a truth value", *beside);
    return *operand = Operand(o == Py_True), true;
  }
  if (PyLong_CheckExact(o)) {
    if (beside != nullptr && *beside == bool_) refuse("an integer", *beside);
    return *operand = Operand(to_int64(o)), true;
  }
  if (is_variable(o)) return *operand = Operand(static_cast<const Variable&>(variable_of(o))), true;
  if (o == Py_None || PyUnicode_Check(o) || PyBytes_Check(o) || PyDict_Check(o)) return false;
  if (is_composite(o) && !is_text(o)) return false;  // its class knows what an operator is
  holder = to_tensor(o, {beside});
  return *operand = Operand(static_cast<const Tensor&>(holder)), true;
}

Shape to_shape(PyObject* o) {
  Shape shape;
  const auto length = [](PyObject* item) {
    if (item == Py_None) return std::int64_t{-1};
    return to_int64(steal(PyNumber_Index(item)).ptr());
  };
  if (is_leaf(o) || (PyObject_CheckBuffer(o) != 0 && !PyBytes_Check(o))) {
    const Tensor t = to_tensor(o);
    if (!is_integer(t.dtype()) || t.rank() > 1) {
      throw DTypeError("shape: a tensor of lengths is int32 or int64 of rank 0 or 1, not " +
                       std::string(name_of(t.dtype())) + t.shape().to_string());
    }
    for (const std::int64_t n : t.to_vector<std::int64_t>()) shape.push_back(n);
    return shape;
  }
  if (PyIndex_Check(o) != 0) {
    shape.push_back(length(o));
    return shape;
  }
  const nb::object items = steal(PySequence_Fast(o, "a shape is a sequence of integers"));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.ptr()); ++i) {
    shape.push_back(length(PySequence_Fast_GET_ITEM(items.ptr(), i)));
  }
  return shape;
}

void add_conversions(nb::module_& m) {
  m.def(
      "convert",
      [](nb::handle o, nb::handle dtype, bool must) {
        if (dtype.is_none()) return to_tensor(o.ptr());
        const DType wanted = to_dtype(dtype.ptr());
        return to_tensor(o.ptr(), {&wanted, must});
      },
      nb::arg("value").none(), nb::arg("dtype").none(), nb::arg("must"));
  m.def("share", [](nb::handle o) { return shared(o.ptr()); });
  m.def(
      "to_shape",
      [](nb::handle o) {
        nb::list lengths;
        for (const std::int64_t n : to_shape(o.ptr())) lengths.append(n);
        return lengths;
      },
      nb::arg("shape").none());
}

AttributeValue to_attribute(PyObject* o) {
  if (o == Py_None) return {};
  const Level level;
  if (PyBool_Check(o)) return AttributeValue(o == Py_True);
  if (PyLong_Check(o)) return AttributeValue(to_int64(o));
  if (PyFloat_Check(o)) return AttributeValue(PyFloat_AS_DOUBLE(o));
  if (PyUnicode_Check(o)) return AttributeValue(nb::cast<std::string>(nb::handle(o)));
  for (int i = 0; i < kDTypes; ++i) {
    if (object_of(static_cast<DType>(i)) == o) return AttributeValue(std::string(name_of(static_cast<DType>(i))));
  }
  if (PyDict_Check(o)) {
    AttributeValue map = AttributeValue::map();
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value) != 0;) {
      map.set(nb::cast<std::string>(nb::handle(key)), to_attribute(value));
    }
    return map;
  }
  if (is_list(o)) {
    std::vector<AttributeValue> items;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
      items.push_back(to_attribute(PySequence_Fast_GET_ITEM(o, i)));
    }
    return AttributeValue(std::move(items));
  }
  if (is_leaf(o) || (PyObject_CheckBuffer(o) != 0 && !PyBytes_Check(o))) {
    const Tensor t = to_tensor(o);
    need_values("an argument", t);
    if (t.rank() == 0 && t.dtype() == bool_) return AttributeValue(t.item<bool>());
    if (t.rank() == 0 && is_floating(t.dtype())) return AttributeValue(t.item<double>());
    if (t.rank() == 0) return AttributeValue(t.item<std::int64_t>());
    return to_attribute(steal(to_numpy(t)).attr("tolist")().ptr());
  }
  if (PyIndex_Check(o) != 0) return AttributeValue(to_int64(steal(PyNumber_Index(o)).ptr()));
  if (PyType_Check(o) || attribute(o, "itemsize").is_valid()) return AttributeValue(std::string(name_of(to_dtype(o))));
  if (const nb::object method = attribute(o, "__capstan_config__"); method.is_valid()) {
    return to_attribute(method().ptr());
  }
  if (PySequence_Check(o) != 0) return to_attribute(steal(PySequence_List(o)).ptr());
  throw DTypeError("convert: a " + name_of_type(o) + " is no number, text, dtype or list of these");
}

PyObject* from_attribute(const AttributeValue& value) {
  switch (value.kind) {
    case AttributeValue::Kind::kNone:
      return Py_NewRef(Py_None);
    case AttributeValue::Kind::kBool:
      return PyBool_FromLong(value.truth);
    case AttributeValue::Kind::kInt:
      return PyLong_FromLongLong(value.integer);
    case AttributeValue::Kind::kFloat:
      return PyFloat_FromDouble(value.number);
    case AttributeValue::Kind::kString:
      return PyUnicode_FromStringAndSize(value.text.data(), static_cast<Py_ssize_t>(value.text.size()));
    case AttributeValue::Kind::kList: {
      nb::list items;
      for (const AttributeValue& item : value.list) items.append(nb::steal(from_attribute(item)));
      return items.release().ptr();
    }
    default: {
      nb::dict items;
      for (const auto& [key, item] : value.items) items[key.c_str()] = nb::steal(from_attribute(item));
      return items.release().ptr();
    }
  }
}

}  // namespace capstan::python
