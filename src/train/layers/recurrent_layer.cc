// A cell over time.
//
// A cell may have an op for all steps. For any other, inputs are put into the order [time, batch, ...], what all steps
// need of them is computed at once, and the steps are a loop over the first axis: one node in a traced function, whose
// body is traced once. Outside of one it simply runs.
#include "src/train/layers/recurrent_layer.h"

#include "capstan/control_flow.h"
#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/train/layer_state.h"
#include "src/train/remembered_lookup.h"

namespace capstan::detail {

namespace {

// A mask of [batch, 1] for tensors [batch, ...].
Tensor chosen(Tensor mask, const Tensor& yes, const Tensor& no) {
  while (mask.rank() < yes.rank()) mask = expand_dims(mask, -1);
  return where(mask, yes, no);
}

Tensor time_first(const Tensor& x) {
  std::vector<int> order = {1, 0};
  for (int i = 2; i < x.rank(); ++i) order.push_back(i);
  return transpose(x, order);
}

struct Sequence {
  Tensor inputs;  // [time, batch, ...], projected
  Tensor mask;    // bool[time, batch, 1], or empty
};

// The loop. What it carries are the states and, unless that is one of them, the output.
class Loop {
 public:
  Loop(const CellRun& cell, const RecurrentBody::Run& run, bool carries_output)
      : cell_(cell), run_(run), carries_output_(carries_output) {}

  // The output, of all steps or the last, and the states.
  CellStep operator()(const Sequence& sequence, std::vector<Tensor> begin) const {
    std::vector<Tensor> rows = {sequence.inputs};
    if (sequence.mask.has_value()) rows.push_back(sequence.mask);
    if (!inside_function() || run_.unroll) return by_hand(rows, std::move(begin));
    const auto step = [this](const std::vector<Tensor>& carried, const std::vector<Tensor>& row) {
      return next(carried, row);
    };
    if (!run_.return_sequences) {
      return finished(run_.go_backwards ? foldr(step, rows, std::move(begin)) : foldl(step, rows, std::move(begin)));
    }
    std::vector<Tensor> all = scan(step, rows, std::move(begin), {.reverse = run_.go_backwards});
    const std::size_t output = output_index(all.size());
    // Results are in the places of their rows.
    Tensor outputs = run_.go_backwards ? reverse(all[output], {0}) : all[output];
    for (Tensor& states : all) states = states[run_.go_backwards ? 0 : -1];
    CellStep result = finished(std::move(all));
    result.output = std::move(outputs);
    return result;
  }

 private:
  std::size_t output_index(std::size_t carried) const {
    return carries_output_ ? carried - 1 : static_cast<std::size_t>(cell_.output_state());
  }

  std::vector<Tensor> next(const std::vector<Tensor>& carried, const std::vector<Tensor>& row) const {
    const std::size_t count = carried.size() - (carries_output_ ? 1 : 0);
    CellStep now = cell_.step(row[0], std::span(carried).first(count));
    if (row.size() > 1) {
      for (std::size_t i = 0; i < count; ++i) now.states[i] = chosen(row[1], now.states[i], carried[i]);
      if (carries_output_) {
        now.output = chosen(row[1], now.output, run_.zero_output_for_mask ? zeros_like(now.output) : carried.back());
      }
    }
    if (carries_output_) now.states.push_back(std::move(now.output));
    return std::move(now.states);
  }

  CellStep finished(std::vector<Tensor> carried) const {
    CellStep result{carried[output_index(carried.size())], std::move(carried)};
    if (carries_output_) result.states.pop_back();
    return result;
  }

  CellStep by_hand(const std::vector<Tensor>& rows, std::vector<Tensor> carried) const {
    std::vector<std::vector<Tensor>> cut;
    for (const Tensor& tensor : rows) cut.push_back(unstack(tensor));
    std::vector<Tensor> outputs;
    const std::size_t count = cut[0].size(), output = output_index(carried.size());
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<Tensor> row;
      for (const std::vector<Tensor>& tensors : cut) row.push_back(tensors[run_.go_backwards ? count - 1 - i : i]);
      carried = next(carried, row);
      if (run_.return_sequences) outputs.push_back(carried[output]);
    }
    CellStep result = finished(std::move(carried));
    if (run_.return_sequences) result.output = stack(outputs, 0);
    return result;
  }

  const CellRun& cell_;
  const RecurrentBody::Run& run_;
  bool carries_output_;
};

// The lookup that gave the inputs of the steps, if the cell may project the table instead.
const Lookup* lookup_for(const CellRun& cell, const Tensor& x) {
  return cell.projects_rows() ? remembered_lookup(x) : nullptr;
}

// The steps of a cell that has an op for them. Its states stay where the mask leaves a step out, and so does its
// output, which is zeros before the first step that is taken.
CellStep at_once(const CellRun& cell, const RecurrentBody::Run& run, const Tensor& x, const Tensor& mask,
                 std::span<const Tensor> states) {
  const auto in_order = [&](const Tensor& t) { return run.go_backwards && t.has_value() ? reverse(t, {1}) : t; };
  const Tensor taken = in_order(mask);
  const Lookup* const lookup = lookup_for(cell, x);
  CellSequence all = lookup != nullptr ? cell.sequence_of_rows(cell.project(table_of(*lookup, x.dtype())),
                                                               in_order(lookup->ids), taken, states)
                                       : cell.sequence(cell.project_sequence(in_order(x)), taken, states);
  CellStep result{std::move(all.states), std::move(all.last)};
  if (mask.has_value()) {
    const Tensor shown = run.zero_output_for_mask ? taken : greater(cumsum(cast(taken, DType::kInt32), 1), 0);
    result.output = chosen(expand_dims(shown, -1), result.output, zeros_like(result.output));
  }
  if (!run.return_sequences) result.output = result.output(slice(), -1);
  return result;
}

// The shape of the input of a step.
Shape step_shape(const Shape& shape) {
  Shape step = {shape[0]};
  for (int i = 2; i < shape.rank(); ++i) step.push_back(shape[i]);
  return step;
}

}  // namespace

RecurrentBody* recurrent_body(const Layer& layer) {
  return layer.has_value() ? dynamic_cast<RecurrentBody*>(&LayerState::body_of(layer)) : nullptr;
}

void RecurrentBody::set_up_run(const Layer& cell, const Run& run) {
  cell_of(cell, class_info().name);
  cell_ = cell;
  run_ = run;
  LayerState::of(*this).takes_lookups = true;
  track({cell_});
}

void RecurrentBody::check_input(const Shape& shape) const {
  CAPSTAN_CHECK(shape.rank() >= 3, ShapeError, name(), ": the input must be [batch, time, features], not ", shape);
}

std::size_t RecurrentBody::state_count(const Shape& input_shape) const {
  return cell_of(cell_, name()).state_shapes(step_shape(input_shape)).size();
}

void RecurrentBody::build(const std::vector<Shape>& shapes) {
  CAPSTAN_CHECK(shapes.size() == 1, ValueError, name(), ": it takes one tensor, not ", shapes.size(),
                help("states are given as the option initial_state of the call"));
  check_input(shapes[0]);
  std::vector<Shape> of_step = {step_shape(shapes[0])};
  for (const Shape& state : cell_of(cell_, name()).state_shapes(of_step[0])) {
    Shape with_batch = {shapes[0][0]};
    for (const std::int64_t length : state) with_batch.push_back(length);
    of_step.push_back(with_batch);
  }
  // A cell that has no `build` is called on zeros of these shapes, for which it needs them in its own structure.
  if (dynamic_cast<RunnableCell*>(&LayerState::body_of(cell_)) != nullptr) cell_.build_all(of_step);
}

std::vector<Tensor> RecurrentBody::first_states(const Tensor& x, const Nest& given) {
  const std::vector<Shape> shapes = cell_of(cell_, name()).state_shapes(x.shape());
  std::vector<Tensor> states;
  if (given.has_value()) {
    for (const Tensor& state : states_of(given, shapes.size(), name())) states.push_back(cast(state, compute_dtype()));
  } else if (!kept_.empty()) {
    for (const Variable& state : kept_) states.push_back(value_of(state));
  } else {
    for (const Shape& shape : shapes) states.push_back(zero_state(x, shape));
  }
  for (std::size_t i = 0; i < states.size(); ++i) check_state(name(), i, states[i], shapes[i], x);
  return states;
}

void RecurrentBody::keep(const std::vector<Tensor>& states) {
  if (!run_.stateful) return;
  for (std::size_t i = kept_.size(); i < states.size(); ++i) {
    const CreateVariables create;
    kept_.emplace_back(zeros(states[i].shape(), dtype()), VariableOptions{.trainable = false, .name = "state"});
  }
  for (std::size_t i = 0; i < states.size(); ++i) kept_[i].assign(cast(states[i], dtype()));
}

void RecurrentBody::reset_state() {
  CAPSTAN_CHECK(run_.stateful, ValueError, name(), ": it keeps no states", help("make it with .stateful = true"));
  for (const Variable& state : kept_) state.assign(zeros(state.shape(), state.dtype()));
}

Nest RecurrentBody::call(const Nest& inputs, const CallOptions& options) {
  CAPSTAN_CHECK(inputs.is_tensor(), ValueError, name(), ": it takes one tensor, not ", inputs.form(),
                help("states are given as the option initial_state of the call"));
  const Tensor& x = inputs.tensor();
  check_input(x.shape());
  CAPSTAN_CHECK(x.dim(1) > 0, ShapeError, name(), ": there must be at least one step", arguments({{"x", x}}));
  std::vector<Index> first_step(static_cast<std::size_t>(x.rank()), slice());
  first_step[1] = 0;
  const Tensor one = getitem(x, first_step);
  const Tensor mask = options.mask.tensor_or_empty();
  if (mask.has_value()) {
    CAPSTAN_CHECK(mask.dtype() == DType::kBool, DTypeError, name(), ": the mask must be bool, not ", mask.dtype());
    CAPSTAN_CHECK(mask.shape() == Shape({x.dim(0), x.dim(1)}), ShapeError, name(), ": the mask must have shape ",
                  Shape({x.dim(0), x.dim(1)}), ", not ", mask.shape());
  }
  std::vector<Tensor> states = first_states(one, options.initial_state);
  const std::size_t count = states.size();
  // Its first call would make the weights inside of the loop.
  if (!cell_.is_built()) cell_({one, Nest(states)}, {.training = false});
  const std::unique_ptr<CellRun> cell = begin_cell(cell_, one, states, options.training);
  CellStep result;
  if (cell->runs_sequences() && !run_.unroll) {
    result = at_once(*cell, run_, x, mask, states);
  } else {
    const bool carries_output = cell->output_state() < 0 || mask.has_value();
    if (carries_output) states.push_back(zero_state(one, cell_of(cell_, name()).output_shape(one.shape())));
    const Lookup* const lookup = lookup_for(*cell, x);
    Sequence sequence{lookup != nullptr ? gather(cell->project(table_of(*lookup, x.dtype())), transpose(lookup->ids))
                                        : cell->project(time_first(x)),
                      {}};
    if (mask.has_value()) sequence.mask = expand_dims(transpose(mask), -1);
    result = Loop(*cell, run_, carries_output)(sequence, std::move(states));
    if (run_.return_sequences) result.output = time_first(result.output);
  }
  keep(result.states);
  const Tensor& output = result.output;
  if (!run_.return_state) return output;
  std::vector<Tensor> all = {output};
  for (std::size_t i = 0; i < count; ++i) {
    // A state may be the output itself; masks and tapes tell tensors apart.
    all.push_back(result.states[i].block() == output.block() ? identity(result.states[i]) : result.states[i]);
  }
  return Nest(all);
}

Nest RecurrentBody::compute_mask(const Nest&, const Nest& mask) {
  return run_.return_sequences && mask.is_tensor() ? mask : Nest();
}

}  // namespace capstan::detail
