#include "src/python/texts.h"

namespace capstan::python {

PyTypeObject* text_type = nullptr;

namespace {

// A function of capstan/_texts.py.
PyObject* from_parts;

}  // namespace

std::string string_of(nb::handle o) {
  if (!PyBytes_Check(o.ptr())) throw nb::type_error("a text must be bytes");
  return {PyBytes_AS_STRING(o.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(o.ptr()))};
}
nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

std::vector<std::string> strings_of(const nb::list& list) {
  std::vector<std::string> strings;
  for (const nb::handle item : list) strings.push_back(string_of(item));
  return strings;
}

nb::object to_text_tensor(const std::vector<std::string>& texts, const Shape& shape) {
  nb::list parts;
  for (const std::string& text : texts) parts.append(bytes_of(text));
  return nb::handle(from_parts)(parts, nb::tuple(nb::cast(std::vector<std::int64_t>(shape.begin(), shape.end()))));
}

void add_texts(nb::module_& m) {
  m.def("set_texts", [](nb::handle type, nb::object parts) {
    text_type = reinterpret_cast<PyTypeObject*>(nb::borrow(type).release().ptr());
    from_parts = parts.release().ptr();
  });
  add_text_layers(m);
  add_text_files(m);
}

}  // namespace capstan::python
