// Loops whose iterations are runs of programs, in memory of their own.
//
// Nothing is allocated between iterations: what an iteration carries on lies in frames, of which there are two, or, for
// a gradient, one for each iteration, in pieces of some iterations. Rows of operands are read and rows of results
// written where they lie. With two frames there are two sets of tables as well, for even and for odd iterations, so
// that programs are told once of what does not move.
//
// That is for a loop that nobody watches, whose body has no effects and keeps its lengths; it has the bits of one that
// runs op by op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/graph/control.h"
#include "src/graph/repeated.h"

namespace capstan {

// A loop as it is in the nodes of while_loop and of loops over rows. The first slots are carried, the next have rows,
// and the others, which are captured, stay what they are, unless they are variables that the body writes.
struct LoopParts {
  const Subgraph* condition = nullptr;  // null: there are `rows` iterations
  const Subgraph* body = nullptr;
  std::size_t carried = 0;
  std::size_t sliced = 0;
  std::size_t collected = 0;
  std::int64_t rows = 0;
  std::int64_t limit = -1;  // of iterations; negative: none
  bool reverse = false;

  bool is_carried(std::size_t slot) const { return slot < carried; }
  bool has_rows(std::size_t slot) const { return slot >= carried && slot < carried + sliced; }
  // The row of an iteration, and where it lies in a tensor of all.
  std::int64_t row(std::int64_t iteration) const { return reverse ? rows - 1 - iteration : iteration; }
  std::byte* row_of(const Tensor& all, std::int64_t iteration) const;
  // Whether its parts are programs for these lengths.
  bool has_lengths_of(const std::vector<Tensor>& slots) const;
};

// A node that is a loop.
struct LoopNode : Control {
  virtual LoopParts loop() const = 0;
};

// Whether the iterations can run as programs now. `log` is that of the run.
bool can_repeat(const LoopParts& loop, const std::vector<Tensor>& slots, const EffectLog* log);

// Runs them, and gives what the node gives.
std::vector<Tensor> run_repeated(const LoopParts& loop, std::vector<Tensor> slots);

// Where values lie that change from iteration to iteration.
class Frames {
 public:
  // The bytes of each value; `keeps`: those of all iterations stay, else those of two.
  Frames(const std::vector<std::size_t>& bytes, bool keeps);

  struct Place {
    std::byte* data;
    detail::Block* owner;
  };
  Place operator()(std::int64_t iteration, std::size_t value) {
    const auto frame = static_cast<std::size_t>(keeps_ ? iteration : iteration % 2);
    const std::size_t piece = frame >> log_frames_;
    while (pieces_.size() <= piece) add_piece();
    const std::size_t within = frame - (piece << log_frames_);
    return {pieces_[piece].data + within * stride_ + offsets_[value], pieces_[piece].tensor.block()};
  }

 private:
  void add_piece();

  struct Piece {
    Tensor tensor;
    std::byte* data;
  };
  bool keeps_;
  std::vector<std::size_t> offsets_;
  std::size_t stride_ = 0;
  unsigned log_frames_ = 1;  // of the number of frames in a piece
  std::vector<Piece> pieces_;
};

class LoopRun {
 public:
  // `body` is the program of the body's graph, whose results may be followed by values that an iteration leaves for a
  // gradient, of so many bytes each. With `keeps` it is known afterwards what every iteration began with and has left.
  LoopRun(const LoopParts& loop, std::vector<Tensor> slots, const Program& body, const std::vector<std::size_t>& left,
          bool keeps);

  // Runs all iterations, and returns how many there were.
  std::int64_t run();
  // What the node gives.
  std::vector<Tensor> outputs();

  // Where the value of a slot lies when an iteration begins, and what an iteration has left.
  Frames::Place slot(std::int64_t iteration, std::size_t slot);
  Frames::Place left(std::int64_t iteration, std::size_t k) { return frames_(iteration, changing_.size() + k); }
  // Whether that is another place for every iteration.
  bool moves(std::size_t slot) const { return loop_.has_rows(slot) || changes(slot); }

 private:
  // A part in the iterations of a parity, or in all, and its inputs that lie elsewhere in each of them.
  struct Phase {
    explicit Phase(const Program& program) : program(program) {}
    Program::Repeated program;
    std::vector<std::pair<std::size_t, std::size_t>> moving;  // an input, and its slot
  };
  using Phases = std::vector<std::unique_ptr<Phase>>;

  std::vector<std::size_t> find_changing(const Program& body, const std::vector<std::size_t>& left);
  bool changes(std::size_t slot) const { return position_[slot] != kStays; }
  Phases start(const Subgraph& part, const Program& program);
  Phase& begin(Phases& phases, std::int64_t iteration);
  bool continues(std::int64_t iteration);
  void set_results(Program::Repeated& body, std::int64_t iteration);

  static constexpr std::size_t kStays = ~std::size_t{0};

  const LoopParts loop_;
  std::vector<Tensor> slots_;
  const bool keeps_;
  std::vector<std::size_t> changing_;  // slots that an iteration writes
  std::vector<std::size_t> result_;    // which result of the body that is, by position in changing_
  std::vector<std::size_t> position_;  // by slot: in changing_, or kStays
  std::size_t left_ = 0;
  Frames frames_;
  Phases body_, condition_;
  Tensor holds_;                // what the condition gives
  std::vector<Tensor> stacks_;  // what is collected
  std::int64_t iterations_ = 0;
};

}  // namespace capstan
