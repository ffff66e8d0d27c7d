// Arithmetic, comparison and indexing of tensors and variables.
//
// Operands are lent: Python may hold them elsewhere, and from version 3.14 on reference counts do not even tell.
#include <algorithm>
#include <utility>

#include "capstan/op_calls.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/math.h"
#include "src/python/graph_layers.h"
#include "src/python/objects.h"

namespace capstan::python {

namespace {

const Op& op_of(const char* name, const Op*& found) {
  if (found == nullptr) found = new Op(name);
  return *found;
}

// One result of elementwise ops without attributes.
Tensor call_plain(const Op& op, std::span<Operand> operands) {
  if (any_in_graph(operands)) [[unlikely]]
    return call_in_graph(op, operands, AttributeSet(op))[0];
  return call(op, operands, AttributeSet(op));
}

Tensor known_value(const char* what, PyObject* x) {
  const Tensor t = value_of(x);
  need_values(what, t);
  return t;
}

PyObject* binary(const Op& op, PyObject* a, PyObject* b) {
  CAPSTAN_PYTHON_TRY
  Tensor made_a, made_b;
  Operand operands[] = {0, 0};
  const bool a_is_ours = is_leaf(a), b_is_ours = is_leaf(b);
  DType dtype;
  const DType* beside = nullptr;
  if (!a_is_ours || !b_is_ours) {
    dtype = dtype_of(a_is_ours ? a : b);
    beside = &dtype;
  }
  if (!to_operand(a, a_is_ours ? nullptr : beside, made_a, &operands[0]) ||
      !to_operand(b, b_is_ours ? nullptr : beside, made_b, &operands[1])) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return wrap(call_plain(op, operands));
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* unary(const Op& op, PyObject* x) {
  CAPSTAN_PYTHON_TRY
  Tensor made;
  Operand operand = 0;
  to_operand(x, nullptr, made, &operand);
  return wrap(call_plain(op, std::span(&operand, 1)));
  CAPSTAN_PYTHON_CATCH(nullptr)
}

template <const char* Name>
PyObject* binary_slot(PyObject* a, PyObject* b) {
  static const Op* found = nullptr;
  return binary(op_of(Name, found), a, b);
}
template <const char* Name>
PyObject* unary_slot(PyObject* x) {
  static const Op* found = nullptr;
  return unary(op_of(Name, found), x);
}

constexpr char kAdd[] = "add", kSubtract[] = "subtract", kMultiply[] = "multiply", kFloordiv[] = "floordiv",
               kFloormod[] = "floormod", kNegative[] = "negative", kAbs[] = "abs";

// Integers divide as in Python: the quotient is float64, of uint8 float32.
PyObject* divide(PyObject* a, PyObject* b) {
  static const Op* found = nullptr;
  const Op& op = op_of("divide", found);
  CAPSTAN_PYTHON_TRY
  const DType dtype = dtype_of(is_leaf(a) ? a : b);
  if (is_integer(dtype)) {
    DType wide = dtype == uint8 ? float32 : float64;
    const Wish wish{&wide, true};
    if (a == Py_None || b == Py_None || PyUnicode_Check(a) || PyUnicode_Check(b)) Py_RETURN_NOTIMPLEMENTED;
    const Tensor left = to_tensor(a, wish), right = to_tensor(b, wish);
    Operand operands[] = {left, right};
    return wrap(call_plain(op, operands));
  }
  CAPSTAN_PYTHON_CATCH(nullptr)
  return binary(op, a, b);
}

PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  static const Op* found = nullptr;
  if (modulus != Py_None) {
    PyErr_SetString(PyExc_TypeError, "pow() of tensors takes no third argument");
    return nullptr;
  }
  return binary(op_of("pow", found), a, b);
}

PyObject* matrix_multiply(PyObject* a, PyObject* b) {
  CAPSTAN_PYTHON_TRY
  const DType dtype = dtype_of(is_leaf(a) ? a : b);
  const Wish wish{&dtype};
  const Tensor left = to_tensor(a, wish), right = to_tensor(b, wish);
  Operand operands[] = {left, right};
  static const Op* found = nullptr;
  return wrap(call_plain(op_of("matmul", found), operands));
  CAPSTAN_PYTHON_CATCH(nullptr)
}

// On truth values logical, on integers by bits.
PyObject* bits(const char* logical, const char* bitwise, PyObject* a, PyObject* b) {
  CAPSTAN_PYTHON_TRY
  const bool truth = dtype_of(is_leaf(a) ? a : b) == bool_;
  const Op op(truth ? logical : bitwise);
  return b == nullptr ? unary(op, a) : binary(op, a, b);
  CAPSTAN_PYTHON_CATCH(nullptr)
}
PyObject* bit_and(PyObject* a, PyObject* b) { return bits("logical_and", "bitwise_and", a, b); }
PyObject* bit_or(PyObject* a, PyObject* b) { return bits("logical_or", "bitwise_or", a, b); }
PyObject* bit_xor(PyObject* a, PyObject* b) { return bits("logical_xor", "bitwise_xor", a, b); }
PyObject* bit_not(PyObject* a) { return bits("logical_not", "invert", a, nullptr); }

PyObject* positive(PyObject* x) { return Py_NewRef(x); }

PyObject* compare(PyObject* a, PyObject* b, int code) {
  static const Op* ops[6] = {};
  constexpr const char* kNames[6] = {"less", "less_equal", "equal", "not_equal", "greater", "greater_equal"};
  if (code == Py_EQ || code == Py_NE) {
    if (b == Py_None) return PyBool_FromLong(code == Py_NE);
    if (PyUnicode_Check(b)) return PyBool_FromLong(code == Py_NE);
  }
  return binary(op_of(kNames[code], ops[code]), a, b);
}

PyObject* item_hook = nullptr;  // of _known.py: told of items of symbolic lists of lengths

// The element of a symbolic list of integers may be a length that a trace knows.
PyObject* told(PyObject* x, PyObject* key, PyObject* item) {
  if (item == nullptr || item_hook == nullptr || !is_tensor(x) || !is_symbolic(tensor_of(x))) return item;
  if (!is_integer(tensor_of(x).dtype()) || tensor_of(x).rank() != 1) return item;
  const nb::object done = steal(PyObject_CallFunctionObjArgs(item_hook, x, key, item, nullptr));
  return item;
}

int truth(PyObject* x) {
  CAPSTAN_PYTHON_TRY
  const Tensor t = known_value("bool", x);
  if (!is_symbolic(t) && t.size() != 1) {
    PyErr_SetString(PyExc_ValueError,
                    "The truth value of a tensor with more than one element is ambiguous; use tf.reduce_any() or "
                    "tf.reduce_all()");
    return -1;
  }
  if (is_symbolic(t)) detail::throw_symbolic("bool", t.block());
  return t.item<bool>() ? 1 : 0;
  CAPSTAN_PYTHON_CATCH(-1)
}

PyObject* as_float(PyObject* x) {
  CAPSTAN_PYTHON_TRY
  return PyFloat_FromDouble(known_value("float", x).item<double>());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* as_int(PyObject* x) {
  CAPSTAN_PYTHON_TRY
  const Tensor t = known_value("int", x);
  if (is_floating(t.dtype())) return PyLong_FromDouble(t.item<double>());
  return PyLong_FromLongLong(t.item<std::int64_t>());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

PyObject* as_index(PyObject* x) {
  CAPSTAN_PYTHON_TRY
  const Tensor t = known_value("index", x);
  if (!is_integer(t.dtype()) || t.rank() != 0) {
    PyErr_SetString(PyExc_TypeError, "only a scalar tensor of integers can be an index");
    return nullptr;
  }
  return PyLong_FromLongLong(t.item<std::int64_t>());
  CAPSTAN_PYTHON_CATCH(nullptr)
}

Py_ssize_t length(PyObject* x) {
  CAPSTAN_PYTHON_TRY
  if (is_tensor(x)) need_values("len", tensor_of(x));
  const Shape shape = shape_of(x);
  if (shape.rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a scalar tensor");
    return -1;
  }
  return shape[0];
  CAPSTAN_PYTHON_CATCH(-1)
}

PyObject* known_hook = nullptr;  // of _known.py: the number that a symbolic tensor is, if the trace knows it

// The number that a symbolic tensor is; null if the trace does not know it.
nb::object known_number(PyObject* o) {
  if (known_hook == nullptr) return {};
  nb::object number = steal(PyObject_CallOneArg(known_hook, o));
  return PyLong_Check(number.ptr()) ? number : nb::object();
}

std::int64_t position(PyObject* o) {
  if (is_tensor(o) && is_symbolic(tensor_of(o))) {
    if (const nb::object number = known_number(o); number.is_valid()) return position(number.ptr());
    return tensor_of(o).item<std::int64_t>();  // the error of what needs values
  }
  if (PyFloat_Check(o)) throw nb::type_error("an index is an integer, a slice, None or ..., not a float");
  const nb::object index = steal(PyNumber_Index(o));
  const long long n = PyLong_AsLongLong(index.ptr());
  if (n == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return n;
}

Slice slice_of(PyObject* o) {
  const auto* const s = reinterpret_cast<PySliceObject*>(o);
  const auto edge = [](PyObject* end) { return end == Py_None ? Slice::kEdge : position(end); };
  return {edge(s->start), edge(s->stop), s->step == Py_None ? 1 : position(s->step)};
}

// Whether an item of an index is an integer that only a run knows.
bool is_known_at_run_time(PyObject* o) {
  if (!is_tensor(o) || !is_symbolic(tensor_of(o)) || is_in_graph(tensor_of(o))) return false;
  const Tensor& t = tensor_of(o);
  return t.rank() == 0 && is_integer(t.dtype()) && !known_number(o).is_valid();
}

// Takes one place of an axis, counted from the end if it is negative. The gradient is dense, as that of a slice: rows
// of a first axis would have one of rows.
Tensor at_run_time(const Tensor& x, int axis, const Tensor& place) {
  const Index at = axis;
  const Tensor length = cast(getitem(shape(x), std::span(&at, 1)), place.dtype());
  return squeeze(gather(expand_dims(x, 0), where(less(place, 0), place + length, place), axis + 1), 0);
}

PyObject* item_of(PyObject* x, PyObject* key) {
  CAPSTAN_PYTHON_TRY
  const bool several = PyTuple_CheckExact(key);
  const Py_ssize_t count = several ? PyTuple_GET_SIZE(key) : 1;
  // A mask of truth values selects elements, as tf.boolean_mask does.
  if (!several && (is_leaf(key) || PyObject_CheckBuffer(key) != 0) && !PyBytes_Check(key)) {
    const Tensor mask = to_tensor(key);
    if (mask.dtype() == bool_) return wrap(boolean_mask(value_of(x), mask));
    if (mask.rank() > 0) {
      PyErr_SetString(PyExc_TypeError, "a tensor of numbers is no index; gather rows with tf.gather(x, indices)");
      return nullptr;
    }
  }
  std::vector<Index> items;
  std::vector<std::pair<std::size_t, Tensor>>
      later;  // items that are places known at run time, each a whole axis at first
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const o = several ? PyTuple_GET_ITEM(key, i) : key;
    if (is_known_at_run_time(o)) [[unlikely]] {
      later.emplace_back(items.size(), tensor_of(o));
      items.emplace_back(Slice{});
    } else if (o == Py_Ellipsis) {
      items.emplace_back(ellipsis);
    } else if (o == Py_None) {
      items.emplace_back(newaxis);
    } else if (PySlice_Check(o)) {
      items.emplace_back(slice_of(o));
    } else {
      items.emplace_back(position(o));
    }
  }
  if (is_tensor(x) && is_in_graph(tensor_of(x))) {
    return wrap(call_in_graph("get_item", {tensor_of(x)}, [items](const std::vector<Tensor>& in) {
      return std::vector{getitem(in[0], items)};
    })[0]);
  }
  if (!later.empty()) [[unlikely]] {
    // The axes of the result: what the items before leave of x.
    const auto uses_axis = [](const Index& item) {
      return item.kind == Index::Kind::kNumber || item.kind == Index::Kind::kSlice;
    };
    const auto rest = static_cast<int>(shape_of(x).rank() - std::count_if(items.begin(), items.end(), uses_axis));
    Tensor result = getitem(value_of(x), items);
    for (auto place = later.rbegin(); place != later.rend(); ++place) {
      int axis = 0;
      for (std::size_t i = 0; i < place->first; ++i) {
        axis += items[i].kind == Index::Kind::kNumber ? 0 : items[i].kind == Index::Kind::kEllipsis ? rest : 1;
      }
      result = at_run_time(result, axis, place->second);
    }
    return wrap(std::move(result));
  }
  if (is_tensor(x)) return told(x, key, wrap(getitem(tensor_of(x), items)));
  return wrap(getitem(variable_of(x), items));
  CAPSTAN_PYTHON_CATCH_OF_OP(nullptr)
}

// An item of a variable knows where it is from: v[0].assign(...) changes it there.
PyObject* subscript(PyObject* x, PyObject* key) {
  PyObject* const item = item_of(x, key);
  if (item == nullptr || is_tensor(x) || !is_tensor(item)) return item;
  auto* const found = reinterpret_cast<PyTensor*>(item);
  found->place = PyTuple_Pack(2, x, key);
  if (found->place != nullptr) return item;
  Py_DECREF(item);
  return nullptr;
}

// For iteration, which ends with an IndexError.
PyObject* item(PyObject* x, Py_ssize_t i) {
  CAPSTAN_PYTHON_TRY
  if (is_tensor(x)) need_values("iteration", tensor_of(x));
  const Shape shape = shape_of(x);
  if (shape.rank() == 0) {
    PyErr_SetString(PyExc_TypeError, "iteration over a scalar tensor");
    return nullptr;
  }
  if (i < 0 || i >= shape[0]) {
    PyErr_SetString(PyExc_IndexError, "out of range");
    return nullptr;
  }
  const Index index(static_cast<std::int64_t>(i));
  if (is_tensor(x)) return wrap(getitem(tensor_of(x), std::span(&index, 1)));
  return wrap(getitem(variable_of(x), std::span(&index, 1)));
  CAPSTAN_PYTHON_CATCH(nullptr)
}

int contains(PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "`in` compares element by element; use tf.reduce_any(tensor == x)");
  return -1;
}

}  // namespace

void add_operators(nb::module_& m) {
  m.def("set_item_hooks", [](const nb::object& item, const nb::object& known) {
    item_hook = nb::object(item).release().ptr();
    known_hook = nb::object(known).release().ptr();
  });
}

void add_operator_slots(std::vector<PyType_Slot>& slots) {
  const auto add = [&](int slot, auto* f) { slots.push_back({slot, reinterpret_cast<void*>(f)}); };
  add(Py_nb_add, binary_slot<kAdd>);
  add(Py_nb_subtract, binary_slot<kSubtract>);
  add(Py_nb_multiply, binary_slot<kMultiply>);
  add(Py_nb_true_divide, divide);
  add(Py_nb_floor_divide, binary_slot<kFloordiv>);
  add(Py_nb_remainder, binary_slot<kFloormod>);
  add(Py_nb_power, power);
  add(Py_nb_matrix_multiply, matrix_multiply);
  add(Py_nb_negative, unary_slot<kNegative>);
  add(Py_nb_positive, positive);
  add(Py_nb_absolute, unary_slot<kAbs>);
  add(Py_nb_invert, bit_not);
  add(Py_nb_and, bit_and);
  add(Py_nb_or, bit_or);
  add(Py_nb_xor, bit_xor);
  add(Py_nb_bool, truth);
  add(Py_nb_float, as_float);
  add(Py_nb_int, as_int);
  add(Py_nb_index, as_index);
  add(Py_mp_length, length);
  add(Py_mp_subscript, subscript);
  add(Py_sq_length, length);
  add(Py_sq_item, item);
  add(Py_sq_contains, contains);
  add(Py_tp_richcompare, compare);
}

}  // namespace capstan::python
