// The passes of the compiler, in order; each is in the file of its name.
#include <atomic>
#include <utility>

#include "src/graph/graph.h"
#include "src/graph/program.h"
#include "src/graph/shapes.h"

namespace capstan {

namespace {

std::atomic<bool> fusing{true};

}  // namespace

void fuse_loops(bool fuse) { fusing.store(fuse, std::memory_order_relaxed); }

void tidy(Graph& graph) {
  merge_duplicates(graph);
  remove_dead(graph);
  mark_last_reads(graph);
}

void compile(Graph& graph, std::size_t budget) {
  const bool fuse = fusing.load(std::memory_order_relaxed);
  read_numbers(graph);
  detach_shapes(graph);
  fold_constants(graph);
  simplify(graph);
  merge_duplicates(graph);
  remove_dead(graph);
  if (fuse) attention_heads(graph);
  updates_last(graph);
  // After the merge: what two ops would compute alike is cheaper to compute twice, in a loop, than to keep.
  if (fuse) expand(graph);
  remove_dead(graph);
  if (fuse) {
    form_groups(graph);
    merge_products(graph);
  }
  if (budget != 0) meet_budget(graph, budget);
}

// What is left to do for a graph that has been compiled: its kernel calls, and where its values lie.
void make_steps(ExecutionPlan& plan) {
  linearize(plan);
  attach_epilogues(plan);
  attach_prologues(plan);
}

void make_plan(ExecutionPlan& plan, bool stages) {
  make_steps(plan);
  find_places(plan);
  if (stages) find_stages(plan);
  plan_memory(plan);
  collect_stages(plan);
  find_users(plan);
}

std::size_t arena_bytes_of(const Graph& graph) {
  ExecutionPlan plan;
  plan.graph = graph;
  make_plan(plan, false);
  return plan.arena_bytes;
}

// What runs at once needs more memory, which a budget may not have.
Program::Program(Graph graph, std::size_t budget) {
  plan_.graph = std::move(graph);
  compile(plan_.graph, budget);
  backend_ = backend_of_constants(plan_.graph);
  make_plan(plan_, budget == 0);
}

}  // namespace capstan
