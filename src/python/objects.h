// What the files of the binding share: the Python types of tensors, variables and shapes, and the roads between Python
// objects and those of the library.
//
// Types that small programs use at every step are plain C types: an instance of a nanobind class is entered in a hash
// table, which costs more than the op. nanobind knows them by the casters below, so all the rest is ordinary nanobind.
// Functions that return a PyObject* return a new reference, or null with an exception set; those that return anything
// else throw. What is thrown becomes a Python exception at the border, by set_error().
#pragma once

#include <Python.h>
#include <structmember.h>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/error.h"
#include "capstan/registry.h"
#include "capstan/tensor.h"
#include "capstan/variable.h"

namespace capstan {
class ConcreteState;
}

namespace capstan::python {

namespace nb = nanobind;

struct PyTensor {
  PyObject_HEAD Tensor tensor;
  PyObject* weak;
  PyObject* place;  // of an item of a variable: the variable and the key, which can be assigned; else null
};
struct PyVariable {
  PyObject_HEAD Variable variable;
  PyObject* attributes;
  PyObject* weak;
};
extern PyTypeObject* tensor_type;
extern PyTypeObject* variable_type;
extern PyTypeObject* shape_type;  // a subclass of tuple

inline bool is_tensor(PyObject* o) { return Py_TYPE(o) == tensor_type; }
inline bool is_variable(PyObject* o) { return Py_TYPE(o) == variable_type || PyObject_TypeCheck(o, variable_type); }
inline bool is_leaf(PyObject* o) { return is_tensor(o) || is_variable(o); }
inline Tensor& tensor_of(PyObject* o) { return reinterpret_cast<PyTensor*>(o)->tensor; }
inline Variable& variable_of(PyObject* o) { return reinterpret_cast<PyVariable*>(o)->variable; }
/// The value of either.
inline Tensor value_of(PyObject* o) { return is_tensor(o) ? tensor_of(o) : variable_of(o).value(); }
inline DType dtype_of(PyObject* o) { return is_tensor(o) ? tensor_of(o).dtype() : variable_of(o).dtype(); }
inline Shape shape_of(PyObject* o) { return is_tensor(o) ? tensor_of(o).shape() : variable_of(o).shape(); }
inline bool is_symbolic(const Tensor& t) {
  return t.has_value() && (t.block()->flags.load(std::memory_order_relaxed) & detail::Block::kSymbolic) != 0;
}

/// None for an empty tensor.
PyObject* wrap(Tensor tensor);
/// The one object of the variable.
PyObject* wrap(const Variable& variable);
PyObject* wrap(const Shape& shape);

// --- dtypes (dtypes.cc) ---

/// The object that stands for a dtype; borrowed.
PyObject* object_of(DType dtype);
/// A dtype, its name, a type of Python or NumPy. Throws a TypeError of Python.
DType to_dtype(PyObject* o);

// --- Python to tensors (convert.cc) ---

/// What a conversion aims at.
struct Wish {
  const DType* dtype = nullptr;  // null: the object's own
  bool must = false;             // cast arrays whatever they are; otherwise a dtype that does not go is an error
};
/// Any object as a tensor. Throws DTypeError, ShapeError, ValueError or an error of Python.
Tensor to_tensor(PyObject* o, Wish wish = {});
/// An object beside a tensor of a dtype as an operand; `holder` keeps what had to be made of it. False for objects that
/// no tensor can be made of, for which Python may ask the other side.
bool to_operand(PyObject* o, const DType* beside, Tensor& holder, Operand* operand);
/// A list of lengths: a shape, a sequence, a number, or a tensor or array of integers; None is -1.
Shape to_shape(PyObject* o);
/// As an attribute of an op or an option of a class.
AttributeValue to_attribute(PyObject* o);
PyObject* from_attribute(const AttributeValue& value);

// --- Tensors to Python (arrays.cc) ---

/// A writable array, or a NumPy scalar for rank 0.
PyObject* to_numpy(const Tensor& tensor);
/// A read-only array over the elements, which holds the tensor.
PyObject* to_numpy_view(const Tensor& tensor);
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);
extern PyMethodDef array_methods[];

// --- Operators (operators.cc) ---

/// Fills in the slots of arithmetic, comparison and indexing, which both types have.
void add_operator_slots(std::vector<PyType_Slot>& slots);

// --- Errors (errors.cc) ---

/// Sets the Python exception for the C++ exception in flight. Where a function of the package needs values that a trace
/// does not have, it is an UntraceableError, and the traced function runs without a trace; where a program reads them,
/// as in `if tensor`, a TraceError.
void set_error() noexcept;
/// The same as a TypeError too, for arguments that an input_signature does not allow, and as an AttributeError too, for
/// elements that a tensor does not have: TensorFlow raises these.
void set_signature_error(const std::exception& error) noexcept;
void set_no_array_error(const TraceError& error) noexcept;

/// In a catch clause: throws an exception of Python as a ValueError of the library, to which what reads a file adds the
/// name of the file, with what it says and without the places of Python that its own text has. What is no Exception,
/// such as a KeyboardInterrupt, goes on as it is.
[[noreturn]] void rethrow_as_value_error(const nb::python_error& error);

/// As set_error(), for ops, which are functions of the package whoever calls them.
void set_op_error() noexcept;

/// Whether the exception of Python that is set is an UntraceableError.
bool is_untraceable_error();
/// A new reference, or the error that is set.
inline nb::object steal(PyObject* o) {
  if (o == nullptr) throw nb::python_error();
  return nb::steal(o);
}
/// A new reference to what a module of Python has under a name; imported once.
PyObject* import_from(const char* module, const char* name);

/// A traced function as a method of an object: a new reference, or null with an exception set.
PyObject* bound_function(PyObject* function, PyObject* object);

/// The trace of a concrete function.
std::shared_ptr<const ConcreteState> state_of_concrete(nb::handle concrete);

// --- What the parts add to the module ---

void add_errors(nb::module_& m);
void add_hooks(nb::module_& m);
void add_dtypes(nb::module_& m);
void add_conversions(nb::module_& m);
void add_operators(nb::module_& m);
void add_tensor(nb::module_& m);
void add_variable(nb::module_& m);
void add_ops(nb::module_& m);
void add_nest(nb::module_& m);
void add_tape(nb::module_& m);
void add_forward(nb::module_& m);
void add_function(nb::module_& m);
void add_bound_function(nb::module_& m);
void add_control(nb::module_& m);
void add_debugging(nb::module_& m);
void add_classes(nb::module_& m);
void add_layers(nb::module_& m);
void add_models(nb::module_& m);
void add_datasets(nb::module_& m);
void add_composites(nb::module_& m);
void add_texts(nb::module_& m);
void add_checkpoints(nb::module_& m);
void add_saved_models(nb::module_& m);
void add_files(nb::module_& m);
void add_summaries(nb::module_& m);
void add_applications(nb::module_& m);
void add_random(nb::module_& m);

/// One level of a structure that may contain itself. Throws a RecursionError of Python, as Python itself does.
class Level {
 public:
  Level() {
    if (Py_EnterRecursiveCall(" in a structure") != 0) throw nb::python_error();
  }
  ~Level() { Py_LeaveRecursiveCall(); }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;
};

/// While it lives other threads of Python may run.
using Unlocked = nb::gil_scoped_release;
using Locked = nb::gil_scoped_acquire;

/// An object of Python that the library holds, where Python's lock may not be: it is let go of with the lock, and not
/// at all when Python has ended.
class Held {
 public:
  explicit Held(nb::handle object) : object_(object.ptr()) {
    const Locked lock;
    Py_INCREF(object_);
  }
  ~Held() {
    if (Py_IsInitialized() == 0) return;
    const Locked lock;
    Py_DECREF(object_);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  nb::handle get() const { return object_; }

 private:
  PyObject* object_;
};

/// Makes keyword arguments positional: `names` are those of a function, whose first `required` must be given.
struct Signature {
  const char* function;
  std::vector<PyObject*> names;  // interned, never freed
  Py_ssize_t required;

  Signature(const char* function, std::initializer_list<const char*> names, Py_ssize_t required);
  /// Fills `given`, one place for each name, null for what is not given. False with an exception set.
  bool read(PyObject* const* args, Py_ssize_t n, PyObject* keywords, PyObject** given) const;
};

/// A method in the form that is called fastest.
template <class F>
PyCFunction fast(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f));
}

}  // namespace capstan::python

// Runs what may throw in a function that is called by Python.
#define CAPSTAN_PYTHON_TRY try {
#define CAPSTAN_PYTHON_CATCH(result) \
  }                                  \
  catch (...) {                      \
    ::capstan::python::set_error();  \
    return result;                   \
  }
#define CAPSTAN_PYTHON_CATCH_OF_OP(result) \
  }                                        \
  catch (...) {                            \
    ::capstan::python::set_op_error();     \
    return result;                         \
  }

namespace nanobind::detail {

template <>
struct type_caster<capstan::Tensor> {
  NB_TYPE_CASTER(capstan::Tensor, const_name("Tensor"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      if (!source.is_none()) value = capstan::python::to_tensor(source.ptr());
      return true;
    } catch (...) {
      return false;
    }
  }
  static handle from_cpp(const capstan::Tensor& t, rv_policy, cleanup_list*) noexcept {
    return capstan::python::wrap(t);
  }
};

template <>
struct type_caster<capstan::Variable> {
  NB_TYPE_CASTER(capstan::Variable, const_name("Variable"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    if (!capstan::python::is_variable(source.ptr())) return false;
    value = capstan::python::variable_of(source.ptr());
    return true;
  }
  static handle from_cpp(const capstan::Variable& v, rv_policy, cleanup_list*) noexcept {
    return capstan::python::wrap(v);
  }
};

template <>
struct type_caster<capstan::Shape> {
  NB_TYPE_CASTER(capstan::Shape, const_name("TensorShape"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      value = capstan::python::to_shape(source.ptr());
      return true;
    } catch (...) {
      return false;
    }
  }
  static handle from_cpp(const capstan::Shape& s, rv_policy, cleanup_list*) noexcept {
    return capstan::python::wrap(s);
  }
};

template <>
struct type_caster<capstan::DType> {
  NB_TYPE_CASTER(capstan::DType, const_name("DType"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      value = capstan::python::to_dtype(source.ptr());
      return true;
    } catch (...) {
      return false;
    }
  }
  static handle from_cpp(capstan::DType d, rv_policy, cleanup_list*) noexcept {
    return Py_NewRef(capstan::python::object_of(d));
  }
};

template <>
struct type_caster<capstan::AttributeValue> {
  NB_TYPE_CASTER(capstan::AttributeValue, const_name("object"))
  bool from_python(handle source, uint8_t, cleanup_list*) noexcept {
    try {
      value = capstan::python::to_attribute(source.ptr());
      return true;
    } catch (...) {
      return false;
    }
  }
  static handle from_cpp(const capstan::AttributeValue& v, rv_policy, cleanup_list*) noexcept {
    return capstan::python::from_attribute(v);
  }
};

}  // namespace nanobind::detail
