// Any cell, run over a sequence.
#include "src/train/layers/cell.h"

#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/ops/math.h"
#include "capstan/ops/random.h"
#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/key_log.h"
#include "src/train/layer_state.h"

namespace capstan {

layers::CellBody::~CellBody() = default;

Shape layers::CellBody::output_shape(const Shape& input_shape) const {
  const std::vector<Shape> shapes = state_shapes(input_shape);
  CAPSTAN_CHECK(!shapes.empty(), ValueError, name(), ": a cell without states must override output_shape()");
  return shapes[0];
}

namespace detail {

CellRun::~CellRun() = default;

CellSequence CellRun::sequence_of_rows(const Tensor& table, const Tensor& ids, const Tensor& mask,
                                       std::span<const Tensor> states) const {
  return sequence(gather(table, ids), mask, states);
}

SequenceDropout::SequenceDropout(LayerBase& layer, Seed seed)
    : seed_(seed), key_(std::make_shared<std::uint64_t>(seed ? 0 : key_of_object())) {
  LayerState::of(layer).keys.push_back(key_);
}

Tensor SequenceDropout::mask(const Tensor& like, double rate) const {
  if (rate == 1) return zeros_like(like);
  const auto seeds = [key = key_, seed = seed_]() -> std::array<std::int64_t, 2> {
    // The golden ratio's bits visit every 64-bit key once.
    const std::uint64_t next = logged_key(context.keys, [&] { return seed ? (*key)++ : *key += 0x9e3779b97f4a7c15u; });
    if (!seed) return {static_cast<std::int64_t>(next), 0};
    return {static_cast<std::int64_t>(*seed), static_cast<std::int64_t>(next)};
  };
  return host_dropout_mask(like, seeds, {.rate = rate, .stateless = seed_.has_value()});
}

namespace {

// A cell of the program, called as a layer in each step.
class CalledCell final : public CellRun {
 public:
  CalledCell(const Layer& cell, bool training) : cell_(cell), training_(training) {}
  Tensor project(const Tensor& x) const override { return x; }
  CellStep step(const Tensor& x, std::span<const Tensor> states) const override {
    const Nest result = cell_({x, Nest(std::vector<Tensor>(states.begin(), states.end()))}, {.training = training_});
    CAPSTAN_CHECK(result.is_list() && result.size() == 2, ValueError, cell_.name(),
                  ": a cell must give an output and a list of states, not ", result.form(),
                  help("return {output, {state, ...}}"));
    return {result[0].tensor(), states_of(result[1], states.size(), cell_.name())};
  }
  int output_state() const override { return -1; }

 private:
  Layer cell_;
  bool training_;
};

}  // namespace

layers::CellBody& cell_of(const Layer& layer, std::string_view owner) {
  CAPSTAN_CHECK(layer.has_value(), ValueError, owner, ": the cell is an empty handle");
  auto* const cell = dynamic_cast<layers::CellBody*>(&LayerState::body_of(layer));
  CAPSTAN_CHECK(cell != nullptr, ValueError, owner, ": a cell has states, which \"", layer.name(), "\" of class ",
                layer.type_name(), " does not", help("derive a cell of your own from layers::CellBody"));
  return *cell;
}

std::unique_ptr<CellRun> begin_cell(const Layer& cell, const Tensor& x, std::span<const Tensor> states, bool training) {
  if (auto* const runnable = dynamic_cast<RunnableCell*>(&LayerState::body_of(cell))) {
    return runnable->begin(x, states, training);
  }
  return std::make_unique<CalledCell>(cell, training);
}

std::vector<Tensor> states_of(const Nest& states, std::size_t count, std::string_view owner) {
  std::vector<Tensor> tensors = states.tensors();
  CAPSTAN_CHECK(tensors.size() == count, ValueError, owner, ": there must be ", count, " states, not ", tensors.size());
  return tensors;
}

Tensor zero_state(const Tensor& x, const Shape& shape) {
  // A number for each row of the batch, which broadcasts.
  const std::vector<Index> first(static_cast<std::size_t>(x.rank() - 1), slice(0, 1));
  std::vector<Index> indices = {slice()};
  indices.insert(indices.end(), first.begin(), first.end());
  Tensor rows = zeros_like(getitem(x, indices));
  Shape open = {-1};
  for (int i = 0; i < shape.rank(); ++i) open.push_back(1);
  return reshape(rows, open) + zeros(shape, x.dtype());
}

void check_state(std::string_view owner, std::size_t number, const Tensor& state, const Shape& shape, const Tensor& x) {
  Shape due = {x.dim(0)};
  for (const std::int64_t length : shape) due.push_back(length);
  CAPSTAN_CHECK(state.shape() == due, ShapeError, owner, ": state ", number, " must have shape ", due, ", not ",
                state.shape());
}

Nest RunnableCell::call(const Nest& inputs, const CallOptions& options) {
  CAPSTAN_CHECK(inputs.is_list() && inputs.size() == 2, ValueError, name(),
                ": a cell takes an input and a list of states, not ", inputs.form(),
                help("write cell({x, {state, ...}})"));
  const Tensor& x = inputs[0].tensor();
  const std::vector<Shape> shapes = state_shapes(x.shape());
  const std::vector<Tensor> states = states_of(inputs[1], shapes.size(), name());
  for (std::size_t i = 0; i < states.size(); ++i) check_state(name(), i, states[i], shapes[i], x);
  const std::unique_ptr<CellRun> run = begin(x, states, options.training);
  CellStep result = run->step(run->project(x), states);
  return {std::move(result.output), Nest(result.states)};
}

}  // namespace detail
}  // namespace capstan
