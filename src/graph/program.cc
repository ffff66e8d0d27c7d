// How a run goes; how it is prepared stands in linearize.cc.
#include "src/graph/program.h"

#include <algorithm>
#include <cstring>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/backend.h"
#include "src/core/call_kernel.h"
#include "src/core/context.h"
#include "src/core/hooks.h"
#include "src/core/profiler.h"
#include "src/graph/loops.h"
#include "src/graph/tables.h"

namespace capstan {

using detail::Block;

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// A variable's buffer is written where it lies if nobody else holds it.
bool is_exclusive(const Block* block) {
  return block->refs.load(std::memory_order_acquire) == 1 &&
         (block->flags.load(std::memory_order_relaxed) & Block::kView) == 0;
}

// The device that an operand is on. (Two are refused where the operands meet.)
inline Backend* device_of(std::span<Block* const> inputs, Backend* otherwise) {
  unsigned seen = 0;
  for (const Block* const input : inputs) seen |= input->flags.load(std::memory_order_relaxed);
  if ((seen & Block::kOnDevice) == 0) [[likely]]
    return otherwise;
  return backend_of(*std::find_if(inputs.begin(), inputs.end(), is_on_device));
}

std::string name_of_node(const Graph::Node& node) {
  const std::optional<LoopOfOp> loop = loop_of(node);
  return loop && loop->input >= 0 ? "gradient(" + std::string(loop->op->name) + ")" : std::string(node.op->name);
}

}  // namespace

Program::~Program() { delete spare_.load(std::memory_order_acquire); }

// A tensor of the arena, or one that lies somewhere else.
Tensor Program::lay(const Tensor& owner, void* data, Graph::Value value) const {
  const Graph::ValueInfo& info = graph_.values[at(value)];
  Tensor tensor = symbolic(info.dtype, info.shape);
  Block* block = tensor.block();
  block->flags = static_cast<std::uint8_t>(Block::kView | (owner.block()->flags & Block::kOnDevice));
  if (is_on_device(block)) block->buffer_class = owner.block()->buffer_class;
  block->data = data;
  block->owner = owner.block();
  detail::retain(block->owner);
  return tensor;
}

std::unique_ptr<Program::Tables> Program::make_tables(Backend* backend) const {
  auto tables = std::make_unique<Tables>();
  tables->backend = backend;
  tables->operands.resize(step_inputs_.size());
  tables->in.resize(step_inputs_.size());
  tables->outputs.resize(step_outputs_.size());
  tables->out.resize(step_outputs_.size());
  tables->fixed.resize(graph_.values.size());
  if (arena_bytes_ > 0) {
    tables->arena = new_tensor_on(backend, DType::kFloat64, {static_cast<std::int64_t>(arena_bytes_ / sizeof(double))});
  }
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const auto value = static_cast<Graph::Value>(v);
    if (values_[v].place == Place::kConstant) {
      const Tensor& constant = graph_.values[v].constant;
      tables->fixed[v] = backend == nullptr ? constant : copy_to(*backend, constant);
    } else if (values_[v].place == Place::kPassing) {
      // An address that stands for it.
      tables->fixed[v] = symbolic(graph_.values[v].dtype, graph_.values[v].shape);
      Block* const block = tables->fixed[v].block();
      block->data = block->inline_data;
    } else if (values_[v].place == Place::kView) {
      // Set when the place of the whole is known. Nobody but kernels sees it, so it need not keep that.
      if (backend == nullptr) {
        tables->fixed[v] = symbolic(graph_.values[v].dtype, graph_.values[v].shape);
        tables->fixed[v].block()->flags = 0;
      } else {
        tables->fixed[v] = lay(new_tensor_on(backend, DType::kBool, Shape{}), nullptr, value);
      }
      for (std::int32_t u = first_user_[v]; u < first_user_[v + 1]; ++u) {
        tables->operands[at(users_[at(u)])] = TensorRef(tables->fixed[v].block());
      }
      continue;
    } else if (values_[v].place == Place::kArena) {
      auto* base = static_cast<std::byte*>(tables->arena.block()->data);
      tables->fixed[v] = lay(tables->arena, base + values_[v].offset, value);
    } else {
      continue;
    }
  }
  // Behind that, as views of constants have been made.
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const bool is_there = tables->fixed[v].has_value() && values_[v].place != Place::kView;
    if (is_there) set_operands(*tables, static_cast<Graph::Value>(v), tables->fixed[v].block());
  }
  for (std::size_t k = 0; k < step_outputs_.size(); ++k) {
    const Tensor& tensor = tables->fixed[at(step_outputs_[k])];
    if (tensor.has_value()) set_output(*tables, static_cast<std::int32_t>(k), tensor);
  }
  for (const Step& step : steps_) {
    if (step.renewed >= 0) {
      Attributes& own = tables->attributes.emplace_back();
      std::memcpy(own.bytes, step.node->attributes, sizeof(own.bytes));
    }
  }
  return tables;
}

void Program::set_views(Tables& tables, Graph::Value value, void* data) const {
  for (std::int32_t v = first_view_[at(value)]; v < first_view_[at(value) + 1]; ++v) {
    const Graph::Value view = views_[at(v)];
    std::byte* const part = static_cast<std::byte*>(data) + values_[at(view)].offset;
    tables.fixed[at(view)].block()->data = part;
    for (std::int32_t u = first_user_[at(view)]; u < first_user_[at(view) + 1]; ++u)
      tables.in[at(users_[at(u)])] = part;
  }
}

// Locked instructions are for processes that have threads.
Program::Tables* Program::take_spare() const {
  if (!detail::one_thread()) return spare_.exchange(nullptr, std::memory_order_acquire);
  Tables* const spare = spare_.load(std::memory_order_relaxed);
  spare_.store(nullptr, std::memory_order_relaxed);
  return spare;
}

void Program::keep_spare(std::unique_ptr<Tables> tables) const {
  Tables* none = nullptr;
  if (detail::one_thread()) {
    delete spare_.load(std::memory_order_relaxed);
    spare_.store(tables.release(), std::memory_order_relaxed);
  } else if (spare_.compare_exchange_strong(none, tables.get(), std::memory_order_release)) {
    static_cast<void>(tables.release());  // it is the spare now
  }
}

// The tables of a run, which go back to the program when it ends, without what it made.
class Program::Run {
 public:
  Run(const Program& program, Backend* backend) : program_(program) {
    tables_.reset(program.take_spare());
    if (tables_ == nullptr || tables_->backend != backend) tables_ = program.make_tables(backend);
  }
  ~Run() {
    for (const std::int32_t position : program_.passing_outputs_) tables_->outputs[at(position)] = {};
    program_.keep_spare(std::move(tables_));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Tables& tables() { return *tables_; }

 private:
  const Program& program_;
  std::unique_ptr<Tables> tables_;
};

void Program::run(std::span<Block* const> inputs, std::vector<Tensor>& outputs) const {
  check_interrupt();
  Backend* const backend = device_of(inputs, backend_ != nullptr ? backend_ : context.backend);
  Run run(*this, backend);
  Tables& tables = run.tables();
  const std::span<Block* const> given = inputs;
  std::vector<Tensor> copies;
  std::vector<Block*> there;
  if (backend != nullptr) [[unlikely]] {
    for (Block* const input : given) {
      // Only copies are held, so that a variable's buffer is nobody else's.
      if (backend_of(input) != backend) copies.push_back(copy_to(*backend, TensorRef(input)));
      there.push_back(backend_of(input) == backend ? input : copies.back().block());
    }
    inputs = there;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) set_operands(tables, graph_.input(i), inputs[i]);
  for (const Graph::Value value : own_outputs_) {
    const ValueState& state = values_[at(value)];
    Tensor tensor;
    if (state.place == Place::kInPlace && is_exclusive(inputs[at(state.variable)])) {
      tensor = share(inputs[at(state.variable)]);
    } else {
      const Graph::ValueInfo& info = graph_.values[at(value)];
      tensor = new_tensor_on(backend, info.dtype, info.shape);
    }
    set_operands(tables, value, tensor.block());
    set_output(tables, state.output, std::move(tensor));
  }
  run_all(tables);

  const auto block_of = [&](Graph::Value value) {
    const ValueState& state = values_[at(value)];
    if (state.place == Place::kInput) return inputs[at(state.variable)];
    return (state.output >= 0 ? tables.outputs[at(state.output)] : tables.fixed[at(value)]).block();
  };
  for (const Graph::Value result : graph_.results) {
    outputs.push_back(result == Graph::kNone ? Tensor() : share(block_of(result)));
  }
  for (std::size_t i = 0; i < graph_.captured.size(); ++i) {
    const Graph::Value written = graph_.captured[i].written;
    if (written == Graph::kNone) continue;
    Block* const value = block_of(written);
    const bool in_place = value == given[graph_.arguments.size() + i];
    outputs.push_back(in_place ? Tensor() : share(value));
  }
}

void Program::run_all(Tables& tables) const {
  const bool has_stages = !stages_.empty() && tables.backend == nullptr;
  if (active_profiler() != nullptr || has_stages) [[unlikely]]
    return run_steps(tables);
  for (const Step& step : steps_) run_step(step, tables);
}

void Program::run_step(const Step& step, Tables& tables) const {
  if (tables.backend != nullptr) [[unlikely]]
    return run_step_on_device(step, tables);
  if (step.border >= 0) write_borders(step, tables);
  const auto first_input = at(step.first_input);
  const auto first_output = at(step.first_output);
  if (step.group >= 0) {
    groups_[at(step.group)].run(tables.in.data() + first_input, tables.out.data() + first_output);
    return;
  }
  if (is_accompanied(step)) return run_accompanied(step, tables);
  const std::span<const TensorRef> operands(tables.operands.data() + first_input, at(step.inputs));
  const std::span<Tensor> outputs(tables.outputs.data() + first_output, at(step.outputs));
  const void* const attributes = attributes_of(step, tables);
  if (step.is_loop) {
    run_one_loop(*step.node, operands, outputs[0]);
    return;
  }
  const OpDef& op = *step.node->op;
  call_kernel({op, operands, op.attributes == nullptr ? nullptr : attributes}, outputs);
  finish_step(step, tables);
}

const void* Program::attributes_of(const Step& step, Tables& tables) {
  if (step.renewed < 0) return step.node->attributes;
  std::byte* const own = tables.attributes[at(step.renewed)].bytes;
  step.node->renew(own);
  return own;
}

void Program::finish_step(const Step& step, Tables& tables) const {
  if (step.makes_outputs) {
    for (std::size_t k = at(step.first_output); k < at(step.first_output + step.outputs); ++k)
      set_operands(tables, step_outputs_[k], tables.outputs[k].block());
  }
  for (const std::int32_t position : step.drop) tables.outputs[at(position)] = {};
}

[[gnu::cold]] void Program::run_profiled(const Step& step, Tables& tables) const {
  std::vector<Block*> inputs;
  const bool is_kernel = is_accompanied(step);
  const std::int32_t count = is_kernel ? static_cast<std::int32_t>(step.node->inputs.size()) : step.inputs;
  for (std::int32_t i = 0; i < count; ++i) inputs.push_back(tables.operands[at(step.first_input + i)].block());
  const bool is_loop = step.group >= 0;
  Span span(is_loop ? SpanKind::kLoop : SpanKind::kOp, name_of(step), inputs, is_loop ? nullptr : step.node->op);
  run_step(step, tables);
  const std::size_t outputs = is_kernel ? step.node->outputs.size() : at(step.outputs);
  span.close(std::span<const Tensor>(tables.outputs).subspan(at(step.first_output), outputs));
}

// As profiles name it: "add", "gradient(tanh)", "loop(multiply, add, tanh)", "matmul + loop(add, tanh)".
std::string Program::name_of(const Step& step) const {
  if (step.group >= 0) return name_of_group(step.node->group);
  const auto name_of_loop = [&](std::int32_t loop) {
    const Graph::Value inside = groups_[at(loop)].outputs()[0];
    const auto maker = std::find_if(graph_.nodes.begin(), graph_.nodes.end(),
                                    [&](const Graph::Node& node) { return is_among(node.outputs, inside); });
    return name_of_group(maker->group);
  };
  std::string name = name_of_node(*step.node);
  if (step.prologue >= 0) name = name_of_loop(step.prologue) + " + " + name;
  if (step.epilogue >= 0) name += " + " + name_of_loop(step.epilogue);
  if (step.sums != nullptr) name += " + " + name_of_node(*step.sums);
  return name;
}

std::string Program::name_of_group(Graph::Value group) const {
  constexpr int kNamed = 8;
  std::string name;
  int count = 0;
  for (const Graph::Node& node : graph_.nodes) {
    if (node.group == group && ++count <= kNamed) name += (name.empty() ? "" : ", ") + name_of_node(node);
  }
  if (count > kNamed) name += ", " + std::to_string(count - kNamed) + " more";
  return "loop(" + name + ")";
}

void Program::run_one_loop(const Graph::Node& node, std::span<const TensorRef> operands, const Tensor& output) {
  const LoopOfOp loop = *loop_of(node);
  Block* blocks[5] = {};
  std::size_t next = 0;
  DType dtype = output.dtype();
  for (int position = 0; position < 5; ++position) {
    if ((loop.positions >> position & 1) == 0) continue;
    blocks[position] = operands[next++].block();
    // A truth value has the loop of what it compares.
    if (dtype == DType::kBool) dtype = blocks[position]->dtype;
  }
  if (Backend* const backend = backend_of(output.block())) return backend->run_loop(loop, dtype, output, blocks);
  run_loop({function_of(loop, dtype), loop.parameters}, output.block(), blocks);
}

}  // namespace capstan
