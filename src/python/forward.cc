// Forward mode: accumulators.
#include <optional>

#include "capstan/forward.h"
#include "src/python/nest.h"

namespace capstan::python {

namespace {

// Tangents in the dtypes of their primals.
std::vector<Tensor> tangents_of(PyObject* structure, const Sources& primals) {
  std::vector<PyObject*> leaves;
  flatten(structure, leaves);
  std::vector<Tensor> tangents;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    DType dtype = float32;
    const bool known = i < primals.leaves().size() && is_leaf(primals.leaves()[i]);
    if (known) dtype = dtype_of(primals.leaves()[i]);
    tangents.push_back(to_tensor(leaves[i], {known ? &dtype : nullptr}));
  }
  return tangents;
}

// One of Python's: it starts when it is entered, with what it was made for.
class Accumulator {
 public:
  Accumulator(const nb::handle primals, const nb::handle tangents) {
    const Sources sources(primals.ptr());
    const std::vector<Tensor> list = tangents_of(tangents.ptr(), sources);
    // What is wrong with them is said at once.
    accumulator_.emplace(Targets(sources.list()), Tangents(list));
    accumulator_->stop();
  }

  void enter() {
    if (accumulator_->is_recording()) throw nb::value_error("Accumulator is already recording.");
    accumulator_->start();
  }
  void leave() {
    if (accumulator_->is_recording()) accumulator_->stop();
  }
  void watch(const nb::handle primals, const nb::handle tangents) {
    const Sources sources(primals.ptr());
    const std::vector<Tensor> list = tangents_of(tangents.ptr(), sources);
    accumulator_->watch(Targets(sources.list()), Tangents(list));
  }
  nb::object jvp(const nb::handle targets, bool zero) const {
    const auto mode = zero ? UnconnectedGradients::kZero : UnconnectedGradients::kNone;
    return map_leaves(targets.ptr(), [&](PyObject* leaf) {
      if (leaf == Py_None) return Py_NewRef(Py_None);
      if (is_variable(leaf)) return wrap(accumulator_->jvp(variable_of(leaf), mode));
      return wrap(accumulator_->jvp(to_tensor(leaf), mode));
    });
  }

 private:
  std::optional<ForwardAccumulator> accumulator_;
};

}  // namespace

void add_forward(nb::module_& m) {
  nb::class_<Accumulator>(m, "ForwardAccumulator")
      .def(nb::init<nb::handle, nb::handle>(), nb::arg("primals"), nb::arg("tangents"))
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<Accumulator&>(self).enter();
             return nb::borrow(self);
           })
      .def("__exit__", [](Accumulator& a, const nb::args&) { a.leave(); })
      .def("_watch", &Accumulator::watch, nb::arg("primals"), nb::arg("tangents"))
      .def("_jvp", &Accumulator::jvp, nb::arg("primals").none(), nb::arg("zero"));
}

}  // namespace capstan::python
