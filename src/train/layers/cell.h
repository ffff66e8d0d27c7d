// How recurrent layers run cells: what is computed once for all steps, and what in each.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "capstan/layers/recurrent.h"
#include "capstan/seed.h"

namespace capstan::detail {

struct CellStep {
  Tensor output;
  std::vector<Tensor> states;
};

// All steps at once.
struct CellSequence {
  Tensor states;             // the first of the states at each step, [batch, steps, ...]
  std::vector<Tensor> last;  // all states after the last step
};

// A run of a cell over one sequence: its weights as they are now, and what dropout draws for all steps.
class CellRun {
 public:
  CellRun() = default;
  CellRun(const CellRun&) = delete;
  CellRun& operator=(const CellRun&) = delete;
  virtual ~CellRun();
  // What a step needs of the inputs [steps, batch, ...] of all steps; `steps` gives the same for one of them.
  virtual Tensor project(const Tensor& x) const = 0;
  // Whether `project` treats all rows [..., features] alike, so that it may be given a table of them.
  virtual bool projects_rows() const { return false; }
  virtual CellStep step(const Tensor& projected, std::span<const Tensor> states) const = 0;
  // Which of the states the output is, or -1.
  virtual int output_state() const = 0;
  // Whether `sequence` does what the steps do. The output of such a cell is its first state.
  virtual bool runs_sequences() const { return false; }
  // As `project`, for inputs [batch, steps, ...].
  virtual Tensor project_sequence(const Tensor& x) const { return x; }
  // What the steps give for what project_sequence() gave; a mask, bool [batch, steps] or empty, leaves steps out.
  virtual CellSequence sequence(Tensor, const Tensor&, std::span<const Tensor>) const { return {}; }
  // The same for rows of what project() gave for a table, by ids [batch, steps].
  virtual CellSequence sequence_of_rows(const Tensor& table, const Tensor& ids, const Tensor& mask,
                                        std::span<const Tensor> states) const;
};

// The masks of dropout, drawn once for all steps.
class SequenceDropout {
 public:
  SequenceDropout(LayerBase& layer, Seed seed);
  Tensor mask(const Tensor& like, double rate) const;

 private:
  Seed seed_;
  // Changes with every draw: counts them if there is a seed. Functions share it, and may live longer than the cell.
  std::shared_ptr<std::uint64_t> key_;
};

// A cell that says itself how it is run.
class RunnableCell : public layers::CellBody {
 public:
  // `x` is the input of a step.
  virtual std::unique_ptr<CellRun> begin(const Tensor& x, std::span<const Tensor> states, bool training) = 0;

 protected:
  using CellBody::CellBody;
  Nest call(const Nest& inputs, const CallOptions& options) final;
};

// The body of a cell. Throws ValueError, on behalf of `owner`, for a layer that is none.
layers::CellBody& cell_of(const Layer& layer, std::string_view owner);
// A run of any cell.
std::unique_ptr<CellRun> begin_cell(const Layer& cell, const Tensor& x, std::span<const Tensor> states, bool training);
// The first `count` items of a list of states; a single tensor is a list of one. Throws ValueError for another number.
std::vector<Tensor> states_of(const Nest& states, std::size_t count, std::string_view owner);
// States of zeros for an input of a step; of the batch no length is used.
Tensor zero_state(const Tensor& x, const Shape& shape);
// Throws ShapeError unless the tensor is [batch, shape...].
void check_state(std::string_view owner, std::size_t number, const Tensor& state, const Shape& shape, const Tensor& x);

}  // namespace capstan::detail
