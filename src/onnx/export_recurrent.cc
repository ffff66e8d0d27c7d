// Long short-term memories and gated recurrent units.
//
// The ops take what the inputs give for the gates of all steps, x w + b, and ONNX's operators take x and w. So w and b
// are looked for in what makes that sum; if there are none, the sums themselves are x, and w is the matrix that puts
// the gates into ONNX's order. A mask, which leaves out any steps, and cells of all steps are not among ONNX's
// operators: then the steps are a Scan over the library's own formulas.
#include <numeric>
#include <string>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"

#include "src/onnx/export.h"

namespace capstan::onnx {
namespace {

// Columns of the last axis, a block of `units` for each gate, in another order.
Tensor in_order(const Tensor& x, const std::vector<int>& gates, std::int64_t units) {
  std::vector<std::int64_t> columns;
  for (const int gate : gates) {
    for (std::int64_t i = 0; i < units; ++i) columns.push_back(gate * units + i);
  }
  return gather(x, constant(columns, {static_cast<std::int64_t>(columns.size())}), -1);
}

// What an operator of ONNX is given for the inputs.
struct Inputs {
  std::string x;  // [batch, steps, features]
  std::string w;  // [1, gates units, features]
  Tensor bias;    // [gates units], in ONNX's order; empty: none
};

Inputs inputs_of(const OpCall& c, const std::vector<int>& gates, std::int64_t units) {
  const auto weights = [&](const OpCall& product) -> std::optional<Inputs> {
    const Tensor* const w = product.known(1);
    if (w == nullptr || w->rank() != 2 || product.rank(0) != 3 || product.truth("transpose_a") ||
        product.truth("transpose_b"))
      return std::nullopt;
    const Tensor turned = expand_dims(transpose(in_order(*w, gates, units)), 0);
    return Inputs{product.in(0), product.changed(1, turned), {}};
  };
  if (const auto product = c.maker_of(0, "matmul")) {
    if (auto found = weights(*product)) return *found;
  }
  if (const auto sum = c.maker_of(0, "add")) {
    const auto product = sum->maker_of(0, "matmul");
    const Tensor* const bias = sum->known(1);
    if (product && bias != nullptr && bias->rank() == 1) {
      if (auto found = weights(*product)) {
        found->bias = in_order(*bias, gates, units);
        return *found;
      }
    }
  }
  const auto width = static_cast<std::int64_t>(gates.size()) * units;
  const Tensor places = eye(width, {}, c.dtype(0));
  return {c.in(0), c.tensor(expand_dims(transpose(in_order(places, gates, units)), 0), "order"), {}};
}

bool has_mask(const OpCall& c) {
  const std::size_t last = c.input_count() - 1;
  return !(c.dtype(last) == DType::kBool && c.rank(last) == 2 && c.shape(last)[0] == 0 && c.shape(last)[1] == 0);
}

// Recurrent weights [units, gates units] and a bias of theirs as ONNX has them.
std::string recurrent_weights(const OpCall& c, std::size_t i, const std::vector<int>& gates, std::int64_t units) {
  const Tensor* const known = c.known(i);
  if (known == nullptr) c.refuse("its recurrent kernel is computed from the inputs");
  return c.changed(i, expand_dims(transpose(in_order(*known, gates, units)), 0));
}
std::string biases(const OpCall& c, const Tensor& of_inputs, const Tensor& of_states, std::int64_t width) {
  if (!of_inputs.has_value() && !of_states.has_value()) return "";
  const Tensor none = zeros({width}, c.dtype(0));
  const Tensor both = concat({of_inputs.has_value() ? of_inputs : none, of_states.has_value() ? of_states : none}, 0);
  return c.tensor(expand_dims(both, 0), "bias");
}

// Whether all that reads an output takes its last step.
bool takes_last(const OpCall& c, std::size_t output) {
  if (!c.is_used(output)) return true;
  for (const OpCall& reader : c.readers_of(output)) {
    if (reader.op() != "getitem" || reader.value("index").to_string() != "[[none, none, none], -1]") return false;
  }
  return true;
}

// Of a sequence [batch, steps, units] or of states [batch, units].
std::string steps_first(const OpCall& c, const std::string& x) { return c.transposed(x, {1, 0, 2}); }

// The states as a sequence of which the last step is the one that there is.
std::string as_last(const OpCall& c, const std::string& state) { return steps_first(c, state); }

// --- A Scan ---

// The body of a Scan: nodes whose names nothing outside has.
class Body {
 public:
  explicit Body(const OpCall& call) : call_(call) {}

  std::string add(std::string_view op, std::vector<std::string> inputs, std::vector<Attribute> attributes = {}) {
    return add_several(op, std::move(inputs), std::move(attributes), 1)[0];
  }
  std::vector<std::string> add_several(std::string_view op, std::vector<std::string> inputs,
                                       std::vector<Attribute> attributes, std::size_t outputs) {
    NodeProto node{.op = std::string(op), .inputs = std::move(inputs), .attributes = std::move(attributes)};
    for (std::size_t i = 0; i < outputs; ++i) node.outputs.push_back(call_.unused_name());
    node.name = node.outputs[0];
    graph.nodes.push_back(node);
    return node.outputs;
  }
  std::string input(DType dtype) {
    graph.inputs.push_back({.name = call_.unused_name(), .type = type_number(dtype), .shape = {}});
    return graph.inputs.back().name;
  }
  void output(const std::string& name, DType dtype) {
    const std::string own = add("Identity", {name});
    graph.outputs.push_back({.name = own, .type = type_number(dtype), .shape = {}});
  }
  // Equal parts along the last axis.
  std::vector<std::string> parts(const std::string& x, std::size_t count) {
    return add_several("Split", {x}, {attribute("axis", -1), attribute("num_outputs", static_cast<int>(count))}, count);
  }

  GraphProto graph;

 private:
  const OpCall& call_;
};

// Runs a body over the steps: it takes the states, what there is of a step and the step's mask, and gives the next
// states, each of which is an output for all steps.
std::vector<std::string> scanned(const OpCall& c, Body& body, const std::vector<std::string>& states,
                                 const std::vector<std::string>& sequences, std::size_t outputs) {
  std::vector<std::string> inputs = states;
  inputs.insert(inputs.end(), sequences.begin(), sequences.end());
  const std::vector<std::int64_t> axes(sequences.size(), 1), out_axes(outputs, 1);
  body.graph.name = "step";
  std::vector<std::string> results =
      c.nodes("Scan", inputs,
              {attribute("body", std::move(body.graph)),
               attribute("num_scan_inputs", static_cast<std::int64_t>(sequences.size())),
               attribute("scan_input_axes", axes), attribute("scan_output_axes", out_axes)},
              states.size() + outputs);
  return {results.begin() + static_cast<std::ptrdiff_t>(states.size()), results.end()};
}

// The mask of a step as a column, and a choice by it.
std::string chosen(Body& body, const std::string& taken, const std::string& next, const std::string& before) {
  return taken.empty() ? next : body.add("Where", {taken, next, before});
}

// Of what the ops take: states, sums of all steps, perhaps a mask. `step` gives the next states.
template <class Step>
std::vector<std::string> scan_steps(const OpCall& c, const std::vector<std::string>& states, const Step& step) {
  Body body(c);
  const DType dtype = c.dtype(0);
  std::vector<std::string> before, sequences = {c.in(0)};
  for (std::size_t i = 0; i < states.size(); ++i) before.push_back(body.input(dtype));
  const std::string sums = body.input(dtype);
  std::string taken;
  if (has_mask(c)) {
    const std::size_t mask = c.input_count() - 1;
    sequences.push_back(c.unsqueezed(c.in(mask), {2}));
    taken = body.input(DType::kBool);
  }
  std::vector<std::string> next = step(body, sums, before);
  for (std::size_t i = 0; i < next.size(); ++i) next[i] = chosen(body, taken, next[i], before[i]);
  for (int times = 0; times < 2; ++times) {
    for (const std::string& state : next) body.output(state, dtype);
  }
  return scanned(c, body, states, sequences, states.size());
}

// --- LSTM ---

void scan_lstm(OpCall& c) {
  const std::string kernel = c.in(1);
  const auto step = [&](Body& body, const std::string& z, const std::vector<std::string>& before) {
    const auto gates = body.parts(body.add("Add", {z, body.add("MatMul", {before[0], kernel})}), 4);
    const auto sigmoid = [&](std::size_t i) { return body.add("Sigmoid", {gates[i]}); };
    const std::string kept = body.add("Mul", {sigmoid(1), before[1]});
    const std::string cell = body.add("Add", {kept, body.add("Mul", {sigmoid(0), body.add("Tanh", {gates[2]})})});
    return std::vector<std::string>{body.add("Mul", {sigmoid(3), body.add("Tanh", {cell})}), cell};
  };
  const std::vector<std::string> all = scan_steps(c, {c.in(2), c.in(3)}, step);
  c.give("");
  c.give(all[1]);
  c.give(all[0]);
}

void write_lstm(OpCall& c) {
  if (c.is_used(0)) c.refuse("its gates are read, which only gradients do");
  if (has_mask(c) || !takes_last(c, 1)) return scan_lstm(c);
  const std::int64_t units = c.shape(2)[1];
  const std::vector<int> order = {0, 3, 1, 2};  // ONNX has input, output, forget, cell
  const Inputs inputs = inputs_of(c, order, units);
  const std::string r = recurrent_weights(c, 1, order, units);
  const std::string b = biases(c, inputs.bias, {}, 4 * units);
  const std::vector<std::string> y = c.nodes(
      "LSTM", {steps_first(c, inputs.x), inputs.w, r, b, "", c.unsqueezed(c.in(2), {0}), c.unsqueezed(c.in(3), {0})},
      {attribute("hidden_size", units)}, 3);
  c.give("");
  c.give(c.is_used(1) ? as_last(c, y[2]) : "");
  // [steps, 1, batch, units]
  c.give(steps_first(c, c.squeezed(y[0], {1})));
}

// --- GRU ---

void scan_gru(OpCall& c) {
  const std::string kernel = c.in(1), bias = c.in(2);
  const std::string one = c.scalar(1);
  const auto step = [&](Body& body, const std::string& x, const std::vector<std::string>& before) {
    const auto given = body.parts(x, 3);
    const auto sums = body.parts(body.add("Add", {body.add("MatMul", {before[0], kernel}), bias}), 3);
    const auto sigmoid = [&](std::size_t i) { return body.add("Sigmoid", {body.add("Add", {given[i], sums[i]})}); };
    const std::string update = sigmoid(0), reset = sigmoid(1);
    const std::string candidate = body.add("Tanh", {body.add("Add", {given[2], body.add("Mul", {reset, sums[2]})})});
    const std::string kept = body.add("Mul", {update, before[0]});
    const std::string added = body.add("Mul", {body.add("Sub", {one, update}), candidate});
    return std::vector<std::string>{body.add("Add", {kept, added})};
  };
  const std::vector<std::string> all = scan_steps(c, {c.in(3)}, step);
  c.give("");
  c.give(all[0]);
}

void write_gru(OpCall& c) {
  if (c.is_used(0)) c.refuse("its gates are read, which only gradients do");
  const Tensor* const bias = c.known(2);
  if (has_mask(c) || bias == nullptr) return scan_gru(c);
  const std::int64_t units = c.shape(3)[1];
  const std::vector<int> order = {0, 1, 2};  // update, reset, candidate, as here
  const Inputs inputs = inputs_of(c, order, units);
  const std::string r = recurrent_weights(c, 1, order, units);
  const std::string b = biases(c, inputs.bias, *bias, 3 * units);
  const std::vector<std::string> y =
      c.nodes("GRU", {steps_first(c, inputs.x), inputs.w, r, b, "", c.unsqueezed(c.in(3), {0})},
              {attribute("hidden_size", units), attribute("linear_before_reset", 1)}, 2);
  c.give("");
  c.give(steps_first(c, c.squeezed(y[0], {1})));
}

constexpr ExportRow kRecurrentRows[] = {
    {"gru", write_gru},
    {"lstm", write_lstm},
};

}  // namespace

std::span<const ExportRow> recurrent_rows() { return kRecurrentRows; }

}  // namespace capstan::onnx
