// A dataset in Python: a node of a pipeline.
#pragma once

#include "capstan/data.h"
#include "src/python/nest.h"

namespace capstan::python {

struct DatasetHandle {
  detail::DatasetNodePtr node;
};

}  // namespace capstan::python
