#include "src/graph/repeated.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/graph/tables.h"

namespace capstan {

using detail::Block;

Program::Repeated::Repeated(const Program& program) : program_(program) {
  tables_.reset(program.take_spare());
  if (tables_ == nullptr || tables_->backend != nullptr) tables_ = program.make_tables(nullptr);
  const Graph& graph = program.plan_.graph;
  inputs_.resize(graph.input_count());
  std::vector<bool> is_taken(graph.values.size());
  const auto add = [&](Graph::Value value) {
    const ValueState& state = program.plan_.values[at(value)];
    const bool own = state.place == Place::kOutput || state.place == Place::kInPlace;
    results_.push_back({value, !own || is_taken[at(value)]});
    copies_ = copies_ || results_.back().is_copied;
    is_taken[at(value)] = true;
  };
  for (const Graph::Value result : graph.results) add(result);
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written != Graph::kNone) add(captured.written);
  }
  outputs_.resize(results_.size());
  // What leaves the run by way of a view alone has no place of the caller's.
  for (const Graph::Value value : program.plan_.own_outputs) {
    if (is_taken[at(value)]) continue;
    const Graph::ValueInfo& info = graph.values[at(value)];
    Tensor tensor = new_tensor(info.dtype, info.shape);
    program.set_operands(*tables_, value, tensor.block());
    program.set_output(*tables_, program.plan_.values[at(value)].output, std::move(tensor));
  }
}

Program::Repeated::~Repeated() {
  for (const std::int32_t position : program_.plan_.passing_outputs) tables_->outputs[at(position)] = {};
  program_.keep_spare(std::move(tables_));
}

void Program::Repeated::StandIn::move(const Graph::ValueInfo& info, void* data, Block* owner) {
  if ((owner->flags.load(std::memory_order_relaxed) & Block::kView) != 0) owner = owner->owner;
  if (!is_own) {
    is_own = true;
    tensor = symbolic(info.dtype, info.shape);
    tensor.block()->flags = Block::kView;
    tensor.block()->owner = owner;
    detail::retain(owner);
  }
  Block* const block = tensor.block();
  block->data = data;
  if (block->owner == owner) return;
  detail::retain(owner);
  detail::release(std::exchange(block->owner, owner));
}

void Program::Repeated::move_operands(Graph::Value value, void* data) {
  const Program& program = program_;
  for (std::int32_t u = program.plan_.first_user[at(value)]; u < program.plan_.first_user[at(value) + 1]; ++u) {
    tables_->in[at(program.plan_.users[at(u)])] = data;
  }
  for (std::int32_t v = program.plan_.first_view[at(value)]; v < program.plan_.first_view[at(value) + 1]; ++v) {
    const Graph::Value view = program.plan_.views[at(v)];
    std::byte* const begin = static_cast<std::byte*>(data) + program.plan_.values[at(view)].offset;
    tables_->fixed[at(view)].block()->data = begin;
    for (std::int32_t u = program.plan_.first_user[at(view)]; u < program.plan_.first_user[at(view) + 1]; ++u) {
      tables_->in[at(program.plan_.users[at(u)])] = begin;
    }
  }
}

void Program::Repeated::set_input(std::size_t i, Block* block) {
  program_.set_operands(*tables_, program_.plan_.graph.input(i), block);
  inputs_[i] = {share(block)};
}

void Program::Repeated::set_input(std::size_t i, void* data, Block* owner) {
  const Graph::Value value = program_.plan_.graph.input(i);
  StandIn& input = inputs_[i];
  const bool is_known = input.is_own;
  input.move(program_.plan_.graph.values[at(value)], data, owner);
  if (is_known) return move_operands(value, data);
  program_.set_operands(*tables_, value, input.tensor.block());
}

void Program::Repeated::set_result(std::size_t r, void* data, Block* owner) {
  Result& result = results_[r];
  result.data = data;
  if (result.is_copied) return;
  const ValueState& state = program_.plan_.values[at(result.value)];
  StandIn& output = outputs_[r];
  const bool is_known = output.is_own;
  output.move(program_.plan_.graph.values[at(result.value)], data, owner);
  if (is_known) {
    tables_->out[at(state.output)] = data;
    return move_operands(result.value, data);
  }
  program_.set_operands(*tables_, result.value, output.tensor.block());
  program_.set_output(*tables_, state.output, output.tensor);
}

bool Program::Repeated::reads(std::size_t i) const {
  const Graph::Value value = program_.plan_.graph.input(i);
  const auto is_value = [&](const Result& result) { return result.value == value; };
  return program_.plan_.first_user[at(value)] != program_.plan_.first_user[at(value) + 1] ||
         program_.plan_.first_view[at(value)] != program_.plan_.first_view[at(value) + 1] ||
         std::any_of(results_.begin(), results_.end(), is_value);
}

void Program::Repeated::run() {
  program_.run_all(*tables_);
  if (copies_) copy_results();
}

void Program::Repeated::copy_results() const {
  for (const Result& result : results_) {
    if (!result.is_copied || result.data == nullptr) continue;
    const ValueState& state = program_.plan_.values[at(result.value)];
    const Tensor& made = state.place == Place::kInput ? inputs_[at(state.variable)].tensor
                         : state.output >= 0          ? tables_->outputs[at(state.output)]
                                                      : tables_->fixed[at(result.value)];
    const std::size_t bytes = at(made.size()) * size_of(made.dtype());
    if (bytes > 0) std::memcpy(result.data, made.raw_data(), bytes);
  }
}

}  // namespace capstan
