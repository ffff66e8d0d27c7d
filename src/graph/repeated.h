// Runs of one program, one after the other, whose arguments and results lie where the caller says: the iterations of a
// loop.
//
// A run of a program by itself makes a tensor for every result and keeps no more than its arena. Between the iterations
// of a loop that would be most of the time: what one iteration gives is what the next one takes, or a row of something
// larger. So the caller has the memory, and an iteration writes a few addresses and calls kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/graph/program.h"

namespace capstan {

class Program::Repeated {
 public:
  // The program lives as long as this.
  explicit Repeated(const Program& program);
  ~Repeated();
  Repeated(const Repeated&) = delete;
  Repeated& operator=(const Repeated&) = delete;

  // From now on input i (see Program::run) is this tensor, which lives as long as that holds.
  void set_input(std::size_t i, detail::Block* block);
  // From now on input i lies at `data`, in memory that `owner` keeps.
  void set_input(std::size_t i, void* data, detail::Block* owner);

  // Results and the values of written variables, in the order of Program::run: where the next runs leave them. No two
  // may lie at one place, nor where an input lies, but for one that updates a variable where that lies.
  std::size_t results() const { return results_.size(); }
  void set_result(std::size_t r, void* data, detail::Block* owner);
  // Whether a step or a result is input i.
  bool reads(std::size_t i) const;

  void run();

 private:
  struct Result {
    Graph::Value value;
    bool is_copied;  // the program makes it elsewhere
    void* data = nullptr;
  };
  void copy_results() const;
  // A tensor that lies where it is told.
  struct StandIn {
    Tensor tensor;
    bool is_own = false;  // else it is one of the caller's
    void move(const Graph::ValueInfo& info, void* data, detail::Block* owner);
  };
  // The operands of steps that a value is, itself or by a view, when it lies elsewhere.
  void move_operands(Graph::Value value, void* data);

  const Program& program_;
  std::unique_ptr<Tables> tables_;
  std::vector<StandIn> inputs_;
  std::vector<StandIn> outputs_;  // by result
  std::vector<Result> results_;
  bool copies_ = false;  // a result
};

}  // namespace capstan
