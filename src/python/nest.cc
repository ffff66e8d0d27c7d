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

// "t" is a tensor, "n" None; "(tt)" a tuple and "[t]" a list of them, and "{1:at}" a dict with the key "a".
std::string form_of(PyObject* o, std::vector<Tensor>& tensors) {
  if (o == Py_None) return "n";
  if (is_tensor(o)) {
    tensors.push_back(tensor_of(o));
    return "t";
  }
  const bool is_plain = PyDict_Check(o) || PyList_CheckExact(o) || PyTuple_CheckExact(o);
  if (!is_plain)
    throw ValueError(std::string("a ") + Py_TYPE(o)->tp_name +
                     " cannot be written; tensors can, in tuples, lists and dicts");
  const Level level;
  if (PyDict_Check(o)) {
    std::string text = "{";
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value) != 0;) {
      if (!PyUnicode_Check(key)) throw ValueError("a dict with a key that is no text cannot be written");
      const auto name = nb::cast<std::string>(nb::handle(key));
      text += std::to_string(name.size()) + ":" + name + form_of(value, tensors);
    }
    return text + "}";
  }
  std::string text(1, PyList_Check(o) ? '[' : '(');
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) text += form_of(PySequence_Fast_GET_ITEM(o, i), tensors);
  return text + (PyList_Check(o) ? "]" : ")");
}

namespace {

// Reads a form from its beginning on.
class FormReader {
 public:
  FormReader(std::string_view text, const std::vector<Tensor>& tensors) : text_(text), tensors_(tensors) {}

  nb::object whole() {
    nb::object structure = next();
    if (!text_.empty() || used_ != tensors_.size()) fail();
    return structure;
  }

 private:
  [[noreturn]] static void fail() { throw ValueError("this is no form of a structure of these tensors"); }

  char take() {
    if (text_.empty()) fail();
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }

  nb::object next() {
    const Level level;
    const char kind = take();
    if (kind == 'n') return nb::none();
    if (kind == 't' && used_ < tensors_.size()) return steal(wrap(tensors_[used_++]));
    if (kind == '{') {
      nb::dict dict;
      while (until('}')) {
        const nb::str key = name();
        dict[key] = next();
      }
      return dict;
    }
    if (kind != '(' && kind != '[') fail();
    nb::list list;
    while (until(kind == '(' ? ')' : ']')) list.append(next());
    if (kind == '(') return nb::tuple(list);
    return list;
  }

  // False, past it, at the end of what is read.
  bool until(char end) {
    if (text_.empty()) fail();
    if (text_.front() != end) return true;
    text_.remove_prefix(1);
    return false;
  }

  nb::str name() {
    std::size_t length = 0;
    for (char c = take(); c != ':'; c = take()) {
      if (c < '0' || c > '9' || length > text_.size()) fail();
      length = length * 10 + static_cast<std::size_t>(c - '0');
    }
    if (length > text_.size()) fail();
    const nb::str made(text_.data(), length);
    text_.remove_prefix(length);
    return made;
  }

  std::string_view text_;
  const std::vector<Tensor>& tensors_;
  std::size_t used_ = 0;
};

}  // namespace

nb::object structure_of(std::string_view form, const std::vector<Tensor>& tensors) {
  return FormReader(form, tensors).whole();
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
