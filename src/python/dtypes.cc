// Dtypes: objects of Python, made by capstan/_dtypes.py, one for each.
#include "capstan/dtype_policy.h"
#include "src/python/objects.h"

namespace capstan::python {

namespace {
PyObject* objects[kDTypes];
PyObject* as_dtype;  // of _dtypes.py: whatever Python and NumPy call a dtype, as one of the objects
}  // namespace

PyObject* object_of(DType dtype) { return objects[static_cast<int>(dtype)]; }

DType to_dtype(PyObject* o) {
  for (int i = 0; i < kDTypes; ++i) {
    if (objects[i] == o) return static_cast<DType>(i);
  }
  const nb::object found = steal(PyObject_CallOneArg(as_dtype, o));
  for (int i = 0; i < kDTypes; ++i) {
    if (objects[i] == found.ptr()) return static_cast<DType>(i);
  }
  throw nb::type_error("tf.string: there are texts outside of programs and models alone, which hold numbers");
}

void add_dtypes(nb::module_& m) {
  m.def("set_dtypes", [](const nb::list& list, const nb::object& conversion) {
    for (int i = 0; i < kDTypes; ++i) objects[i] = nb::object(list[static_cast<std::size_t>(i)]).release().ptr();
    as_dtype = nb::object(conversion).release().ptr();
  });
  nb::list names;
  for (int i = 0; i < kDTypes; ++i) names.append(std::string(name_of(static_cast<DType>(i))));
  m.attr("dtype_names") = names;
  m.def("floatx", [] { return floatx(); });
  m.def("set_floatx", [](DType dtype) { set_floatx(dtype); });
  m.def("dtype_policy", [] { return dtype_policy().name(); });
  m.def("set_dtype_policy", [](const std::string& name) { set_dtype_policy(name); });
  m.def("dtypes_of_policy", [](const std::string& name) {
    const DTypePolicy policy(name);
    return std::pair(policy.compute_dtype(), policy.variable_dtype());
  });
}

}  // namespace capstan::python
