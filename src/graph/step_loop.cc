// Records what a rule of an optimizer does with one variable, and makes a loop of it.
//
// The formula runs once with symbolic tensors of the variable's shape, so it may look at the shape. If every node runs
// over the elements of the variable and reads nothing else but numbers, they are one fused loop, as for the groups of a
// program: machine code where there is an emitter, else the library's own loops over tiles that stay in the first
// cache. Both have the bits of the formula run op by op. Where a row-sparse gradient has no row it is a zero that
// repeats, which takes a second loop.
#include "src/core/backend.h"
#include "src/core/step_loop.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "src/core/check.h"
#include "src/core/once.h"
#include "src/emit/fused_loop.h"
#include "src/graph/graph.h"
#include "src/graph/loops.h"
#include "src/graph/tracer.h"
#include "src/kernels/scratch.h"

namespace capstan {

namespace {

using Access = FusedLoop::Access;

constexpr std::int64_t kTile = 512;  // elements
constexpr std::size_t kMostNodes = 100;

// A formula as a loop: inputs are the slots, the gradient, and the numbers.
struct Recorded {
  FusedLoop loop;
  std::vector<Loop> functions;         // by node
  std::vector<std::size_t> changed;    // by output: which slot it is
  std::vector<Tensor> constants = {};  // what the last numbers are
};

class Recorder {
 public:
  Recorder(DType dtype, const Shape& shape, std::size_t slots, std::size_t numbers)
      : size_(shape.size()), slots_(slots), numbers_(numbers) {
    recorded_.loop.dtype = dtype;
  }

  // Nothing if the formula is more than a loop.
  std::optional<Recorded> record(const Graph& graph) {
    value_of_.assign(graph.values.size(), -1);
    for (const Graph::Value argument : graph.arguments) value_of_[at(argument)] = next_++;
    // What is read from elsewhere comes before all nodes in the numbering of values.
    for (const Graph::Node& node : graph.nodes) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!reads_shape_only(node, i) && !add_constant(graph, node.inputs[i])) return std::nullopt;
      }
    }
    recorded_.loop.inputs.assign(at(next_), {Access::kScalar});
    for (std::size_t i = 0; i <= slots_; ++i) recorded_.loop.inputs[i].access = Access::kFull;
    for (const Graph::Node& node : graph.nodes) {
      if (!add_node(graph, node)) return std::nullopt;
    }
    for (std::size_t k = 0; k < slots_; ++k) {
      if (!add_output(graph, k)) return std::nullopt;
    }
    return std::move(recorded_);
  }

 private:
  bool add_constant(const Graph& graph, Graph::Value value) {
    const Graph::ValueInfo& info = graph.values[at(value)];
    if (value_of_[at(value)] >= 0 || !info.constant.has_value()) return true;
    if (info.constant.size() != 1 || info.dtype != recorded_.loop.dtype) return false;
    if (numbers_ + recorded_.constants.size() == kMostNumbers) return false;
    value_of_[at(value)] = next_++;
    recorded_.constants.push_back(info.constant);
    return true;
  }

  bool add_node(const Graph& graph, const Graph::Node& node) {
    const std::optional<LoopOfOp> loop = loop_of(node);
    if (!loop || loop->op->formula == nullptr || node.outputs.size() != 1 || node.has_effect()) return false;
    const Graph::ValueInfo& out = graph.values[at(node.outputs[0])];
    const bool boolean = out.dtype == DType::kBool;
    const auto fits = [&](const Shape& shape) { return shape.size() == size_ || shape.size() == 1; };
    if (!fits(out.shape) || (!boolean && out.dtype != recorded_.loop.dtype)) return false;
    FusedLoop::Node member{.code = &code_of(*loop), .boolean = boolean};
    std::size_t next = 0;
    for (int position = 0; position < 5; ++position) {
      if ((loop->positions >> position & 1) == 0) continue;
      const Graph::Value input = node.inputs[next++];
      if (value_of_[at(input)] < 0 || !fits(graph.values[at(input)].shape)) return false;
      member.operands[position] = value_of_[at(input)];
    }
    if (loop->op->attributes != nullptr) {
      const std::size_t parameters = loop->op->attributes->size / sizeof(double);
      std::copy_n(loop->parameters, std::min<std::size_t>(5, parameters), member.parameters);
    }
    const Loop function = function_of(*loop, recorded_.loop.dtype);
    if (function == nullptr || recorded_.loop.nodes.size() == kMostNodes) return false;
    value_of_[at(node.outputs[0])] = next_++;
    recorded_.loop.nodes.push_back(member);
    recorded_.functions.push_back(function);
    return true;
  }

  // What a slot is after the step; it may stay as it was.
  bool add_output(const Graph& graph, std::size_t slot) {
    const Graph::Value result = graph.results[slot];
    if (result == graph.arguments[slot]) return true;
    const Graph::ValueInfo& info = graph.values[at(result)];
    const std::int32_t value = value_of_[at(result)];
    if (value < static_cast<std::int32_t>(recorded_.loop.inputs.size())) return false;  // not computed
    if (info.shape.size() != size_ || info.dtype != recorded_.loop.dtype) return false;
    recorded_.loop.outputs.push_back({value, FusedLoop::Store::kFull});
    recorded_.changed.push_back(slot);
    return true;
  }

  std::int64_t size_;
  std::size_t slots_, numbers_;
  std::int32_t next_ = 0;
  std::vector<std::int32_t> value_of_;  // by value of the graph; -1: none
  Recorded recorded_;
};

class FusedStep final : public StepLoop {
 public:
  FusedStep(std::string name, Recorded recorded, std::size_t slots)
      : StepLoop(std::move(name), recorded.loop.dtype, slots, recorded.loop.inputs.size() - slots - 1),
        functions_(std::move(recorded.functions)),
        changed_(std::move(recorded.changed)),
        with_gradient_(std::move(recorded.loop)),
        without_gradient_(with_gradient_) {
    without_gradient_.inputs[slots].access = Access::kScalar;
    kernel_ = emit_fused_loop(with_gradient_);
    plan_tiles();
  }

  void run(void* const* slots, const void* gradient, const void* const* numbers, std::int64_t n) const override {
    static constexpr double kZero = 0;
    const void* in[kMostSlots + 1 + kMostNumbers];
    void* out[kMostSlots];
    std::copy_n(slots, this->slots, in);
    in[this->slots] = gradient == nullptr ? &kZero : gradient;
    std::copy_n(numbers, this->numbers, in + this->slots + 1);
    for (std::size_t o = 0; o < changed_.size(); ++o) out[o] = slots[changed_[o]];
    const FusedKernel kernel = gradient == nullptr ? kernel_without_gradient() : kernel_;
    if (kernel != nullptr) return kernel({in, out, 1, n});
    run_tiles(gradient == nullptr ? without_gradient_ : with_gradient_, in, out, n);
  }

 private:
  FusedKernel kernel_without_gradient() const {
    emitted_.run([this] { kernel_without_gradient_ = emit_fused_loop(without_gradient_); });
    return kernel_without_gradient_;
  }

  // Which tile has the result of a node: one that nobody reads any more, so that few tiles are in use.
  void plan_tiles() {
    const auto inputs = with_gradient_.inputs.size();
    std::vector<std::size_t> last(with_gradient_.nodes.size(), 0);  // the node that reads a node's result last
    const auto read = [&](std::int32_t value, std::size_t by) {
      if (value >= 0 && at(value) >= inputs) last[at(value) - inputs] = by;
    };
    for (std::size_t k = 0; k < last.size(); ++k) {
      for (const std::int32_t operand : with_gradient_.nodes[k].operands) read(operand, k);
    }
    for (const FusedLoop::Output& output : with_gradient_.outputs) read(output.value, last.size());
    std::vector<std::size_t> free;
    for (std::size_t k = 0; k < last.size(); ++k) {
      if (free.empty()) free.push_back(tiles_++);
      tile_of_.push_back(free.back());
      free.pop_back();
      for (std::size_t j = 0; j < k; ++j) {
        if (last[j] == k) free.push_back(tile_of_[j]);
      }
    }
  }

  void run_tiles(const FusedLoop& loop, const void* const* in, void* const* out, std::int64_t n) const {
    const Scratch scratch(ScratchSlot::kTask, tiles_ * kTile * sizeof(double));
    const auto tile_of = [&](std::size_t node) {
      return scratch.as<std::byte>() + tile_of_[node] * kTile * size_of(dtype);
    };
    for (std::int64_t first = 0; first < n; first += kTile) {
      const std::int64_t count = std::min(kTile, n - first);
      const std::size_t skipped = at(first) * size_of(dtype);
      const auto place = [&](std::int32_t value) -> const std::byte* {
        if (at(value) >= loop.inputs.size()) return tile_of(at(value) - loop.inputs.size());
        const auto* const memory = static_cast<const std::byte*>(in[value]);
        return loop.inputs[at(value)].access == Access::kFull ? memory + skipped : memory;
      };
      for (std::size_t k = 0; k < loop.nodes.size(); ++k) {
        run_node(loop, k, place, count, tile_of(k));
      }
      for (std::size_t o = 0; o < loop.outputs.size(); ++o) {
        std::memcpy(static_cast<std::byte*>(out[o]) + skipped, place(loop.outputs[o].value),
                    at(count) * size_of(dtype));
      }
    }
  }

  template <class Place>
  void run_node(const FusedLoop& loop, std::size_t k, const Place& place, std::int64_t n, std::byte* to) const {
    const FusedLoop::Node& node = loop.nodes[k];
    LoopArgs args{to, {}, n, node.parameters, 0, false};
    for (int position = 0; position < 5; ++position) {
      const std::int32_t operand = node.operands[position];
      if (operand < 0) continue;
      args.in[position] = place(operand);
      const bool repeats = at(operand) < loop.inputs.size() && loop.inputs[at(operand)].access == Access::kScalar;
      if (repeats) args.scalars |= 1u << position;
    }
    functions_[k](args);
  }

  std::vector<Loop> functions_;
  std::vector<std::size_t> changed_;
  FusedLoop with_gradient_, without_gradient_;
  FusedKernel kernel_;
  std::vector<std::size_t> tile_of_;  // by node
  std::size_t tiles_ = 0;
  mutable Once emitted_;
  mutable FusedKernel kernel_without_gradient_ = nullptr;
};

template <class T>
void append(std::string& key, const T& value) {
  // An address, too, is its bytes.
  key.append(reinterpret_cast<const char*>(&value), sizeof value);  // NOLINT(bugprone-sizeof-expression)
}

std::string key_of(const Recorded& recorded, std::size_t slots) {
  std::string key;
  append(key, recorded.loop.dtype);
  append(key, slots);
  append(key, recorded.loop.inputs.size());
  for (const FusedLoop::Node& node : recorded.loop.nodes) {
    append(key, node.code);
    append(key, node.operands);
    append(key, node.parameters);
    append(key, node.boolean);
  }
  for (std::size_t o = 0; o < recorded.changed.size(); ++o) {
    append(key, recorded.loop.outputs[o].value);
    append(key, recorded.changed[o]);
  }
  return key;
}

// The loops that exist; never destroyed, as graphs that refer to them may be statics.
const StepLoop* loop_for(const std::string& name, Recorded recorded, std::size_t slots) {
  static auto* const mutex = new std::mutex;
  static auto* const loops = new std::unordered_map<std::string, const StepLoop*>;
  std::string key = key_of(recorded, slots);
  const std::lock_guard lock(*mutex);
  const auto found = loops->find(key);
  if (found != loops->end()) return found->second;
  const std::string unique = detail::join(name, " ", loops->size());
  const StepLoop* const loop = new FusedStep(unique, std::move(recorded), slots);
  loops->emplace(std::move(key), loop);
  return loop;
}

Graph trace_formula(const std::string& name, DType dtype, const Shape& shape, std::size_t slots, std::size_t numbers,
                    const StepFormula& formula) {
  GraphTracer tracer(name);
  std::vector<Tensor> all;
  for (std::size_t i = 0; i <= slots; ++i) all.push_back(tracer.add_argument(dtype, shape));
  for (std::size_t i = 0; i < numbers; ++i) all.push_back(tracer.add_argument(dtype, Shape()));
  const std::span<const Tensor> arguments(all);
  std::vector<Tensor> after(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(slots));
  formula(arguments.first(slots), all[slots], arguments.subspan(slots + 1), after);
  Graph graph = tracer.finish(after);
  remove_dead(graph);
  return graph;
}

}  // namespace

RecordedStep record_step(const std::string& name, DType dtype, const Shape& shape, std::size_t slots,
                         std::size_t numbers, const StepFormula& formula) {
  if (slots > kMostSlots || numbers > kMostNumbers || shape.size() == 0) return {};
  const MakeTensorsOn processor(nullptr);  // whose loop it is
  const Graph graph = trace_formula(name, dtype, shape, slots, numbers, formula);
  if (!graph.captured.empty()) return {};  // it has state of its own
  std::optional<Recorded> recorded = Recorder(dtype, shape, slots, numbers).record(graph);
  if (!recorded) return {};
  RecordedStep step;
  step.constants = std::move(recorded->constants);
  step.loop = loop_for(name, std::move(*recorded), slots);
  return step;
}

}  // namespace capstan
