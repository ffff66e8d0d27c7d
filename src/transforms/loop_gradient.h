// The gradient of a loop as two loops: one that runs the iterations and keeps what their gradients read, and one over
// their gradients, from the last iteration to the first. The bodies of both are programs.
//
// The gradient of the body is traced once, with cotangents as arguments. Of the values of the body it keeps those that
// an op computes which is more than a loop over elements or a view: products, sums, draws of the host. All others it
// computes again from these and from what the iteration began with, inside of its own loops; and what nothing reads is
// not kept. Cotangents of what is captured are added up where they lie; row-sparse ones are put together at the end.
//
// Which cotangents exist differs near the end of a loop: if only x is differentiated, the velocity has none in the last
// iteration. That is known when the gradient is traced, so there is one program for each such pattern, and no op sees
// a zero where the tape has nothing: no NaN comes from a derivative that nobody needs.
//
// What it gives. The iterations have the bits of the plain loop. Cotangents are sums of the same terms as those of a
// tape that has watched the loop, but terms for captured values begin with a zero, and those of one iteration are added
// before they are joined with those of later ones; so gradients agree to rounding, not in every bit. They are the same
// for any number of threads.
//
// It is for a loop that nobody watches (see can_repeat). A tape or an accumulator around it, hence a derivative of
// second order, takes the way of all other nodes, op by op.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/core/once.h"
#include "src/graph/program.h"
#include "src/transforms/loop_run.h"

namespace capstan {

class LoopGradient {
 public:
  // Of a loop with so many slots: of its outputs `targets` by its inputs `sources`. The loop lives as long as this.
  // Null if there are too many patterns of cotangents.
  static std::unique_ptr<const LoopGradient> make(const LoopParts& loop, std::size_t slots,
                                                  const std::vector<std::size_t>& targets,
                                                  const std::vector<std::size_t>& sources);

  // The gradients by the sources, zeros where there is none, for the slots and the cotangents of the targets.
  std::vector<Tensor> run(std::vector<Tensor> slots_and_cotangents) const;

  // What an iteration leaves beside what it carries, and whether its gradient reads that, or what it began with.
  const std::vector<std::size_t>& kept_bytes() const { return kept_bytes_; }
  bool reads_iterations() const { return reads_iterations_; }

 private:
  class Reverse;

  // Of each result of the body (what is carried, then what is collected): whether it has a cotangent.
  using Pattern = std::vector<bool>;

  // The gradient of the body for a pattern.
  struct Pullback {
    enum class From : std::uint8_t { kSlot, kKept, kCotangent };
    struct Argument {
      From from;
      std::size_t index;  // a slot, a kept value, a result of the body
    };
    enum class To : std::uint8_t { kCotangent, kRow, kSum, kIndices, kValues };
    struct Result {
      To to;
      std::size_t slot;
    };
    Pattern pattern;
    std::vector<Argument> arguments;  // then the sums
    std::vector<Result> results;      // then the sums
    std::vector<std::size_t> sums;    // slots
    Graph graph;
    std::unique_ptr<const Program> program;
    std::size_t next = 0;  // the number of the one for the iteration before
  };

  LoopGradient(const LoopParts& loop, const std::vector<std::size_t>& targets, const std::vector<std::size_t>& sources);
  bool find_pullbacks(std::size_t slots);
  void find_wanted(std::size_t slots);
  Pullback pullback_of(const Pattern& pattern) const;
  void keep_what_is_read();

  LoopParts loop_;
  std::vector<std::size_t> targets_;
  std::vector<std::size_t> sources_;
  Graph body_graph_;                      // as its programs have it, with what is kept as further results
  std::vector<bool> wanted_;              // by slot: its cotangent leads to a source
  std::vector<Graph::Value> candidates_;  // of the body, to be kept
  std::vector<std::size_t> kept_bytes_;   // of those that are
  std::vector<Pullback> pullbacks_;       // the first is for the last iteration
  std::vector<bool> sums_in_place_;       // by slot: all pullbacks can
  bool reads_iterations_ = false;         // a pullback reads what an iteration began with, or has computed
  std::unique_ptr<const Program> body_;   // with what is kept as further results; null: that of the loop will do
};

// The same of a node, made when it is first asked for.
class LazyLoopGradient {
 public:
  // Null if the node is no loop, or none that can run as programs now.
  const LoopGradient* now(const Control& of, const std::vector<Tensor>& slots_and_cotangents, const EffectLog* log,
                          const std::vector<std::size_t>& targets, const std::vector<std::size_t>& sources) const;

 private:
  mutable Once made_;
  mutable std::unique_ptr<const LoopGradient> gradient_;
};

}  // namespace capstan
