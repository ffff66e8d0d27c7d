#include "src/python/composites.h"

#include <algorithm>
#include <vector>

namespace capstan::python {

namespace {

std::vector<PyTypeObject*> types;  // empty until capstan/_composites.py has been read
// Functions of that file.
PyObject* on_composites;
PyObject* stacked;

}  // namespace

bool is_composite(PyObject* o) { return std::find(types.begin(), types.end(), Py_TYPE(o)) != types.end(); }

bool has_composite(PyObject* o) {
  if (o == nullptr) return false;
  if (is_composite(o)) return true;
  if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    if (is_composite(PySequence_Fast_GET_ITEM(o, i))) return true;
  }
  return false;
}

PyObject* call_on_composites(const std::string& op, const nb::dict& arguments) {
  return PyObject_CallFunction(on_composites, "sO", op.c_str(), arguments.ptr());
}

nb::object stacked_composites(const nb::list& items) { return nb::handle(stacked)(items); }

void add_composites(nb::module_& m) {
  m.def("set_composites", [](const nb::list& classes, nb::object call, nb::object stack) {
    for (const nb::handle type : classes)
      types.push_back(reinterpret_cast<PyTypeObject*>(nb::borrow(type).release().ptr()));
    on_composites = call.release().ptr();
    stacked = stack.release().ptr();
  });
}

}  // namespace capstan::python
