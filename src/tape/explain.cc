// Why a gradient is missing.
//
// A tape knows what it recorded, and the number of a tensor tells who else recorded what made it. What nobody recorded
// left no trace: then the answer names what the tape saw last of the source, and what it could not have seen.
#include <algorithm>
#include <vector>

#include "src/core/check.h"
#include "src/tape/call_with_paths.h"
#include "src/tape/gradient_arguments.h"
#include "src/tape/tape_impl.h"

namespace capstan {

namespace {

DType dtype_of(const Source& end) {
  return end.variable() != nullptr ? end.variable()->dtype() : end.tensor()->dtype();
}

std::string integral(const char* what, const Source& end) {
  return detail::join("the ", what, " is ", dtype_of(end),
                      ", and gradients flow through floating and complex numbers only");
}

// Why a tensor that no slot stands for is not known, if its number tells; else nothing.
std::string made_elsewhere(const char* what, const Source& end) {
  const std::uint64_t node = end.tensor() == nullptr ? 0 : end.tensor()->block()->node;
  if (node == 0) return "";
  if (node > context.next_node || context.next_node - node >= (std::uint64_t{1} << 32)) {
    return detail::join("the ", what, " was computed on another thread, whose ops this tape does not see");
  }
  return detail::join("the ", what, " was computed while this tape did not record");
}

}  // namespace

// Two walks over the records at once: forward from the source along every known input, and the same along
// differentiable ops only. What the first reaches and the second does not was cut by an op without a gradient.
std::string TapeImpl::explain(const Source& target, const Source& source) const {
  CAPSTAN_CHECK(!consumed, GradientError, "explain: this tape was already used",
                help("write GradientTape tape({.persistent = true}), or ask before gradient()"));
  check_given("explain", "the target", target);
  check_given("explain", "the source", source);
  const Slot from = slot_of(source);
  const Slot to = slot_of_target(target);
  if (from == kNoSlot && source.variable() == nullptr) {
    if (source.tensor()->is_row_sparse() && slot_of_target(source) != kNoSlot) {
      return "the source is row-sparse, and each op makes a dense tensor of it anew: take the gradient by "
             "g = source.to_dense(), and compute with that";
    }
    const std::string elsewhere = made_elsewhere("source", source);
    return elsewhere.empty() ? "the source was never watched: call watch() before it is used" : elsewhere;
  }
  if (from == kNoSlot) {
    return "the variable \"" + source.variable()->name() +
           "\" was never watched: no op read it while the tape recorded, or it is not trainable; what is assigned to "
           "another variable, or added to it in place, becomes its state, and gradients do not pass through that";
  }
  if (from == to) return "connected";
  if (!is_differentiable(dtype_of(source))) return integral("source", source);
  if (to == kNoSlot) {
    const std::string elsewhere = made_elsewhere("target", target);
    if (!elsewhere.empty()) return elsewhere;
  }

  const auto index = [this](Slot slot) { return static_cast<std::size_t>(std::int64_t{slot} + leaves_); };
  const std::size_t slots = index(result_slots()) + 1;
  constexpr std::uint32_t kNowhere = ~std::uint32_t{0};
  std::vector<bool> reached(slots);
  std::vector<std::uint32_t> cut(slots, kNowhere);  // reached only through this record
  std::vector<bool> flows(slots);
  std::vector<bool> read_on(slots);      // an op that the tape recorded read it
  std::uint32_t made_target = kNowhere;  // the record
  std::vector<std::uint32_t> ends;       // the records that lead from the source to a tensor without a gradient
  std::vector<std::pair<std::uint32_t, std::string_view>> inner;  // by a record of a function: the op that cuts in it
  reached[index(from)] = flows[index(from)] = true;
  for (std::uint32_t i = 0; i < count_; ++i) {
    const Record& r = at(i);
    bool in_reached = false;
    bool in_flows = false;
    std::uint32_t in_cut = kNowhere;
    const auto look = [&](Slot slot) {
      if (slot == kNoSlot) return;
      read_on[index(slot)] = true;
      if (!reached[index(slot)]) return;
      in_reached = true;
      if (flows[index(slot)]) in_flows = true;
      if (cut[index(slot)] != kNowhere) in_cut = cut[index(slot)];
    };
    for (const Slot slot : r.inputs) look(slot);
    if (r.extra != nullptr) {
      for (Slot slot : r.extra->inputs) look(slot);
    }
    const bool differentiable = (r.op->flags & kNotDifferentiable) == 0;
    const std::size_t outputs = r.extra == nullptr ? 1 : std::max<std::size_t>(1, r.extra->outputs.size());
    if (to >= r.output && to < r.output + static_cast<Slot>(outputs)) made_target = i;
    if (!in_reached) continue;
    if (const auto* const rule = r.extra == nullptr ? nullptr : r.extra->custom.target<RuleWithPaths>()) {
      for (std::size_t k = 0; k < outputs; ++k) {
        const std::size_t out = index(r.output) + k;
        for (std::size_t j = 0; j < r.extra->inputs.size(); ++j) {
          const Slot slot = r.extra->inputs[j];
          if (slot == kNoSlot || !reached[index(slot)]) continue;
          const CallWithPaths::Path path = rule->call->path(j, k);
          if (!path.exists) continue;
          reached[out] = true;
          if (flows[index(slot)] && path.cut.empty()) flows[out] = true;
          if (!flows[index(slot)]) cut[out] = cut[index(slot)];
          if (!flows[index(slot)] || path.cut.empty()) continue;
          cut[out] = i;
          inner.emplace_back(i, path.cut);
        }
        if (flows[out]) cut[out] = kNowhere;
      }
      if (in_flows) ends.push_back(i);
      continue;
    }
    for (std::size_t k = 0; k < outputs; ++k) {
      const std::size_t out = index(r.output) + k;
      reached[out] = true;
      flows[out] = in_flows && differentiable;
      cut[out] = in_flows && !differentiable ? i : flows[out] ? kNowhere : in_cut;
    }
    if (in_flows) ends.push_back(i);
  }
  const auto name = [&](std::uint32_t record) {
    const RecordExtra* const extra = at(record).extra;
    const auto* const rule = extra == nullptr ? nullptr : extra->custom.target<RuleWithPaths>();
    for (const auto& [call, op] : inner) {
      if (call == record)
        return detail::join(op, " in ", rule->call->name(), " (op ", record + 1, " of ", count_, " on the tape)");
    }
    return detail::join(rule != nullptr ? rule->call->name() : at(record).op->name, " (op ", record + 1, " of ", count_,
                        " on the tape)");
  };
  if (to != kNoSlot && flows[index(to)]) {
    return is_differentiable(dtype_of(target)) ? "connected" : integral("target", target);
  }
  if (to != kNoSlot && reached[index(to)] && cut[index(to)] != kNowhere) {
    return "the only way from the source to the target passes through " + name(cut[index(to)]) +
           ", which has no gradient";
  }

  std::string text = to == kNoSlot ? "the target was not computed from anything that the tape watches"
                                   : "the target does not depend on the source";
  if (to == kNoSlot) {
    text +=
        "; a function() that uses the source may do so where there is no gradient: in an op such as stop_gradient, "
        "as integers, or as numbers of C++ (item(), to_vector())";
  }
  std::uint32_t since = 0;
  for (const Watched& watched : watched_) {
    // A trainable variable is watched when it is read, which is never late.
    if (watched.slot == from && (watched.variable == nullptr || !watched.variable->trainable)) {
      since = watched.since;
      break;
    }
  }
  if (since > 0 && (made_target == kNowhere || made_target < since)) {
    text += detail::join("; the source is watched since op ", since + 1, " of ", count_,
                         " on the tape, and what was computed from it before that is not known: watch it earlier");
  }
  if (!intervals_.empty() || !recording) {
    text += "; the tape did not record all the time, and what was computed meanwhile is not known";
  }
  // A variable that the target reads may have got its value from the source.
  std::vector<bool> needed(slots);
  if (to != kNoSlot) needed[index(to)] = true;
  for (std::uint32_t i = count_; i-- > 0 && to != kNoSlot;) {
    const Record& r = at(i);
    const std::size_t outputs = r.extra == nullptr ? 1 : std::max<std::size_t>(1, r.extra->outputs.size());
    bool is_needed = false;
    for (std::size_t k = 0; k < outputs; ++k) is_needed |= needed[index(r.output) + k];
    if (!is_needed) continue;
    for (const Slot slot : r.inputs) needed[index(slot)] = true;
    if (r.extra != nullptr) {
      for (const Slot slot : r.extra->inputs) needed[index(slot)] = true;
    }
  }
  for (std::size_t k = 0; k < watched_.size(); ++k) {
    const Watched& later = watched_[k];
    if (later.variable != nullptr || later.slot == from || !needed[index(later.slot)]) continue;
    for (std::size_t j = 0; j < k; ++j) {
      if (watched_[j].slot != later.slot || watched_[j].variable == nullptr) continue;
      return text + "; it reads the variable \"" + watched_[j].variable->name +
             "\", which was assigned in between, and gradients do not pass through an assignment";
    }
  }
  for (const std::uint32_t i : ends) {
    const Record& r = at(i);
    const bool cuts = (r.op->flags & kNotDifferentiable) != 0;
    if (!cuts && (read_on[index(r.output)] || to == r.output)) continue;
    return text + "; of what was computed from the source, the tape saw " + name(i) + " last" +
           (cuts ? ", which has no gradient" : "") +
           ": what goes on from there as integers, or as numbers of C++ (item(), to_vector()), is not recorded";
  }
  return text;
}

}  // namespace capstan
