// A dataset in Python: a node of a pipeline.
#pragma once

#include <functional>

#include "capstan/data.h"
#include "src/python/nest.h"

namespace capstan::python {

struct DatasetHandle {
  detail::DatasetNodePtr node;
};

/// A dataset whose elements are what a function makes of those of another one: structures of Python. It is called with
/// Python's lock.
DatasetHandle structures_of(detail::DatasetNodePtr input, std::function<nb::object(const detail::Part*)> make);

}  // namespace capstan::python
