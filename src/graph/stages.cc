// Short steps that do not wait for each other run side by side.
//
// A long kernel shares itself out; what is too short for that leaves all threads but one idle. A stage is a row of
// steps that falls into parts of which none reads what another makes: two networks in one function, a product for the
// gradient of the weights beside the one that goes on to the layer below. Each part is a task of the pool, or several
// short ones together, and runs its steps in their order, so a chain costs one hand-over and its values stay in one
// cache. Nothing is moved: the tape and its reverse pass put side by side what belongs together.
//
// Where stages begin and end is the choice with the shortest time on two threads, by estimates (price.h), found by
// dynamic programming over the steps; a stage that would not save a few times what handing out costs is none. What is
// computed elsewhere has to get there: a training step of two networks of 5,000 weights and 64 rows takes 36 us for its
// gradients and 22 as stages, but the optimizer after it waits for weights and gradients that lie in the other core's
// cache, and all in all 42 become 47. So the bytes count, too.
//
// The estimates are of shapes alone, so stages, and with them the memory of values, are the same for any number of
// threads, and bits are those of a run in a row in any case: the tasks share nothing that one of them writes. One
// thread runs them one after the other.
//
// What has effects, makes its outputs itself, looks at the host or writes a variable is in no stage, so a run that
// fails in one has changed nothing, and gives the error of the step that would have failed first.
#include <algorithm>
#include <atomic>
#include <exception>
#include <numeric>

#include "src/core/profiler.h"
#include "src/core/thread_pool.h"
#include "src/graph/loops.h"
#include "src/graph/price.h"
#include "src/graph/stages.h"
#include "src/graph/tables.h"

namespace capstan {

namespace {

using Step = ExecutionPlan::Step;
using Place = ExecutionPlan::Place;

// Nanoseconds: what a stage costs beside its tasks (measured: 0.4 to 1 microsecond), what it has to save, and how much
// work is worth a task of its own if there are many.
constexpr double kHandOut = 1000;
constexpr double kLeastGain = 3000;
constexpr double kTaskTime = 1000;
// What it costs that a byte which one core has just written is read by another, half of them being on the right one
// already: values of a run, and variables with what updates them, whose memory goes to and fro between the cores.
constexpr double kMove = 0.03;
constexpr double kMoveVariable = 0.25;
constexpr double kWakes = 1e6;               // a gain for which the pool wakes its workers
constexpr std::size_t kMostSteps = 128;      // of a stage
constexpr std::size_t kMostStages = 32'000;  // of a program, see Step
constexpr double kByItself = -1;             // the time of what is in no stage
constexpr std::size_t kNobody = ~std::size_t{0};

std::atomic<Stages> staging{Stages::kWorthwhile};

constexpr std::int32_t kMostTasks = ExecutionPlan::kMostTasks;

// Sets of steps that wait for each other, in a row that grows.
class Parts {
 public:
  void add(double time) {
    parent_.push_back(parent_.size());
    time_.push_back(time);
    sum_ += time;
    longest_ = std::max(longest_, time);
    ++count_;
  }
  void join(std::size_t a, std::size_t b) {
    a = find(a), b = find(b);
    if (a == b) return;
    parent_[b] = a;
    time_[a] += time_[b];
    longest_ = std::max(longest_, time_[a]);
    --count_;
  }
  // What threads pay for not being one.
  void charge(double time) { moves_ += time; }
  std::size_t find(std::size_t step) {
    while (parent_[step] != step) step = parent_[step] = parent_[parent_[step]];
    return step;
  }
  double time_of(std::size_t part) const { return time_[part]; }
  std::size_t count() const { return count_; }
  double in_a_row() const { return sum_; }
  double on_two_threads() const { return kHandOut + moves_ + std::max(longest_, sum_ / 2); }

 private:
  std::vector<std::size_t> parent_;
  std::vector<double> time_;  // by the step that stands for the part
  double sum_ = 0, longest_ = 0, moves_ = 0;
  std::size_t count_ = 0;
};

// How long the steps take that may run beside others.
std::vector<double> short_times(const ExecutionPlan& plan) {
  std::vector<double> times(plan.steps.size(), kByItself);
  std::vector<bool> is_written(plan.graph.values.size());
  for (const Graph::Captured& captured : plan.graph.captured) {
    if (captured.written != Graph::kNone) is_written[at(captured.written)] = true;
  }
  const Graph::Node* const end = plan.graph.nodes.data() + plan.graph.nodes.size();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const std::span<const Graph::Value> outputs = plan.outputs_of(step);
    if (std::any_of(outputs.begin(), outputs.end(), [&](Graph::Value v) { return is_written[at(v)]; })) continue;
    if (step.is_layout) times[s] = 0;
    if (step.is_layout || step.makes_outputs) continue;
    if (step.sums != nullptr || step.prologue >= 0) continue;
    // The nodes of a group and those of the loop after a product follow the first.
    double time = 0;
    const Graph::Node* node = step.node;
    do {
      const std::optional<double> more = short_time_of(plan.graph, *node);
      time = more && time >= 0 ? time + *more : kByItself;
      ++node;
    } while (node != end && time >= 0 && node->group != Graph::kNone &&
             (node->group == node[-1].group || (step.epilogue >= 0 && node - 1 == step.node)));
    times[s] = time;
  }
  return times;
}

// Gives the parts of a stage to its tasks, the longest first, each to the task that has least to do.
void make_stage(ExecutionPlan& plan, std::size_t begin, std::size_t end, const std::vector<double>& times,
                const std::vector<std::size_t>& makers) {
  Parts parts;
  for (std::size_t s = begin; s < end; ++s) {
    parts.add(times[s]);
    for (const Graph::Value input : plan.inputs_of(plan.steps[s])) {
      const std::size_t maker = makers[at(input)];
      if (maker != kNobody && maker >= begin) parts.join(maker - begin, s - begin);
    }
  }
  const auto tasks = std::clamp<std::size_t>(static_cast<std::size_t>(parts.in_a_row() / kTaskTime), 2, at(kMostTasks));
  const std::size_t used = std::min(tasks, parts.count());
  double load[kMostTasks] = {};
  std::vector<std::int8_t> task_of(end - begin, -1);
  for (std::size_t left = parts.count(); left > 0; --left) {
    std::size_t longest = kNobody;
    for (std::size_t s = 0; s < end - begin; ++s) {
      if (task_of[s] >= 0 || parts.find(s) != s) continue;
      if (longest == kNobody || parts.time_of(s) > parts.time_of(longest)) longest = s;
    }
    double* const least = std::min_element(load, load + used);
    // Parts that take no time have to go somewhere, too.
    *least += parts.time_of(longest) + 1;
    task_of[longest] = static_cast<std::int8_t>(least - load);
  }
  for (std::size_t s = begin; s < end; ++s) {
    plan.steps[s].stage = static_cast<std::int16_t>(plan.stages.size());
    plan.steps[s].task = task_of[parts.find(s - begin)];
  }
  const bool wakes = staging.load(std::memory_order_relaxed) == Stages::kAll;
  const double gain = wakes ? kWakes : parts.in_a_row() - parts.on_two_threads() + kHandOut;
  plan.stages.emplace_back().gain = static_cast<std::int64_t>(gain);
}

}  // namespace

void stage_steps(Stages stages) { staging.store(stages, std::memory_order_relaxed); }

bool waits_for_another_short_product(const ExecutionPlan& plan, const Step& loop, const Step& product) {
  const auto is_short = [&](const Step& step) {
    if (step.group >= 0 || !has_flag(*step.node->op, kFinishesRows)) return false;
    const std::optional<double> time = short_time_of(plan.graph, *step.node);
    return time && *time >= kLeastGain + kHandOut;
  };
  if (!is_short(product)) return false;
  for (const Graph::Value input : plan.inputs_of(loop)) {
    const std::int32_t position = plan.values[at(input)].output;
    const auto behind = [](std::int32_t p, const Step& step) { return p < step.first_output; };
    if (position < 0) continue;
    const Step& maker = *(std::upper_bound(plan.steps.begin(), plan.steps.end(), position, behind) - 1);
    if (&maker != &product && is_short(maker)) return true;
  }
  return false;
}

void find_stages(ExecutionPlan& plan) {
  const Stages wanted = staging.load(std::memory_order_relaxed);
  if (wanted == Stages::kNone) return;
  const double least = wanted == Stages::kAll ? -1e300 : kLeastGain;
  const std::vector<double> times = short_times(plan);
  std::vector<std::size_t> makers(plan.graph.values.size(), kNobody);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    for (const Graph::Value output : plan.outputs_of(plan.steps[s])) makers[at(output)] = s;
  }
  // What it costs to move a value to where it is read, and the outputs of a step to those in no stage.
  std::vector<double> moves(plan.graph.values.size()), moves_on(plan.steps.size());
  const auto bytes_of = [&](Graph::Value value) {
    const Graph::ValueInfo& info = plan.graph.values[at(value)];
    return static_cast<double>(info.shape.size()) * static_cast<double>(size_of(info.dtype));
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    for (const Graph::Value input : plan.inputs_of(plan.steps[s])) {
      const std::size_t maker = makers[at(input)];
      if (maker == kNobody) continue;
      moves[at(input)] = kMove * bytes_of(input);
      const bool updates = plan.steps[s].group < 0 && has_flag(*plan.steps[s].node->op, kUpdatesInPlace);
      if (times[s] < 0) moves_on[maker] += (updates ? kMoveVariable : kMove) * bytes_of(input);
    }
  }
  for (const Graph::Captured& captured : plan.graph.captured) {
    if (captured.written != Graph::kNone) moves[at(captured.value)] = kMoveVariable * bytes_of(captured.value);
  }
  std::vector<std::size_t> read_since(plan.graph.values.size());
  // The least that the steps before one take, and where the last row of these begins.
  constexpr double kNever = 1e300;
  std::vector<double> before(plan.steps.size() + 1, kNever);
  std::vector<std::size_t> begins(plan.steps.size() + 1, 0);
  before[0] = 0;
  for (std::size_t begin = 0; begin < plan.steps.size(); ++begin) {
    Parts parts;
    for (std::size_t s = begin; s < std::min(plan.steps.size(), begin + kMostSteps); ++s) {
      if (s > begin && times[s] < 0) break;
      parts.add(std::max(0.0, times[s]));
      parts.charge(moves_on[s]);
      for (const Graph::Value input : plan.inputs_of(plan.steps[s])) {
        const std::size_t maker = makers[at(input)];
        if (maker != kNobody && maker >= begin) {
          parts.join(maker - begin, s - begin);
        } else if (read_since[at(input)] != begin + 1) {
          read_since[at(input)] = begin + 1;
          parts.charge(moves[at(input)]);
        }
      }
      const bool gains = parts.count() > 1 && parts.in_a_row() - parts.on_two_threads() >= least;
      if (s > begin && !gains) continue;
      double time = gains ? parts.on_two_threads() : parts.in_a_row();
      // For tests: the more the better.
      if (gains && wanted == Stages::kAll) time = -static_cast<double>((s - begin) * parts.count());
      if (before[begin] + time < before[s + 1]) {
        before[s + 1] = before[begin] + time;
        begins[s + 1] = begin;
      }
      if (times[begin] < 0) break;
    }
  }
  std::vector<std::size_t> ends;
  for (std::size_t end = plan.steps.size(); end > 0; end = begins[end]) {
    if (end - begins[end] > 1) ends.push_back(end);
  }
  for (auto end = ends.rbegin(); end != ends.rend() && plan.stages.size() < kMostStages; ++end) {
    make_stage(plan, begins[*end], *end, times, makers);
  }
}

// By value: the task of the last stage that reads it which does, or kMostTasks if several do or a view is made of it
// that the plan of memory does not follow.
std::vector<std::int32_t> readers_in_stages(const ExecutionPlan& plan) {
  std::vector<std::int32_t> stage(plan.graph.values.size(), -1), reader(plan.graph.values.size(), -1);
  std::vector<Graph::Value> base(plan.graph.values.size());
  std::iota(base.begin(), base.end(), Graph::Value{0});
  for (const Step& step : plan.steps) {
    const std::span<const Graph::Value> outputs = plan.outputs_of(step);
    const bool is_fixed = step.is_layout && plan.values[at(outputs[0])].place == Place::kArena;
    if (is_fixed) base[at(outputs[0])] = base[at(plan.inputs_of(step)[0])];
    for (const Graph::Value input : plan.inputs_of(step)) {
      const std::size_t read = at(base[at(input)]);
      if (step.makes_outputs && !is_fixed) {
        constexpr std::int32_t kAny = 1 << 30;
        stage[read] = kAny;
        reader[read] = kMostTasks;
      } else if (step.stage >= 0 && stage[read] <= step.stage) {
        reader[read] = stage[read] < step.stage || reader[read] == step.task ? step.task : kMostTasks;
        stage[read] = step.stage;
      }
    }
  }
  return reader;
}

// When the steps have their final order.
void collect_stages(ExecutionPlan& plan) {
  for (ExecutionPlan::Stage& stage : plan.stages) stage.tasks.resize(at(kMostTasks));
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    Step& step = plan.steps[s];
    if (step.stage < 0) continue;
    ExecutionPlan::Stage& stage = plan.stages[at(step.stage)];
    stage.tasks[at(step.task)].push_back(s);
    stage.end = s + 1;
    stage.drop.insert(stage.drop.end(), step.drop.begin(), step.drop.end());
    step.drop.clear();
  }
  for (ExecutionPlan::Stage& stage : plan.stages)
    std::erase_if(stage.tasks, [](const auto& task) { return task.empty(); });
}

// --- A run ---

void Program::run_steps(Tables& tables) const {
  const bool profiles = active_profiler() != nullptr;
  const auto run = [&](std::size_t s) {
    if (profiles) return run_profiled(plan_.steps[s], tables);
    run_step(plan_.steps[s], tables);
  };
  std::size_t s = 0;
  for (const ExecutionPlan::Stage& stage : plan_.stages) {
    for (; s < plan_.steps.size() && plan_.steps[s].stage < 0; ++s) run(s);
    struct Failure {
      std::size_t step;
      std::exception_ptr what;
    } failures[kMostTasks];
    const auto tasks = static_cast<std::int64_t>(stage.tasks.size());
    parallel_for_short(tasks, stage.gain, [&](std::int64_t task) {
      for (const std::size_t step : stage.tasks[at(task)]) {
        try {
          run(step);
        } catch (...) {
          failures[task] = {step, std::current_exception()};
          return;
        }
      }
    });
    const Failure* first = nullptr;
    for (const Failure& failure : failures) {
      if (failure.what && (first == nullptr || failure.step < first->step)) first = &failure;
    }
    if (first != nullptr) [[unlikely]]
      std::rethrow_exception(first->what);
    for (const std::int32_t position : stage.drop) tables.outputs[at(position)] = {};
    s = std::max(s, stage.end);
  }
  for (; s < plan_.steps.size(); ++s) run(s);
}

}  // namespace capstan
