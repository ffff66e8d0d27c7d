// Structures of Python: lists, tuples, named tuples and dicts, whose keys are sorted, as TensorFlow's nest has them.
// Everything else is a leaf, None and shapes too.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capstan/nest.h"
#include "capstan/tape.h"
#include "src/python/objects.h"

namespace capstan::python {

inline bool is_structure(PyObject* o) {
  return PyList_Check(o) || PyDict_Check(o) || (PyTuple_Check(o) && Py_TYPE(o) != shape_type);
}

/// The keys of a dict in order. Throws a TypeError of Python that says so if they cannot be sorted.
nb::object sorted_keys(PyObject* dict);

/// Appends the leaves, borrowed.
void flatten(PyObject* o, std::vector<PyObject*>& leaves);

/// The same structure with `next(leaf)` in place of each leaf, in order; `next` returns new references or throws.
nb::object map_leaves(PyObject* o, const std::function<PyObject*(PyObject* leaf)>& next);

/// Leaves as what tapes take: tensors, variables and what can be made a tensor, in order.
class Sources {
 public:
  explicit Sources(PyObject* structure, bool convert = true);
  std::span<const Source> list() const { return list_; }
  const std::vector<PyObject*>& leaves() const { return leaves_; }

 private:
  std::vector<PyObject*> leaves_;
  std::vector<Source> list_;
  std::vector<std::unique_ptr<Tensor>> made_;
};

/// A structure as a nest of the library, and back as lists and dicts.
Nest to_nest(PyObject* o);
PyObject* from_nest(const Nest& nest);

/// The form of a structure as a text, and its tensors, for files. Errors: ValueError for a leaf that is no tensor, and
/// for a class of tuples or a key that is no text.
std::string form_of(PyObject* o, std::vector<Tensor>& tensors);
/// The structure of a form, with these tensors. Errors: ValueError for a text that is no form of so many tensors.
nb::object structure_of(std::string_view form, const std::vector<Tensor>& tensors);

}  // namespace capstan::python
