#include "src/tape/derived.h"

#include <bit>
#include <cstddef>
#include <cstring>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/tape.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/ops/batching.h"
#include "src/ops/examples.h"

namespace capstan {

namespace {

struct DerivedAttributes {
  const OpDef* op;       // what it is derived from
  std::int32_t input;    // by which input
  std::int32_t reads;    // the operands, as bits of LoopArgs::in: always the cotangent, then what the derivative reads
  double parameters[5];  // the attributes of the op
};
static_assert(sizeof(DerivedAttributes) <= 64);

constexpr int kPositions = 5;  // of LoopArgs::in

bool reads(const DerivedAttributes& a, int position) { return (a.reads >> position & 1) != 0; }

// What the rule of the op sees: its inputs and output, as far as they are operands, and the cotangent.
class OperandCall final : public VjpCall {
 public:
  OperandCall(const DerivedAttributes& attributes, const std::vector<Tensor>& operands) : attributes_(attributes) {
    std::size_t next = 0;
    for (int position = 0; position < kPositions; ++position) {
      at_[position] = reads(attributes, position) ? operands[next++] : stand_in(operands[0]);
    }
  }
  const Tensor& input(int i) const override { return at_[i + 1]; }
  const Tensor& output(int) const override { return at_[4]; }
  const Tensor& cotangent(int) const override { return at_[0]; }
  bool has_cotangent(int) const override { return true; }
  bool needs(int i) const override { return i == attributes_.input; }
  int input_count() const override { return attributes_.op->inputs.count; }
  const void* attribute_data() const override { return attributes_.parameters; }

 private:
  const DerivedAttributes& attributes_;
  Tensor at_[kPositions];
};

// The cotangent, whose shape is that of the result, has the axis of the items in any case.
bool batch_derived(const BatchCall& call, std::vector<Tensor>& outputs) {
  const int rank = call.item_rank(0);
  if (rank == kMaxRank) return false;
  std::vector<Tensor> inputs = {with_items(call, 0)};
  for (int i = 1; i < call.input_count(); ++i) inputs.push_back(aligned(call, i, rank));
  return call_again(call, std::move(inputs), call.attribute_data, outputs);
}

// It is read alone: nobody calls the op by its name.
constexpr FieldType kNameOfOp = {
    nullptr, [](const void* op) { return AttributeValue(std::string((*static_cast<const OpDef* const*>(op))->name)); }};
constexpr AttributeField kDerivedFields[] = {
    {"of", true, offsetof(DerivedAttributes, op), &kNameOfOp},
    {"input", true, offsetof(DerivedAttributes, input), &field_type<std::int32_t>}};
constexpr AttributeType kDerivedAttributes = {
    sizeof(DerivedAttributes), [](void* attributes) { std::memset(attributes, 0, sizeof(DerivedAttributes)); },
    kDerivedFields, 2};

// It is linear in the cotangent.
std::optional<ExampleStep> derivative_of_example(const ExampleCall& call) {
  return call.is_row(0) ? by_element(call) : std::nullopt;
}
constexpr OpForPrograms kDerivedForPrograms{.example = derivative_of_example};

// Its operands are the cotangent and what the derivative reads, in the order of the bits.
constinit const OpDef kDerived = {
    .name = "derivative",
    .text = "The derivative of an elementwise op by one of its inputs; made in traces alone.",
    .flags = kTakesAnyDTypes,
    .inputs = {"cotangent, values", kVariadic},
    .attributes = &kDerivedAttributes,
    .infer = [](const Call& call, OutputSpecs& outputs) { outputs.add(call.input(0).dtype(), call.input(0).shape()); },
    .kernel =
        [](const Call& call, std::span<Tensor> outputs) {
          const auto& a = call.attributes<DerivedAttributes>();
          const detail::Block* inputs[kPositions] = {};
          int next = 0;
          for (int position = 0; position < kPositions; ++position) {
            if (reads(a, position)) inputs[position] = call.input(next++).block();
          }
          const DType dtype = outputs[0].dtype();
          run_loop({loops_of(*a.op, dtype).vjp[a.input][static_cast<int>(dtype)], a.parameters}, outputs[0].block(),
                   inputs);
        },
    .loop =
        [](const void* attributes) {
          const auto& a = *static_cast<const DerivedAttributes*>(attributes);
          return LoopOfOp{a.op, a.input, static_cast<std::uint32_t>(a.reads), a.parameters};
        },
    .saves = {.inputs = 1},
    // The rule in library ops, differentiated in its turn.
    .vjp =
        [](const VjpCall& call, std::span<Tensor> cotangents) {
          const auto& a = call.attributes<DerivedAttributes>();
          std::vector<Tensor> operands;
          operands.reserve(static_cast<std::size_t>(call.input_count()));
          // Copies, so that each is a source of its own even if two operands are one tensor.
          for (int i = 0; i < call.input_count(); ++i) operands.push_back(identity(call.input(i)));
          GradientTape tape;
          tape.watch(operands);
          const OperandCall seen(a, operands);
          Tensor derived[3];
          a.op->vjp(seen, std::span(derived, static_cast<std::size_t>(a.op->inputs.count)));
          if (!derived[a.input].has_value()) return;
          std::vector<Tensor> gradients =
              tape.gradient(derived[a.input], operands, {.output_gradients = {call.cotangent()}});
          for (std::size_t i = 0; i < gradients.size(); ++i) cotangents[i] = std::move(gradients[i]);
        },
    .batch = batch_derived,
    .programs = &kDerivedForPrograms,
};

}  // namespace

bool is_derived(const OpDef& op) { return &op == &kDerived; }

DerivedFrom derived_from(const void* attributes) {
  const auto& derived = *static_cast<const DerivedAttributes*>(attributes);
  return {derived.op, derived.parameters};
}

bool can_be_derived(const OpDef& op) {
  return op.attributes == nullptr || op.attributes->size <= sizeof(DerivedAttributes::parameters);
}

namespace {

DerivedAttributes attributes_of(const OpDef& op, int k, const void* attributes) {
  DerivedAttributes derived;
  std::memset(&derived, 0, sizeof(derived));
  derived.op = &op;
  derived.input = k;
  derived.reads = op.reads[k] | kReadsCotangent;
  if (op.attributes != nullptr) std::memcpy(derived.parameters, attributes, op.attributes->size);
  return derived;
}

}  // namespace

Tensor derive_by_rule(const OpDef& op, std::int64_t k, const void* attributes, std::vector<Tensor> operands) {
  const bool exists =
      op.kind == OpKind::kElementwise && op.vjp != nullptr && can_be_derived(op) && k >= 0 && k < op.inputs.count;
  CAPSTAN_CHECK(exists, ValueError, op.name, ": there is no derivative by input ", k);
  const DerivedAttributes derived = attributes_of(op, static_cast<int>(k), attributes);
  const int count = std::popcount(static_cast<std::uint32_t>(derived.reads));
  CAPSTAN_CHECK(operands.size() == static_cast<std::size_t>(count), ValueError, "the derivative of ", op.name,
                ": there are ", operands.size(), " operands, not ", count);
  const OperandCall seen(derived, operands);
  std::vector<Tensor> cotangents(static_cast<std::size_t>(op.inputs.count));
  op.vjp(seen, cotangents);
  const Tensor& found = cotangents[static_cast<std::size_t>(k)];
  return found.has_value() ? found : zeros_like(operands[0]);
}

Tensor apply_derived(const OpDef& op, int k, const void* attributes, const Tensor& cotangent,
                     detail::Block* const* inputs, detail::Block* output) {
  const DerivedAttributes derived = attributes_of(op, k, attributes);
  std::vector<Tensor> values = {cotangent};
  for (int i = 0; i < op.inputs.count; ++i) {
    if ((op.reads[k] & (kReadsInput0 << i)) != 0) values.push_back(share(inputs[i]));
  }
  if ((op.reads[k] & kReadsOutput) != 0) values.push_back(share(output));
  std::vector<Operand> operands(values.begin(), values.end());
  return apply(kDerived, operands, &derived);
}

}  // namespace capstan
