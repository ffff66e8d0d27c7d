// ExecutionPlan: the kernel calls that a graph becomes, in order, and where each value lies meanwhile.
//
// It is plain data, made by the passes below one after the other; a Program runs it. What a step needs is decided here:
// which loops are fused with which kernels, where values lie in one arena, which variables are updated where they lie,
// which steps run at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/graph/fused_group.h"
#include "src/graph/graph.h"

namespace capstan {

struct ExecutionPlan {
  enum class Place : std::uint8_t {
    kUnknown,  // until find_places
    kInput,    // an argument, or what a variable holds
    kConstant,
    kArena,
    kOutput,   // a tensor of its own, which leaves the run
    kInPlace,  // the same, in the buffer of the variable that it is written to
    kMade,     // the kernel makes it
    kPassing,  // a prologue makes it part by part, and nobody holds it
    kView,     // part of a value that lies outside of the arena, wherever that is
  };
  struct ValueState {
    Place place = Place::kUnknown;
    std::size_t offset = 0;             // in the arena; kView: in what it is part of
    std::int32_t output = -1;           // position in step_outputs, if a step makes it
    std::int32_t variable = -1;         // kInput, kInPlace: position among the inputs of a run
    Graph::Value whole = Graph::kNone;  // kView: what it is part of
  };
  // A call of a kernel, or of a loop. The operands lie side by side: those of the kernel, then those of its loop, its
  // sums and its prologue.
  struct Step {
    const Graph::Node* node = nullptr;  // of a single op, or the first of a group
    std::int32_t group = -1;
    std::int32_t epilogue = -1;         // the group that runs on what the kernel has finished
    const Graph::Node* sums = nullptr;  // over the rows of that, or of what the kernel has finished
    std::int32_t prologue = -1;         // the group that makes the first operand; several steps may have one in common
    bool is_loop : 1 = false;           // an elementwise op outside of groups
    bool makes_outputs : 1 = false;     // the kernel does
    bool is_layout : 1 = false;         // nothing to run: the output lies in the first operand, or around it
    std::int8_t task = -1;              // of a stage; see stages.cc
    std::int16_t stage = -1;
    std::int32_t renewed = -1;                   // which attributes are written anew before every run
    std::int32_t first_input = 0, inputs = 0;    // in step_inputs
    std::int32_t first_output = 0, outputs = 0;  // in step_outputs
    std::int32_t border = -1;                    // the first in `borders` of its outputs
    std::vector<std::int32_t> drop;              // made outputs that nobody needs after this step

    bool is_accompanied() const { return epilogue >= 0 || sums != nullptr || prologue >= 0; }
  };
  // Elements before and after a value in the arena, so that what pads it lies there as well; the step that makes the
  // value writes them.
  struct Border {
    Graph::Value inside;
    std::size_t before = 0, after = 0;  // bytes
    std::size_t bytes = 0;              // in between
    bool is_zero = false;
    std::size_t room = 0;  // for those before: whole cache lines
    Tensor element;
    std::int32_t next = -1;  // of the same step
  };
  // Steps in a row of which some run at once; see stages.cc.
  struct Stage {
    std::size_t end = 0;                          // of its steps
    std::vector<std::vector<std::size_t>> tasks;  // steps, in order
    std::vector<std::int32_t> drop;               // of its steps, for when all are done
    std::int64_t gain = 0;                        // nanoseconds that two threads save
  };
  static constexpr std::int32_t kMostTasks = 8;  // of a stage

  ExecutionPlan() = default;
  ExecutionPlan(const ExecutionPlan&) = delete;  // steps point to nodes of the graph
  ExecutionPlan& operator=(const ExecutionPlan&) = delete;

  Graph graph;  // after its passes
  std::vector<FusedGroup> groups;
  std::vector<Step> steps;
  std::vector<Stage> stages;              // in order
  std::vector<Graph::Value> step_inputs;  // of all steps, one after the other
  std::vector<Graph::Value> step_outputs;
  std::vector<ValueState> values;
  std::vector<std::size_t> last_read;         // by value: a step
  std::vector<Graph::Value> own_outputs;      // values with Place::kOutput and kInPlace
  std::vector<std::int32_t> passing_outputs;  // positions in step_outputs that a run leaves empty
  std::int32_t renewed = 0;                   // steps that write their attributes anew
  std::vector<Border> borders;
  std::size_t arena_bytes = 0;
  std::vector<std::int32_t> first_user;  // by value, and one more: where its part of `users` begins
  std::vector<std::int32_t> users;       // positions in step_inputs
  std::vector<std::int32_t> first_view;  // by value, and one more: where its part of `views` begins
  std::vector<Graph::Value> views;       // with Place::kView

  std::span<const Graph::Value> inputs_of(const Step& step) const;
  std::span<const Graph::Value> outputs_of(const Step& step) const;
  const Border* border_of(Graph::Value value) const;
  void append(Step step, std::span<const Graph::Value> inputs, std::span<const Graph::Value> outputs);
  // Takes out the steps that have become part of others.
  void join_steps(const std::vector<bool>& is_taken);
};

// The passes that make a plan of its graph, in this order. What runs at once needs more memory, so `stages` says
// whether there are any. See compile.cc.
void make_plan(ExecutionPlan& plan, bool stages);
// The first three: what runs as one.
void make_steps(ExecutionPlan& plan);

void linearize(ExecutionPlan& plan);         // linearize.cc: one step for each op and each loop
void attach_epilogues(ExecutionPlan& plan);  // epilogues.cc: loops and sums after a kernel become part of its step
void attach_prologues(ExecutionPlan& plan);  // prologues.cc: and so does the loop that makes what a kernel reads
void find_places(ExecutionPlan& plan);       // places.cc: what leaves the run, what is a view, what the arena holds
void find_stages(ExecutionPlan& plan);       // stages.cc: which short steps run at once
void plan_memory(ExecutionPlan& plan);       // plan_memory.cc: where in the arena each value lies
void collect_stages(ExecutionPlan& plan);    // stages.cc: the tasks of each stage
void find_users(ExecutionPlan& plan);        // users.cc: what a run has to set when it knows where a value lies

// The nodes that a step runs, by position in the graph, in order.
std::vector<std::size_t> nodes_of(const ExecutionPlan& plan, const ExecutionPlan::Step& step);

// The bytes of the arena of a graph that has been compiled.
std::size_t arena_bytes_of(const Graph& graph);

// Whether an output of a step may have the memory of an operand; see places.cc.
bool may_overwrite(const ExecutionPlan& plan, const ExecutionPlan::Step& step, std::size_t input, std::size_t output);

// A step as profiles name it: "add", "gradient(tanh)", "loop(multiply, add, tanh)", "matmul + loop(add, tanh)".
std::string name_of(const ExecutionPlan& plan, const ExecutionPlan::Step& step);

// One line for each step: the kernel with what runs around it, operands and results, and where these lie. For tests and
// for readers; the numbers of values are those of the graph's text.
//
//     matmul + loop(add, tanh): %0 %1 %3 %2 -> %3 arena 0, %5 arena 0
//     reduce_sum: %5 -> %6 result
std::string to_text(const ExecutionPlan& plan);

}  // namespace capstan
