#include "src/python/objects.h"
namespace capstan::python {
void add_classes(nb::module_&) {}
void add_layers(nb::module_&) {}
void add_models(nb::module_&) {}
void add_datasets(nb::module_&) {}
}
