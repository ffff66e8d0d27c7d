// Program: a graph as a flat list of kernel calls over fixed buffers.
//
// What a call needs is decided when the program is made: its plan (execution_plan.h). A run calls kernels and nothing
// else; it allocates what it hands out.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/graph/execution_plan.h"

namespace capstan {

class Backend;

class Program {
 public:
  // Runs the passes on a copy of the graph. A budget of bytes for the arena, if it is not 0, is met if that can be; see
  // meet_budget.
  explicit Program(Graph graph, std::size_t budget = 0);  // see compile.cc
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const ExecutionPlan& plan() const { return plan_; }
  // The passed graph after its passes.
  const Graph& graph() const { return plan_.graph; }
  // Bytes that a run needs beside its arguments and results.
  std::size_t arena_bytes() const { return plan_.arena_bytes; }
  // Whether a written variable may be updated where it lies.
  bool updates_in_place(const Graph::Captured& captured) const {
    return plan_.values[static_cast<std::size_t>(captured.written)].place == ExecutionPlan::Place::kInPlace;
  }
  // Where a value lies in that memory; nothing if it lies elsewhere.
  std::optional<std::size_t> arena_offset(Graph::Value value) const {
    const ExecutionPlan::ValueState& state = plan_.values[static_cast<std::size_t>(value)];
    return state.place == ExecutionPlan::Place::kArena ? std::optional(state.offset) : std::nullopt;
  }

  // As run_graph. `inputs` are lent; nobody else may change them meanwhile. `outputs` gets the results and the values
  // of written variables; one that was updated where it lies is empty.
  void run(std::span<detail::Block* const> inputs, std::vector<Tensor>& outputs) const;
  // The same again and again: see repeated.h.
  class Repeated;

 private:
  using Place = ExecutionPlan::Place;
  using ValueState = ExecutionPlan::ValueState;
  using Step = ExecutionPlan::Step;
  struct Attributes;
  struct Tables;
  class Run;

  std::unique_ptr<Tables> make_tables(Backend* backend) const;
  Tensor lay(const Tensor& owner, void* data, Graph::Value value) const;
  void set_operands(Tables& tables, Graph::Value value, detail::Block* block) const;
  void set_views(Tables& tables, Graph::Value value, void* data) const;
  void set_output(Tables& tables, std::int32_t position, Tensor tensor) const;
  Tables* take_spare() const;
  void keep_spare(std::unique_ptr<Tables> tables) const;
  void run_all(Tables& tables) const;
  void run_step(const Step& step, Tables& tables) const;
  static const void* attributes_of(const Step& step, Tables& tables);
  void finish_step(const Step& step, Tables& tables) const;
  void run_profiled(const Step& step, Tables& tables) const;
  static void run_one_loop(const Graph::Node& node, std::span<const TensorRef> operands, const Tensor& output);

  void write_borders(const Step& step, const Tables& tables) const;  // layouts.cc
  void run_accompanied(const Step& step, Tables& tables) const;      // accompanied.cc
  void run_steps(Tables& tables) const;                              // stages.cc
  void run_step_on_device(const Step& step, Tables& tables) const;   // on_device.cc

  ExecutionPlan plan_;
  Backend* backend_ = nullptr;                   // that a constant is on
  mutable std::atomic<Tables*> spare_{nullptr};  // of the last run, for the next one
};

// Whether programs that are made from now on fuse loops, which they do unless told otherwise; for tests.
void fuse_loops(bool fuse);

}  // namespace capstan
