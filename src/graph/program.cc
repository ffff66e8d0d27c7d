// How a run goes; how it is prepared is in compile.cc.
#include "src/graph/program.h"

#include <algorithm>
#include <array>
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

}  // namespace

Program::~Program() { delete spare_.load(std::memory_order_acquire); }

// A tensor of the arena, or one that lies somewhere else.
Tensor Program::lay(const Tensor& owner, void* data, Graph::Value value) const {
  const Graph::ValueInfo& info = plan_.graph.values[at(value)];
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
  tables->operands.resize(plan_.step_inputs.size());
  tables->in.resize(plan_.step_inputs.size());
  tables->outputs.resize(plan_.step_outputs.size());
  tables->out.resize(plan_.step_outputs.size());
  tables->fixed.resize(plan_.graph.values.size());
  if (plan_.arena_bytes > 0) {
    tables->arena =
        new_tensor_on(backend, DType::kFloat64, {static_cast<std::int64_t>(plan_.arena_bytes / sizeof(double))});
  }
  for (std::size_t v = 0; v < plan_.values.size(); ++v) {
    const auto value = static_cast<Graph::Value>(v);
    if (plan_.values[v].place == Place::kConstant) {
      const Tensor& constant = plan_.graph.values[v].constant;
      tables->fixed[v] = backend == nullptr ? constant : copy_to(*backend, constant);
    } else if (plan_.values[v].place == Place::kPassing) {
      // An address that stands for it.
      tables->fixed[v] = symbolic(plan_.graph.values[v].dtype, plan_.graph.values[v].shape);
      Block* const block = tables->fixed[v].block();
      block->data = block->inline_data;
    } else if (plan_.values[v].place == Place::kView) {
      // Set when the place of the whole is known. Nobody but kernels sees it, so it need not keep that.
      if (backend == nullptr) {
        tables->fixed[v] = symbolic(plan_.graph.values[v].dtype, plan_.graph.values[v].shape);
        tables->fixed[v].block()->flags = 0;
      } else {
        tables->fixed[v] = lay(new_tensor_on(backend, DType::kBool, Shape{}), nullptr, value);
      }
      for (std::int32_t u = plan_.first_user[v]; u < plan_.first_user[v + 1]; ++u) {
        tables->operands[at(plan_.users[at(u)])] = TensorRef(tables->fixed[v].block());
      }
      continue;
    } else if (plan_.values[v].place == Place::kArena) {
      auto* base = static_cast<std::byte*>(tables->arena.block()->data);
      tables->fixed[v] = lay(tables->arena, base + plan_.values[v].offset, value);
    } else {
      continue;
    }
  }
  // After that, as views of constants have been made.
  for (std::size_t v = 0; v < plan_.values.size(); ++v) {
    const bool is_there = tables->fixed[v].has_value() && plan_.values[v].place != Place::kView;
    if (is_there) set_operands(*tables, static_cast<Graph::Value>(v), tables->fixed[v].block());
  }
  for (std::size_t k = 0; k < plan_.step_outputs.size(); ++k) {
    const Tensor& tensor = tables->fixed[at(plan_.step_outputs[k])];
    if (tensor.has_value()) set_output(*tables, static_cast<std::int32_t>(k), tensor);
  }
  for (const Step& step : plan_.steps) {
    if (step.renewed >= 0) {
      Attributes& own = tables->attributes.emplace_back();
      std::memcpy(own.bytes, step.node->attributes, sizeof(own.bytes));
    }
  }
  return tables;
}

void Program::set_views(Tables& tables, Graph::Value value, void* data) const {
  for (std::int32_t v = plan_.first_view[at(value)]; v < plan_.first_view[at(value) + 1]; ++v) {
    const Graph::Value view = plan_.views[at(v)];
    std::byte* const part = static_cast<std::byte*>(data) + plan_.values[at(view)].offset;
    tables.fixed[at(view)].block()->data = part;
    for (std::int32_t u = plan_.first_user[at(view)]; u < plan_.first_user[at(view) + 1]; ++u)
      tables.in[at(plan_.users[at(u)])] = part;
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
    for (const std::int32_t position : program_.plan_.passing_outputs) tables_->outputs[at(position)] = {};
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
  for (std::size_t i = 0; i < inputs.size(); ++i) set_operands(tables, plan_.graph.input(i), inputs[i]);
  for (const Graph::Value value : plan_.own_outputs) {
    const ValueState& state = plan_.values[at(value)];
    Tensor tensor;
    if (state.place == Place::kInPlace && is_exclusive(inputs[at(state.variable)])) {
      tensor = share(inputs[at(state.variable)]);
    } else {
      const Graph::ValueInfo& info = plan_.graph.values[at(value)];
      tensor = new_tensor_on(backend, info.dtype, info.shape);
    }
    set_operands(tables, value, tensor.block());
    set_output(tables, state.output, std::move(tensor));
  }
  run_all(tables);

  const auto block_of = [&](Graph::Value value) {
    const ValueState& state = plan_.values[at(value)];
    if (state.place == Place::kInput) return inputs[at(state.variable)];
    return (state.output >= 0 ? tables.outputs[at(state.output)] : tables.fixed[at(value)]).block();
  };
  for (const Graph::Value result : plan_.graph.results) {
    outputs.push_back(result == Graph::kNone ? Tensor() : share(block_of(result)));
  }
  for (std::size_t i = 0; i < plan_.graph.captured.size(); ++i) {
    const Graph::Value written = plan_.graph.captured[i].written;
    if (written == Graph::kNone) continue;
    Block* const value = block_of(written);
    const bool in_place = value == given[plan_.graph.arguments.size() + i];
    outputs.push_back(in_place ? Tensor() : share(value));
  }
}

void Program::run_all(Tables& tables) const {
  const bool has_stages = !plan_.stages.empty() && tables.backend == nullptr;
  if (active_profiler() != nullptr || has_stages) [[unlikely]]
    return run_steps(tables);
  for (const Step& step : plan_.steps) run_step(step, tables);
}

void Program::run_step(const Step& step, Tables& tables) const {
  if (tables.backend != nullptr) [[unlikely]]
    return run_step_on_device(step, tables);
  if (step.border >= 0) write_borders(step, tables);
  const auto first_input = at(step.first_input);
  const auto first_output = at(step.first_output);
  if (step.group >= 0) {
    plan_.groups[at(step.group)].run(tables.in.data() + first_input, tables.out.data() + first_output);
    return;
  }
  if (step.is_accompanied()) return run_accompanied(step, tables);
  const std::span<const TensorRef> operands(tables.operands.data() + first_input, at(step.inputs));
  const std::span<Tensor> outputs(tables.outputs.data() + first_output, at(step.outputs));
  const void* const attributes = attributes_of(step, tables);
  if (step.is_loop) {
    run_one_loop(*step.node, operands, outputs[0]);
    return;
  }
  const OpDef& op = *step.node->op;
  call_kernel({op, operands, op.attributes == nullptr ? nullptr : attributes, step.node->geometry.data()}, outputs);
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
      set_operands(tables, plan_.step_outputs[k], tables.outputs[k].block());
  }
  for (const std::int32_t position : step.drop) tables.outputs[at(position)] = {};
}

[[gnu::cold]] void Program::run_profiled(const Step& step, Tables& tables) const {
  std::vector<Block*> inputs;
  const bool is_kernel = step.is_accompanied();
  const std::int32_t count = is_kernel ? static_cast<std::int32_t>(step.node->inputs.size()) : step.inputs;
  for (std::int32_t i = 0; i < count; ++i) inputs.push_back(tables.operands[at(step.first_input + i)].block());
  const bool is_loop = step.group >= 0;
  Span span(is_loop ? SpanKind::kLoop : SpanKind::kOp, name_of(plan_, step), inputs, is_loop ? nullptr : step.node->op);
  run_step(step, tables);
  const std::size_t outputs = is_kernel ? step.node->outputs.size() : at(step.outputs);
  span.close(std::span<const Tensor>(tables.outputs).subspan(at(step.first_output), outputs));
}

void Program::run_one_loop(const Graph::Node& node, std::span<const TensorRef> operands, const Tensor& output) {
  const LoopOfOp loop = *loop_of(node);
  std::array<Block*, 5> blocks = {};
  std::size_t next = 0;
  DType dtype = output.dtype();
  for (std::size_t position = 0; position < blocks.size(); ++position) {
    if ((loop.positions >> position & 1) == 0) continue;
    blocks[position] = operands[next++].block();
    // A truth value has the loop of what it compares.
    if (dtype == DType::kBool) dtype = blocks[position]->dtype;
  }
  if (Backend* const backend = backend_of(output.block())) return backend->run_loop(loop, dtype, output, blocks);
  run_loop({function_of(loop, dtype), loop.parameters}, output.block(), blocks);
}

}  // namespace capstan
