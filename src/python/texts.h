// Texts in Python: objects of the class TextTensor of capstan/_texts.py, arrays of bytes with a shape.
//
// The library's tensors hold numbers. Its layers of texts take Texts, and its datasets of files give std::string; here
// these become objects of that class and back.
#pragma once

#include <string>
#include <vector>

#include "capstan/texts.h"
#include "src/python/objects.h"

namespace capstan::python {

extern PyTypeObject* text_type;  // null until capstan/_texts.py has been read

inline bool is_text(PyObject* o) { return Py_TYPE(o) == text_type; }

/// Bytes of Python as a text, and back. The first throws a TypeError of Python for anything else.
std::string string_of(nb::handle o);
std::vector<std::string> strings_of(const nb::list& list);
nb::bytes bytes_of(const std::string& text);

/// A TextTensor of these texts, row by row.
nb::object to_text_tensor(const std::vector<std::string>& texts, const Shape& shape);

void add_text_layers(nb::module_& m);  // text_layers.cc
void add_text_files(nb::module_& m);   // text_files.cc

}  // namespace capstan::python
