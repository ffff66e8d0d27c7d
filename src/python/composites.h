// Objects of Python that stand for what the library has no tensors of: texts (capstan/_texts.py), rows of different
// lengths (ragged.py) and tensors that are mostly zero (sparse.py). No op of the library takes one; what an op makes of
// them is written in Python (capstan/_composites.py).
#pragma once

#include "src/python/objects.h"

namespace capstan::python {

bool is_composite(PyObject* o);
/// Whether an argument of an op is such an object, or a list that has one.
bool has_composite(PyObject* o);
/// What an op makes of them: arguments by the names of its parameters. A new reference, or null and an error.
PyObject* call_on_composites(const std::string& op, const nb::dict& arguments);
/// Objects of one class as rows of one.
nb::object stacked_composites(const nb::list& items);

}  // namespace capstan::python
