#include "src/graph/control.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/core/apply.h"
#include "src/core/allocator.h"
#include "src/core/backend.h"
#include "src/core/context.h"
#include "src/graph/gradient_paths.h"
#include "src/graph/known.h"
#include "src/graph/program.h"
#include "src/graph/shapes.h"

namespace capstan {

constinit const AttributeType kControlAttributes = {
    sizeof(ControlAttributes), [](void* attributes) { new (attributes) ControlAttributes{nullptr}; }, {}, 0};

AttributeValue list_of(const std::vector<std::size_t>& numbers) {
  std::vector<AttributeValue> list;
  for (const std::size_t number : numbers) list.emplace_back(static_cast<std::int64_t>(number));
  return list;
}

AttributeValue form_with(std::initializer_list<std::pair<const char*, AttributeValue>> items) {
  AttributeValue form = AttributeValue::map();
  for (const auto& [key, value] : items) form.set(key, value);
  return form;
}

const Control* control_of(const OpDef& op, const void* attributes) {
  return op.attributes == &kControlAttributes ? static_cast<const ControlAttributes*>(attributes)->control : nullptr;
}

bool Subgraph::has_effects() const {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Graph::Node& node) { return node.has_effect(); });
}

LazyProgram::LazyProgram() = default;
LazyProgram::~LazyProgram() = default;

const Program& LazyProgram::of(const Graph& graph) {
  made_.run([&] {
    Graph bound = graph;
    bind_known(bound);
    program_ = std::make_unique<const Program>(std::move(bound));
  });
  return *program_;
}

bool Subgraph::has_lengths_of(const std::vector<Tensor>& slots) const {
  for (std::size_t i = 0; i < graph.arguments.size(); ++i) {
    const Shape& length = graph.values[static_cast<std::size_t>(graph.arguments[i])].shape;
    if (TensorRef(slots[from[i]].block()).shape() != length) return false;
  }
  return true;
}

void Subgraph::run(std::vector<Tensor>& slots, EffectLog* log, const std::vector<bool>* given_up,
                   std::vector<Tensor>& values) const {
  values.clear();
  if (context.observers == nullptr && context.tracer == nullptr && log == nullptr && has_lengths_of(slots)) {
    std::vector<detail::Block*> blocks;
    blocks.reserve(from.size());
    for_each_program_slot([&](std::size_t slot) { blocks.push_back(slots[slot].block()); });
    program->of(graph).run(blocks, values);
    // A variable's value that was updated where it lies.
    for (std::size_t k = 0; k < written.size(); ++k) {
      Tensor& value = values[graph.results.size() + k];
      if (!value.has_value()) value = slots[written[k]];
    }
    return;
  }
  std::vector<Tensor> inputs;
  inputs.reserve(from.size());
  for (const std::size_t slot : from) {
    const bool give = given_up != nullptr && (*given_up)[slot];
    inputs.push_back(give ? std::move(slots[slot]) : Tensor(slots[slot]));
  }
  values = run_graph(graph, std::move(inputs), log);
}

// --- Paths ---

namespace {

using Bits = std::vector<bool>;

void unite(Bits& bits, const Bits& more) {
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (more[i]) bits[i] = true;
  }
}

}  // namespace

Paths paths_of(const Graph& graph) {
  const std::size_t inputs = graph.input_count();
  std::vector<Bits> reached(graph.values.size(), Bits(inputs));
  const auto at = [&](Graph::Value value) -> Bits& { return reached[static_cast<std::size_t>(value)]; };
  const auto differentiable = [&](Graph::Value value) {
    return is_differentiable(graph.values[static_cast<std::size_t>(value)].dtype);
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    if (differentiable(graph.input(i))) at(graph.input(i))[i] = true;
  }
  for (const Graph::Node& node : graph.nodes) {
    const Control* control = control_of(*node.op, node.attributes);
    if (control == nullptr && has_flag(*node.op, kNotDifferentiable)) continue;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!differentiable(node.outputs[k])) continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        // The log of a node with effects is not differentiable, so k is at least one there.
        if (control != nullptr && !control->paths[k - (control->effects ? 1 : 0)][i]) continue;
        if (node.op == &kReread && i == 0) continue;
        unite(at(node.outputs[k]), at(node.inputs[i]));
      }
    }
  }
  Paths paths;
  for (const Graph::Value result : graph.results) paths.push_back(result == Graph::kNone ? Bits(inputs) : at(result));
  for (const Graph::Captured& captured : graph.captured) {
    if (captured.written != Graph::kNone) paths.push_back(at(captured.written));
  }
  return paths;
}

Paths paths_of(const Subgraph& part, std::size_t slots) {
  Paths paths;
  for (const Bits& inputs : paths_of(part.graph)) {
    Bits& bits = paths.emplace_back(slots);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]) bits[part.from[i]] = true;
    }
  }
  return paths;
}

// --- Logs ---

Tensor pack(const EffectLog& log) {
  std::string bytes;
  const auto add = [&](const void* data, std::size_t size) { bytes.append(static_cast<const char*>(data), size); };
  for (const Tensor& given : log.values) {
    const Tensor value = copy_to_host(given);
    const Shape shape = value.shape();
    const std::int64_t header[] = {static_cast<std::int64_t>(value.dtype()), shape.rank()};
    add(header, sizeof(header));
    for (const std::int64_t length : shape) add(&length, sizeof(length));
    if (value.size() > 0) add(value.raw_data(), static_cast<std::size_t>(value.size()) * size_of(value.dtype()));
  }
  const auto size = static_cast<std::int64_t>(bytes.size());
  Tensor packed = new_tensor(DType::kUInt8, Shape{size});
  if (size > 0) std::memcpy(mutable_raw_data(packed), bytes.data(), bytes.size());
  return packed;
}

EffectLog unpack(const Tensor& log) {
  const Tensor packed = copy_to_host(log);
  std::vector<Tensor> values;
  const auto* next = static_cast<const char*>(packed.raw_data());
  const char* const end = next + packed.size();
  const auto take = [&](void* data, std::size_t size) {
    std::memcpy(data, next, size);
    next += size;
  };
  while (next != end) {
    std::int64_t header[2];
    take(header, sizeof(header));
    Shape shape;
    for (std::int64_t i = 0; i < header[1]; ++i) {
      std::int64_t length = 0;
      take(&length, sizeof(length));
      shape.push_back(length);
    }
    Tensor value = new_tensor(static_cast<DType>(header[0]), shape);
    if (value.size() > 0)
      take(mutable_raw_data(value), static_cast<std::size_t>(value.size()) * size_of(value.dtype()));
    values.push_back(std::move(value));
  }
  return EffectLog::again(std::move(values));
}

// --- Calls ---

Subgraph with_lengths(const Subgraph& part, std::span<const Shape> slots) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < part.graph.arguments.size(); ++i) shapes.push_back(slots[part.from[i]]);
  Subgraph other = part;
  other.graph = with_shapes(part.graph, shapes);
  other.program = std::make_shared<LazyProgram>();
  return other;
}

void Control::infer(const Call&, OutputSpecs& specs) const {
  for (const OutputSpec& output : outputs) specs.add(output.dtype, output.shape);
}

void infer_control(const Call& call, OutputSpecs& outputs) {
  const Control& control = *call.attributes<ControlAttributes>().control;
  if (control.effects) outputs.add(DType::kUInt8, Shape{0});
  control.infer(call, outputs);
}

void run_control_kernel(const Call& call, std::span<Tensor> outputs) {
  std::vector<Tensor> inputs;
  for (const TensorRef& input : call.inputs) inputs.push_back(share(input.block()));
  const SuspendTrace suspend;
  std::vector<Tensor> results =
      call_control(*call.attributes<ControlAttributes>().control, std::move(inputs), nullptr, true);
  std::move(results.begin(), results.end(), outputs.begin());
}

std::vector<Tensor> call_control(const Control& control, std::vector<Tensor> inputs, EffectLog* log, bool log_wanted) {
  bool symbolic = false;
  bool differentiable = false;
  for (Tensor& input : inputs) {
    if (input.is_row_sparse()) input = input.to_dense();
    symbolic |= is_symbolic(input.block());
    differentiable |= is_differentiable(input.dtype());
  }
  const bool replay = log != nullptr && log->replay;
  // What a trace notes is the node, not the ops of the one run that there happens to be.
  const bool noted = differentiable && !control.effects && context.tracer != nullptr && context.tracer->notes();
  if (symbolic || noted || (context.tracer != nullptr && control.effects && !replay)) {
    const ControlAttributes attributes{&control};
    std::vector<Operand> operands(inputs.begin(), inputs.end());
    return apply_all(*control.op, operands, &attributes);
  }
  if (!control.effects) return control.run(std::move(inputs), nullptr);

  EffectLog own;
  Tensor packed;
  if (replay) {
    packed = log->values[log->next++];
    own = unpack(packed);
  }
  const bool logged = replay || log != nullptr || log_wanted;
  std::vector<Tensor> outputs = control.run(std::move(inputs), logged ? &own : nullptr);
  if (!replay && logged) packed = pack(own);
  if (!replay && log != nullptr) log->values.push_back(packed);
  outputs.insert(outputs.begin(), std::move(packed));
  return outputs;
}

}  // namespace capstan
