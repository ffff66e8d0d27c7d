// What transformations have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "capstan/dataset_nodes.h"
#include "capstan/seed.h"
#include "src/core/check.h"
#include "src/data/position.h"

namespace capstan::detail {

// A cursor over the elements of one input.
class StageCursor : public DatasetCursor {
 public:
  StageCursor(PartTypes element, DatasetCursorPtr input) : DatasetCursor(element), input(std::move(input)) {}
  explicit StageCursor(DatasetCursorPtr from) : DatasetCursor(from->types), input(std::move(from)) {}

  void save(PositionWriter& position) override { position.stage(*input); }
  void restore(PositionReader& position) override { position.stage(*input); }

  DatasetCursorPtr input;
};

// One that counts what it has read of its input.
class CountingCursor : public StageCursor {
 public:
  using StageCursor::StageCursor;

  void save(PositionWriter& position) override {
    position.number("at", at);
    StageCursor::save(position);
  }
  void restore(PositionReader& position) override {
    at = position.number("at", 0);
    StageCursor::restore(position);
  }

  std::int64_t at = 0;
};

// A node of one input, which has as many elements unless it says something else.
class StageNode : public DatasetNode {
 public:
  StageNode(PartTypes element, DatasetNodePtr input) : DatasetNode(element), input(std::move(input)) {}
  explicit StageNode(DatasetNodePtr from) : DatasetNode(from->types), input(std::move(from)) {}
  std::int64_t cardinality() const override { return input->cardinality(); }

  DatasetNodePtr input;
};

// A node that opens a cursor with these arguments after that of its input.
template <class Cursor, class... Args>
class SimpleNode : public StageNode {
 public:
  SimpleNode(PartTypes element, DatasetNodePtr from, std::int64_t cardinality, Args... args)
      : StageNode(element, std::move(from)), cardinality_(cardinality), args_(std::move(args)...) {}
  std::int64_t cardinality() const override { return cardinality_; }
  DatasetCursorPtr open() const override {
    return std::apply(
        [&](const Args&... args) { return std::make_unique<Cursor>(this->types, this->input->open(), args...); },
        args_);
  }

 private:
  std::int64_t cardinality_;
  std::tuple<Args...> args_;
};

template <class Cursor, class... Args>
DatasetNodePtr make_stage(PartTypes types, DatasetNodePtr input, std::int64_t cardinality, Args... args) {
  return std::make_shared<SimpleNode<Cursor, Args...>>(types, std::move(input), cardinality, std::move(args)...);
}

// An element that is a row of each tensor, as views.
void read_row(const std::vector<Tensor>& tensors, std::int64_t row, Part* element);

// The tensor, dense. Errors: ValueError for an empty one, TraceError for one of a trace: these have no elements.
Tensor readable(const char* what, const Tensor& tensor);

// Within a handler: throws an error of a user's function on, with the transformation and the element.
[[noreturn, gnu::cold]] void rethrow_at(const char* stage, std::int64_t element);

// Calls a function of a user for one element.
template <class Body>
decltype(auto) at_element(const char* stage, std::int64_t element, const Body& body) {
  try {
    return body();
  } catch (...) {
    rethrow_at(stage, element);
  }
}

// Whether this is a thread that a stage has started (workers.h), and says that it is one.
bool on_stage_thread();
void mark_stage_thread();

inline void move_parts(Part* from, std::size_t count, Part* to) { std::move(from, from + count, to); }

// The seeds of a stream: that of set_seed, or TensorFlow's stand-in for one, and the transformation's own.
struct StreamSeeds {
  std::uint64_t seed = 0;
  std::uint64_t seed2 = 0;
};
StreamSeeds stream_seeds(Seed own);

}  // namespace capstan::detail
