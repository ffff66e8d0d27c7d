// tf.print and tf.debugging: parts of a traced function, which run at every call.
#include "capstan/debugging.h"

#include "capstan/print.h"
#include "src/python/nest.h"

namespace capstan::python {

namespace {

// Texts and tensors to a method `write` of Python.
void print_items(const nb::list& items, const nb::object& write, const std::string& separator, const std::string& end) {
  const std::shared_ptr<PyObject> sink(Py_NewRef(write.ptr()), [](PyObject* o) {
    if (Py_IsInitialized() == 0) return;
    const Locked lock;
    Py_DECREF(o);
  });
  detail::PrintJob job;
  job.options.sink = [sink](std::string_view text) {
    const Locked lock;
    nb::handle(sink.get())(std::string(text));
  };
  job.options.end = end;
  bool is_first = true;
  for (const nb::handle item : items) {
    if (!is_first) job.add(std::string_view(separator));
    is_first = false;
    if (is_tensor(item.ptr())) {
      job.add(tensor_of(item.ptr()));
    } else if (is_variable(item.ptr())) {
      job.add(variable_of(item.ptr()));
    } else {
      job.add(std::string_view(nb::cast<std::string>(nb::str(item))));
    }
  }
  detail::run_print(std::move(job));
}

using Comparison = void (*)(Operand x, Operand y, const debugging::AssertOptions& options);
using Check = void (*)(Operand x, const debugging::AssertOptions& options);

template <Comparison Function>
void compare(nb::handle x, nb::handle y, const std::string& message) {
  DType dtype = float32;
  Wish wish;
  if (is_leaf(x.ptr()) || is_leaf(y.ptr())) {
    dtype = dtype_of(is_leaf(x.ptr()) ? x.ptr() : y.ptr());
    wish.dtype = &dtype;
  }
  Function(to_tensor(x.ptr(), wish), to_tensor(y.ptr(), wish), {.message = message});
}

template <Check Function>
void check(nb::handle x, const std::string& message) {
  Function(to_tensor(x.ptr()), {.message = message});
}

}  // namespace

void add_debugging(nb::module_& m) {
  m.def("print", &print_items);
  nb::module_ d = m.def_submodule("debugging");
  d.def("assert_equal", &compare<debugging::assert_equal>);
  d.def("assert_none_equal", &compare<debugging::assert_none_equal>);
  d.def("assert_less", &compare<debugging::assert_less>);
  d.def("assert_less_equal", &compare<debugging::assert_less_equal>);
  d.def("assert_greater", &compare<debugging::assert_greater>);
  d.def("assert_greater_equal", &compare<debugging::assert_greater_equal>);
  d.def("assert_positive", &check<debugging::assert_positive>);
  d.def("assert_negative", &check<debugging::assert_negative>);
  d.def("assert_non_positive", &check<debugging::assert_non_positive>);
  d.def("assert_non_negative", &check<debugging::assert_non_negative>);
  d.def("assert_all_finite", &check<debugging::assert_all_finite>);
  d.def(
      "assert_near",
      [](nb::handle x, nb::handle y, std::optional<double> rtol, std::optional<double> atol,
         const std::string& message) {
        debugging::assert_near(to_tensor(x.ptr()), to_tensor(y.ptr()),
                               {.rtol = rtol, .atol = atol, .message = message});
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
  d.def("assert_true", [](nb::handle condition, const nb::list& data, const std::string& message) {
    std::vector<Tensor> shown;
    for (const nb::handle item : data) shown.push_back(to_tensor(item.ptr()));
    debugging::assert_true(to_tensor(condition.ptr()), shown, {.message = message});
  });
  d.def("enable_check_numerics", &debugging::enable_check_numerics);
  d.def("disable_check_numerics", &debugging::disable_check_numerics);
}

}  // namespace capstan::python
