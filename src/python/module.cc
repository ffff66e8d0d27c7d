// The extension module capstan._core.
#include <cstdlib>

#include "src/python/objects.h"

NB_MODULE(_core, m) {
  using namespace capstan::python;
  // What lives until the process ends, as everything in the script itself, is no leak that anybody has to be told of.
  nb::set_leak_warnings(std::getenv("CAPSTAN_LEAK_WARNINGS") != nullptr);
  add_errors(m);
  add_hooks(m);
  add_dtypes(m);
  add_conversions(m);
  add_operators(m);
  add_tensor(m);
  add_variable(m);
  add_nest(m);
  add_ops(m);
  add_tape(m);
  add_forward(m);
  add_function(m);
  add_bound_function(m);
  add_control(m);
  add_debugging(m);
  add_classes(m);
  add_layers(m);
  add_models(m);
  add_datasets(m);
  add_composites(m);
  add_texts(m);
  add_checkpoints(m);
  add_saved_models(m);
  add_files(m);
  add_summaries(m);
  add_applications(m);
  add_random(m);
}
