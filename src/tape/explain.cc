// Why a gradient is missing.
#include <vector>

#include "src/core/check.h"
#include "src/tape/tape_impl.h"

namespace capstan {

// Two walks over the records: forward from the source along every known input, then the same along differentiable ops
// only. What the first reaches and the second does not was cut by an op without a gradient.
std::string TapeImpl::explain(const Source& target, const Source& source) const {
  CAPSTAN_CHECK(!consumed, GradientError, "explain: this tape was already used",
                help("write GradientTape tape({.persistent = true}), or ask before gradient()"));
  const Slot from = slot_of(source);
  const Slot to = slot_of(target);
  if (from == kNoSlot) {
    if (source.variable() == nullptr) return "the source was never watched: call watch() before it is used";
    return "the variable \"" + source.variable()->name() +
           "\" was never watched: it was not read while the tape recorded, or is not trainable";
  }
  if (from == to) return "connected";
  const auto dtype_of = [](const Source& end) {
    return end.variable() != nullptr ? end.variable()->dtype() : end.tensor()->dtype();
  };
  const auto integral = [&](const char* what, const Source& end) {
    return detail::join("the ", what, " is ", dtype_of(end),
                        ", and gradients flow through floating and complex numbers only");
  };
  if (!is_differentiable(dtype_of(source))) return integral("source", source);
  if (to == kNoSlot) return "the target was not computed from anything that the tape watches";

  const auto index = [this](Slot slot) { return static_cast<std::size_t>(slot + leaves_); };
  const std::size_t slots = index(result_slots()) + 1;
  std::vector<bool> reached(slots);
  std::vector<const OpDef*> cut(slots, nullptr);  // reached only through this op
  std::vector<bool> flows(slots);
  reached[index(from)] = flows[index(from)] = true;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Record& r = at(i);
    bool in_reached = false;
    bool in_flows = false;
    const OpDef* in_cut = nullptr;
    const auto look = [&](Slot slot) {
      if (slot == kNoSlot || !reached[index(slot)]) return;
      in_reached = true;
      if (flows[index(slot)]) in_flows = true;
      if (cut[index(slot)] != nullptr) in_cut = cut[index(slot)];
    };
    for (const Slot slot : r.inputs) look(slot);
    if (r.extra != nullptr) {
      for (Slot slot : r.extra->inputs) look(slot);
    }
    if (!in_reached) continue;
    const bool differentiable = (r.op->flags & kNotDifferentiable) == 0;
    const std::size_t outputs = r.extra == nullptr ? 1 : std::max<std::size_t>(1, r.extra->outputs.size());
    for (std::size_t k = 0; k < outputs; ++k) {
      const std::size_t out = index(r.output) + k;
      reached[out] = true;
      flows[out] = in_flows && differentiable;
      cut[out] = in_flows && !differentiable ? r.op : flows[out] ? nullptr : in_cut;
    }
  }
  if (flows[index(to)]) return is_differentiable(dtype_of(target)) ? "connected" : integral("target", target);
  if (reached[index(to)] && cut[index(to)] != nullptr) {
    return "the only way from the source to the target passes through " + std::string(cut[index(to)]->name) +
           ", which has no gradient";
  }
  return "the target does not depend on the source";
}

}  // namespace capstan
