// Functions of Python functions: control flow, custom gradients, recomputation. Structures are taken apart and put
// together by capstan/_control.py; here everything is a list.
#include <span>

#include "capstan/dynamic.h"
#include "capstan/ops/random.h"
#include "capstan/runtime.h"
#include "src/python/nest.h"

namespace capstan::python {

namespace {

using dynamic::TensorList;

// A list or tuple of tensors, None for an empty one.
TensorList tensors_of(nb::handle list) {
  TensorList tensors;
  for (const nb::handle item : list) tensors.push_back(item.is_none() ? Tensor() : to_tensor(item.ptr()));
  return tensors;
}

nb::list wrapped(std::span<const Tensor> tensors) {
  nb::list list;
  for (const Tensor& t : tensors) list.append(steal(wrap(t)));
  return list;
}

// A function of Python, which takes tensors one by one and gives a list of them. Shared, because the library may keep
// it longer than this call, and let go of it anywhere.
class Callback {
 public:
  explicit Callback(nb::object f)
      : f_(f.release().ptr(), [](PyObject* o) {
          if (Py_IsInitialized() == 0) return;
          const Locked lock;
          Py_DECREF(o);
        }) {}

  TensorList operator()(std::span<const Tensor> arguments) const {
    const Locked lock;
    std::vector<nb::object> objects;
    std::vector<PyObject*> given;
    for (const Tensor& t : arguments) given.push_back(objects.emplace_back(steal(wrap(t))).ptr());
    return tensors_of(steal(PyObject_Vectorcall(f_.get(), given.data(), given.size(), nullptr)));
  }

  PyObject* get() const { return f_.get(); }

 private:
  std::shared_ptr<PyObject> f_;
};

// `f(list)` gives outputs, the gradient function of lists, whether it takes variables, and whether there is a jvp.
std::vector<Tensor> call_custom(const nb::object& f, const TensorList& arguments) {
  const auto body = [&](std::span<const Tensor> inputs) {
    const Locked lock;
    const nb::object given = f(wrapped(inputs));
    CustomGradientResult result;
    result.outputs = tensors_of(given[0]);
    const nb::object given_rule = given[1];
    const Callback rule(given_rule);
    const auto call_rule = [rule](std::span<const Tensor> cotangents, nb::object variables) {
      return tensors_of(
          steal(PyObject_CallFunctionObjArgs(rule.get(), wrapped(cotangents).ptr(), variables.ptr(), nullptr)));
    };
    result.gradient = [call_rule](std::span<const Tensor> cotangents) {
      const Locked inner;
      return call_rule(cotangents, nb::none());
    };
    if (nb::cast<bool>(given[2])) {
      result.variable_gradient = [call_rule](std::span<const Tensor> cotangents, std::span<const Variable> variables) {
        const Locked inner;
        nb::list list;
        for (const Variable& v : variables) list.append(steal(wrap(v)));
        return call_rule(cotangents, list);
      };
    }
    return result;
  };
  return custom_gradient(std::function<CustomGradientResult(std::span<const Tensor>)>(body), Operands(arguments));
}

}  // namespace

void add_control(nb::module_& m) {
  m.def("cond", [](const Tensor& condition, nb::object then, nb::object otherwise) {
    return wrapped(dynamic::cond(condition, Callback(std::move(then)), Callback(std::move(otherwise))));
  });
  m.def("switch_case", [](const Tensor& index, const nb::list& branches) {
    std::vector<dynamic::ListFunction> functions;
    for (const nb::handle branch : branches) functions.emplace_back(Callback(nb::borrow(branch)));
    return wrapped(dynamic::switch_case(index, functions));
  });
  m.def(
      "while_loop",
      [](nb::object condition, nb::object body, const nb::list& variables, std::optional<std::int64_t> most) {
        return wrapped(dynamic::while_loop(Callback(std::move(condition)), Callback(std::move(body)),
                                           tensors_of(variables), most));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("scan", [](nb::object f, const nb::list& elements, const nb::list& initial, bool reverse) {
    return wrapped(
        dynamic::scan(Callback(std::move(f)), tensors_of(elements), tensors_of(initial), {.reverse = reverse}));
  });
  m.def("fold", [](nb::object f, const nb::list& elements, const nb::list& initial, bool reverse) {
    return wrapped(
        dynamic::fold(Callback(std::move(f)), tensors_of(elements), tensors_of(initial), {.reverse = reverse}));
  });
  m.def("call_at_every_run", [](nb::object f, const nb::list& values) {
    dynamic::call_at_every_run([call = Callback(std::move(f))](std::span<const Tensor> tensors) { call(tensors); },
                               tensors_of(values));
  });
  m.def("map_fn", [](nb::object f, const nb::list& elements) {
    return wrapped(dynamic::map_fn(Callback(std::move(f)), tensors_of(elements)));
  });
  m.def("vectorized_map", [](nb::object f, const nb::list& elements) {
    return wrapped(dynamic::vectorized_map(Callback(std::move(f)), tensors_of(elements)));
  });
  m.def("recompute", [](nb::object f, const nb::list& arguments) {
    return wrapped(dynamic::recompute(Callback(std::move(f)), tensors_of(arguments)));
  });
  m.def("custom_gradient",
        [](const nb::object& f, const nb::list& arguments) { return wrapped(call_custom(f, tensors_of(arguments))); });
  m.def("set_seed", [](std::uint64_t seed) { set_seed(seed); });
  m.def("set_num_threads", [](int count) { set_num_threads(count); });
  m.def("num_threads", [] { return num_threads(); });
}

}  // namespace capstan::python
