// tf.random: draws that are functions of seeds, and generators with a state.
#include "capstan/ops/random.h"

#include "src/python/objects.h"

namespace capstan::python {

namespace {

random::Seeds seeds_of(nb::handle seed) { return to_tensor(seed.ptr()); }

using FloatDraw = Tensor (*)(const Shape&, const random::Seeds&, double, double, DType);

}  // namespace

void add_random(nb::module_& m) {
  const auto add = [&](const char* name, FloatDraw draw) {
    m.def(name, [draw](nb::handle shape, nb::handle seed, double a, double b, DType dtype) {
      return draw(to_shape(shape.ptr()), seeds_of(seed), a, b, dtype);
    });
  };
  add("stateless_uniform", &random::stateless_uniform);
  add("stateless_normal", &random::stateless_normal);
  add("stateless_truncated_normal", &random::stateless_truncated_normal);
  m.def("stateless_integers",
        [](nb::handle shape, nb::handle seed, std::int64_t minval, std::int64_t maxval, DType dtype) {
          return random::stateless_integers(to_shape(shape.ptr()), seeds_of(seed), minval, maxval, dtype);
        });
  m.def("stateless_any_integers", [](nb::handle shape, nb::handle seed, DType dtype) {
    return random::stateless_integers(to_shape(shape.ptr()), seeds_of(seed), dtype);
  });

  using random::Generator;
  const auto drawn = [](Tensor (Generator::*draw)(const Shape&, double, double, DType) const) {
    return [draw](const Generator& g, nb::handle shape, double a, double b, DType dtype) {
      return (g.*draw)(to_shape(shape.ptr()), a, b, dtype);
    };
  };
  nb::class_<Generator>(m, "RandomGenerator")
      .def(nb::init<const Tensor&>())
      .def_static("from_seed", &Generator::from_seed)
      .def("uniform", drawn(&Generator::uniform))
      .def("normal", drawn(&Generator::normal))
      .def("truncated_normal", drawn(&Generator::truncated_normal))
      .def("integers", [](const Generator& g, nb::handle shape, std::int64_t minval, std::int64_t maxval,
                          DType dtype) { return g.integers(to_shape(shape.ptr()), minval, maxval, dtype); })
      .def("any_integers",
           [](const Generator& g, nb::handle shape, DType dtype) { return g.integers(to_shape(shape.ptr()), dtype); })
      .def("make_seeds", &Generator::make_seeds)
      .def("skip", &Generator::skip)
      .def_prop_ro("state", &Generator::state);
}

}  // namespace capstan::python
