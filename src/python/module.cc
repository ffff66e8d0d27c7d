// The extension module capstan._core.
#include "src/python/objects.h"

NB_MODULE(_core, m) {
  using namespace capstan::python;
  add_errors(m);
  add_hooks(m);
  add_dtypes(m);
  add_conversions(m);
  add_tensor(m);
  add_variable(m);
  add_nest(m);
  add_ops(m);
  add_tape(m);
  add_forward(m);
  add_function(m);
  add_control(m);
  add_classes(m);
  add_layers(m);
  add_models(m);
  add_datasets(m);
}
