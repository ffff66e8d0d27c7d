// A dataset in Python: a node of a pipeline.
#pragma once

#include <functional>

#include "capstan/data.h"
#include "src/python/nest.h"

namespace capstan::python {

struct DatasetHandle {
  detail::DatasetNodePtr node;
};

/// A pass over a dataset, whose position checkpoints take.
class DatasetPass {
 public:
  explicit DatasetPass(const DatasetHandle& dataset) : node_(dataset.node), cursor_(node_->open()) {}
  /// The next element. Throws nb::stop_iteration after the last one.
  nb::object next();
  /// The position, and back. Errors: ValueError for a pipeline whose state cannot be written, or for another pipeline.
  DatasetPosition save() const;
  void restore(const DatasetPosition& position);

 private:
  detail::DatasetNodePtr node_;
  detail::DatasetCursorPtr cursor_;  // null at the end
};

/// A dataset whose elements are what a function makes of those of another one: structures of Python. It is called with
/// Python's lock.
DatasetHandle structures_of(detail::DatasetNodePtr input, std::function<nb::object(const detail::Part*)> make);

}  // namespace capstan::python
