#include "src/python/nest.h"

namespace capstan::python {

nb::object sorted_keys(PyObject* dict) {
  nb::object keys = steal(PyDict_Keys(dict));
  if (PyList_Sort(keys.ptr()) != 0) {
    PyErr_Clear();
    throw nb::type_error("nest: the keys of this dict cannot be sorted, and its leaves have no order without that");
  }
  return keys;
}

void flatten(PyObject* o, std::vector<PyObject*>& leaves) {
  if (!is_structure(o)) return leaves.push_back(o);
  const Level level;
  if (PyDict_Check(o)) {
    const nb::object keys = sorted_keys(o);
    for (const nb::handle key : nb::borrow<nb::list>(keys)) flatten(PyDict_GetItem(o, key.ptr()), leaves);
  } else {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) flatten(PySequence_Fast_GET_ITEM(o, i), leaves);
  }
}

nb::object map_leaves(PyObject* o, const std::function<PyObject*(PyObject* leaf)>& next) {
  if (!is_structure(o)) return steal(next(o));
  const Level level;
  if (PyDict_Check(o)) {
    // A dict of the same keys in their order; the leaves come in the order of sorted keys.
    const nb::object keys = sorted_keys(o);
    const nb::object made = PyDict_CheckExact(o) ? steal(PyDict_Copy(o)) : nb::borrow(o).attr("copy")();
    for (const nb::handle key : nb::borrow<nb::list>(keys)) {
      const nb::object value = map_leaves(PyDict_GetItem(o, key.ptr()), next);
      if (PyObject_SetItem(made.ptr(), key.ptr(), value.ptr()) != 0) throw nb::python_error();
    }
    return made;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  const bool is_list = PyList_Check(o);
  nb::object made = steal(is_list ? PyList_New(n) : PyTuple_New(n));
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* const item = map_leaves(PySequence_Fast_GET_ITEM(o, i), next).release().ptr();
    is_list ? PyList_SET_ITEM(made.ptr(), i, item) : PyTuple_SET_ITEM(made.ptr(), i, item);
  }
  if (is_list || PyTuple_CheckExact(o)) return made;
  const nb::object type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  return PyObject_HasAttrString(o, "_fields") != 0 ? type.attr("_make")(made) : type(made);
}

Sources::Sources(PyObject* structure, bool convert) {
  flatten(structure, leaves_);
  for (PyObject* const leaf : leaves_) {
    if (is_tensor(leaf)) {
      list_.emplace_back(tensor_of(leaf));
    } else if (is_variable(leaf)) {
      list_.emplace_back(variable_of(leaf));
    } else if (!convert) {
      const nb::object text = steal(PyObject_Repr(leaf));
      throw nb::value_error(("Passed in object " + nb::cast<std::string>(text) + " of type '" + Py_TYPE(leaf)->tp_name +
                             "', not tf.Tensor or tf.Variable or ExtensionType.")
                                .c_str());
    } else {
      if (leaf == Py_None) throw nb::type_error("an argument is None, which is no tensor");
      made_.push_back(std::make_unique<Tensor>(to_tensor(leaf)));
      list_.emplace_back(*made_.back());
    }
  }
}

Nest to_nest(PyObject* o) {
  if (o == Py_None) return {};
  if (!is_structure(o)) return Nest(to_tensor(o));
  const Level level;
  std::vector<Nest> items;
  if (PyDict_Check(o)) {
    std::vector<std::string> names;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value) != 0;) {
      names.push_back(nb::cast<std::string>(nb::handle(key)));
      items.push_back(to_nest(value));
    }
    return Nest::map(std::move(names), std::move(items));
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    items.push_back(to_nest(PySequence_Fast_GET_ITEM(o, i)));
  }
  return Nest::list(std::move(items));
}

PyObject* from_nest(const Nest& nest) {
  if (nest.is_tensor()) return wrap(nest.tensor());
  if (nest.is_list()) {
    nb::list made;
    for (const Nest& item : nest.items()) made.append(nb::steal(from_nest(item)));
    return made.release().ptr();
  }
  if (nest.is_map()) {
    nb::dict made;
    for (std::size_t i = 0; i < nest.size(); ++i) made[nest.keys()[i].c_str()] = nb::steal(from_nest(nest[i]));
    return made.release().ptr();
  }
  Py_RETURN_NONE;
}

void add_nest(nb::module_& m) {
  m.def(
      "flatten",
      [](nb::handle structure) {
        std::vector<PyObject*> leaves;
        flatten(structure.ptr(), leaves);
        nb::list list;
        for (PyObject* const leaf : leaves) list.append(nb::handle(leaf));
        return list;
      },
      nb::arg("structure").none());
  m.def(
      "pack_sequence_as",
      [](nb::handle structure, nb::handle flat) {
        const nb::object items = steal(PySequence_Fast(flat.ptr(), "flat_sequence must be a sequence"));
        const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
        Py_ssize_t i = 0;
        nb::object made = map_leaves(structure.ptr(), [&](PyObject*) {
          if (i == count) throw nb::value_error("pack_sequence_as: there are fewer leaves than the structure has");
          return Py_NewRef(PySequence_Fast_GET_ITEM(items.ptr(), i++));
        });
        if (i != count) throw nb::value_error("pack_sequence_as: there are more leaves than the structure has");
        return made;
      },
      nb::arg("structure").none(), nb::arg("flat"));
  m.def(
      "is_nested", [](nb::handle o) { return is_structure(o.ptr()); }, nb::arg("structure").none());
}

}  // namespace capstan::python
