// Program: a graph as a flat list of kernel calls over fixed buffers.
//
// What a call needs is decided when the program is made: which loops are fused, where every value lies in one arena,
// which variables are updated where they lie. A run calls kernels and nothing else; it allocates what it hands out.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/graph/fused_group.h"
#include "src/graph/graph.h"

namespace capstan {

class Backend;
struct Layout;

class Program {
 public:
  // Runs the passes on a copy of the graph. A budget of bytes for the arena, if it is not 0, is met if that can be; see
  // meet_budget.
  explicit Program(Graph graph, std::size_t budget = 0);  // see compile.cc
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The passed graph after its passes.
  const Graph& graph() const { return graph_; }
  // Bytes that a run needs beside its arguments and results.
  std::size_t arena_bytes() const { return arena_bytes_; }
  // The same for a graph that has been compiled.
  static std::size_t arena_bytes_of(const Graph& graph);
  // Whether a written variable may be updated where it lies.
  bool updates_in_place(const Graph::Captured& captured) const {
    return values_[static_cast<std::size_t>(captured.written)].place == Place::kInPlace;
  }
  // Where a value lies in that memory; nothing if it lies elsewhere.
  std::optional<std::size_t> arena_offset(Graph::Value value) const {
    const ValueState& state = values_[static_cast<std::size_t>(value)];
    return state.place == Place::kArena ? std::optional(state.offset) : std::nullopt;
  }

  // The stage that each node is part of, and in which of its tasks, which run at once; -1 for those in no stage.
  struct Turn {
    std::int32_t stage, task;
  };
  std::vector<Turn> turns() const;

  // As run_graph. `inputs` are lent; nobody else may change them meanwhile. `outputs` gets the results and the values
  // of written variables; one that was updated where it lies is empty.
  void run(std::span<detail::Block* const> inputs, std::vector<Tensor>& outputs) const;
  // The same again and again: see repeated.h.
  class Repeated;

 private:
  enum class Place : std::uint8_t {
    kInput,  // an argument, or what a variable holds
    kConstant,
    kArena,
    kOutput,   // a tensor of its own, which leaves the run
    kInPlace,  // the same, in the buffer of the variable that it is written to
    kMade,     // the kernel makes it
    kPassing,  // a prologue makes it part by part, and nobody holds it
    kView,     // part of a value that lies outside of the arena, wherever that is
  };
  struct ValueState {
    Place place = Place::kMade;
    std::size_t offset = 0;             // in the arena; kView: in what it is part of
    std::int32_t output = -1;           // position in step_outputs_, if a step makes it
    std::int32_t variable = -1;         // kInput, kInPlace: position among the inputs of a run
    Graph::Value whole = Graph::kNone;  // kView: what it is part of
  };
  struct Step {
    const Graph::Node* node = nullptr;  // of a single op, or the first of a group
    std::int32_t group = -1;
    std::int32_t epilogue = -1;         // the group that runs on what the kernel has finished
    const Graph::Node* sums = nullptr;  // over the rows of that, or of what the kernel has finished
    std::int32_t prologue = -1;         // the group that makes the first operand
    bool is_loop : 1 = false;           // an elementwise op outside of groups
    bool makes_outputs : 1 = false;     // the kernel does
    bool is_layout : 1 = false;         // nothing to run: the output lies in the first operand, or around it
    std::int8_t task = -1;              // of a stage; see stages.cc
    std::int16_t stage = -1;
    std::int32_t renewed = -1;                   // which attributes are written anew before every run
    std::int32_t first_input = 0, inputs = 0;    // in step_inputs_
    std::int32_t first_output = 0, outputs = 0;  // in step_outputs_
    std::int32_t border = -1;                    // the first in borders_ of its outputs
    std::vector<std::int32_t> drop;              // made outputs that nobody needs behind this step
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
  struct Attributes;
  struct Tables;
  class Run;

  std::span<const Graph::Value> inputs_of(const Step& step) const;
  std::span<const Graph::Value> outputs_of(const Step& step) const;

  Program() = default;
  void lay_out(bool stages);

  // linearize.cc, layouts.cc, epilogues.cc, prologues.cc
  void linearize();
  void add_step(const Graph::Node& node);
  void add_group(std::span<const Graph::Node> nodes, const std::vector<bool>& leaves);
  bool can_have_loop(const Step& product, const Step& loop) const;
  bool can_have_sums(const Step& product, const Step* loop, const Step& sums) const;
  void attach_epilogues();
  void attach_prologues();
  void join_steps(const std::vector<bool>& is_taken);
  void append(Step step, std::span<const Graph::Value> inputs, std::span<const Graph::Value> outputs);
  void find_places();
  std::optional<Layout> layout_of_step(const Step& step) const;
  std::optional<std::int64_t> distance_of_view(const Step& step) const;
  void find_borders(const std::vector<bool>& leaves);
  const Border* border_of(Graph::Value value) const;
  bool can_be_in_place(std::size_t captured) const;
  void plan_memory();
  bool can_inherit(const Step& step, const std::vector<Graph::Value>& root, Graph::Value value,
                   std::size_t output) const;
  bool may_overwrite(const Step& step, std::size_t input, std::size_t output) const;
  std::optional<std::size_t> output_over_product(const Step& step) const;
  void find_users();

  // stages.cc
  static constexpr std::int32_t kMostTasks = 8;  // of a stage
  bool waits_for_another_short_product(const Step& loop, const Step& product) const;
  std::vector<double> short_times() const;
  void find_stages();
  void make_stage(std::size_t begin, std::size_t end, const std::vector<double>& times,
                  const std::vector<std::size_t>& makers);
  std::vector<std::int32_t> readers_in_stages() const;
  void collect_stages();
  void run_steps(Tables& tables) const;

  // program.cc
  std::unique_ptr<Tables> make_tables(Backend* backend) const;
  Tensor lay(const Tensor& owner, void* data, Graph::Value value) const;
  void set_operands(Tables& tables, Graph::Value value, detail::Block* block) const;
  void set_views(Tables& tables, Graph::Value value, void* data) const;
  void write_borders(const Step& step, const Tables& tables) const;
  void set_output(Tables& tables, std::int32_t position, Tensor tensor) const;
  Tables* take_spare() const;
  void keep_spare(std::unique_ptr<Tables> tables) const;
  void run_all(Tables& tables) const;
  void run_step(const Step& step, Tables& tables) const;
  static bool is_accompanied(const Step& step) {
    return step.epilogue >= 0 || step.sums != nullptr || step.prologue >= 0;
  }
  void run_accompanied(const Step& step, Tables& tables) const;
  static const void* attributes_of(const Step& step, Tables& tables);
  void finish_step(const Step& step, Tables& tables) const;

  // on_device.cc
  void run_step_on_device(const Step& step, Tables& tables) const;
  void run_profiled(const Step& step, Tables& tables) const;
  std::string name_of(const Step& step) const;
  std::string name_of_group(Graph::Value group) const;
  static void run_one_loop(const Graph::Node& node, std::span<const TensorRef> operands, const Tensor& output);

  Graph graph_;
  std::vector<FusedGroup> groups_;
  std::vector<Step> steps_;
  std::vector<Stage> stages_;              // in order
  std::vector<Graph::Value> step_inputs_;  // of all steps, one after the other
  std::vector<Graph::Value> step_outputs_;
  std::vector<ValueState> values_;
  std::vector<std::size_t> last_read_;         // by value: a step
  std::vector<std::int32_t> first_user_;       // by value, and one more: where its part of users_ begins
  std::vector<std::int32_t> users_;            // positions in step_inputs_
  std::vector<Graph::Value> own_outputs_;      // values with Place::kOutput and kInPlace
  std::vector<std::int32_t> passing_outputs_;  // positions in step_outputs_ that a run leaves empty
  std::int32_t renewed_ = 0;                   // steps that write their attributes anew
  std::vector<std::int32_t> first_view_;       // by value, and one more: where its part of views_ begins
  std::vector<Graph::Value> views_;            // with Place::kView
  std::vector<Border> borders_;
  std::size_t arena_bytes_ = 0;
  Backend* backend_ = nullptr;                   // that a constant is on
  mutable std::atomic<Tables*> spare_{nullptr};  // of the last run, for the next one
};

// Whether programs that are made from now on fuse loops, which they do unless told otherwise; for tests.
void fuse_loops(bool fuse);

// Which steps of programs that are made from now on run at once: those that gain from it, unless told otherwise; for
// tests.
enum class Stages : std::uint8_t { kNone, kWorthwhile, kAll };
void stage_steps(Stages stages);

}  // namespace capstan
