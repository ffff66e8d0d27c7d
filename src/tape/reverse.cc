// The reverse pass.
//
// A tape is a list of records in the order in which the ops ran, which is a topological order, so the pass is a loop
// from the last record to the first. A recursive walk would overflow the stack on long recurrent networks, and a walk
// over reachable nodes would need a visited set; the list needs neither.
//
// Before it starts, one loop forward marks what is connected: results that depend on a leaf of this tape, and among
// them those that depend on a source. Only these get cotangents.
//
// Each slot holds the cotangent collected so far. The first contribution is moved in, later ones are added in place. A
// rule knows nothing of broadcasting: if the forward pass stretched an input, its cotangent has the stretched shape,
// and `contribute` sums it back.
//
// If nobody else records, an elementwise rule runs as one fused loop per input, over raw memory; while a function is
// traced, that loop is a node (derived.h). If an outer tape records (or this one, when it is persistent and still
// recording), every rule runs in library ops, which that tape sees; that is where gradients of gradients come from. All
// are the same formula.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/allocator.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/profiler.h"
#include "src/ops/debugging/check_numerics.h"
#include "src/ops/math/math.h"
#include "src/tape/cotangents.h"
#include "src/tape/derived.h"
#include "src/tape/gradient_arguments.h"
#include "src/tape/rule_loop.h"
#include "src/tape/tape_impl.h"

namespace capstan {

using detail::Block;

namespace {

enum Mark : std::uint32_t {
  kConnected = 1,  // depends on a leaf of this tape
  kWanted = 2,     // and on a source
  kSource = 4,     // is a source
  kTwice = 8,      // and is in the list of sources more than once
};

}  // namespace

// One call of gradient().
class ReversePass {
 public:
  explicit ReversePass(TapeImpl& tape) : tape_(tape), count_(tape.count_), leaves_(tape.leaves_) {
    std::vector<SlotState>* states = &tape.scratch_;
    if (tape.running > 1) [[unlikely]] {
      own_ = std::make_unique<std::vector<SlotState>>();
      states = own_.get();
    }
    const std::size_t leaves = static_cast<std::size_t>(leaves_);
    const std::size_t size = leaves + 1 + static_cast<std::size_t>(tape.result_slots());
    if (states->size() < size) states->resize(size);
    slots_ = states->data() + leaves;
    end_ = states->data() + size;
    for (SlotState* state = states->data(); state != slots_; ++state) state->marks = kConnected;
  }

  // Whatever happened, no cotangent is left over.
  ~ReversePass() {
    for (SlotState* state = slots_ - leaves_; state != end_; ++state) {
      if (state->cotangent != nullptr) detail::release(state->cotangent);
      *state = {};
    }
  }

  ReversePass(const ReversePass&) = delete;
  ReversePass& operator=(const ReversePass&) = delete;

  void mark_source(Slot slot) {
    if (slot == kNoSlot) return;
    std::uint32_t& marks = slots_[slot].marks;
    // Leaves are connected before any record is looked at.
    marks |= (marks & kSource) != 0 ? kTwice : (marks & kConnected) != 0 ? kSource | kWanted : unsigned{kSource};
  }

  // The loop forward over the records: a result is connected if one of its inputs is, and wanted if one of them is or
  // if it is a connected source. A result that the tape was told to watch is connected for what was recorded since.
  void mark_results() {
    std::uint32_t done = 0;
    if (tape_.watched_results_ != 0) [[unlikely]] {
      for (const Watched& watched : tape_.watched_) {
        if (is_leaf(watched.slot)) continue;
        mark_records(done, std::min(watched.since, count_));
        done = std::min(watched.since, count_);
        std::uint32_t& marks = slots_[watched.slot].marks;
        marks |= (marks & kSource) != 0 ? kConnected | kWanted : unsigned{kConnected};
      }
    }
    mark_records(done, count_);
  }

  void mark_records(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t i = begin; i < end; ++i) {
      const Record& r = tape_.at(i);
      const unsigned marks = slots_[r.inputs[0]].marks | slots_[r.inputs[1]].marks | slots_[r.inputs[2]].marks;
      if (r.extra == nullptr) [[likely]] {
        mark_result(r, marks, 0);
      } else {
        mark_many(r, marks);
      }
    }
  }

  void seed(Slot slot, Tensor cotangent) { accumulate(slot, std::move(cotangent)); }

  void run() {
    const bool watched = context.observers != context.guard;
    fused_ = !watched && context.tracer == nullptr;
    traced_ = !watched && context.tracer != nullptr;
    if (context.guard != nullptr && numbers_are_checked()) [[unlikely]] {
      run_guarded();
    } else if (active_profiler() != nullptr && context.tracer == nullptr) [[unlikely]] {
      run_profiled(*active_profiler());
    } else {
      run_records(count_, 0);
    }
  }

  // The cotangent that a source has collected, or nothing.
  Tensor result(Slot slot) {
    SlotState& state = slots_[slot];
    if (state.cotangent == nullptr) return {};
    if ((state.marks & kTwice) != 0) return share(state.cotangent);
    return Tensor::adopt(std::exchange(state.cotangent, nullptr));
  }

 private:
  class RuleCall;

  // Marks a result of a record, given the marks of its inputs.
  void mark_result(const Record& r, unsigned marks, Slot k) {
    // After an op without a gradient nothing is asked for, so no rule there runs in vain.
    marks &= (r.op->flags & kNotDifferentiable) != 0 ? unsigned{kConnected} : kConnected | kWanted;
    std::uint32_t& all = slots_[r.output + k].marks;
    marks |= all;
    all = (~marks & (kConnected | kSource)) == 0 ? marks | kWanted : marks;
  }

  // The same for all results of a record that has more than fits into its 64 bytes, given the marks of its first
  // inputs.
  [[gnu::noinline]] void mark_many(const Record& r, unsigned marks) {
    for (const Slot slot : r.extra->inputs) marks |= slots_[slot].marks;
    const Slot outputs = std::max<Slot>(1, static_cast<Slot>(r.extra->outputs.size()));
    for (Slot k = 0; k < outputs; ++k) mark_result(r, marks, k);
  }

  bool wanted(Slot slot) const { return (slots_[slot].marks & kWanted) != 0; }

  // Takes the cotangent of a result out of its slot; a source keeps its own.
  static Tensor take(SlotState& slot) {
    if (slot.cotangent == nullptr) return {};
    if ((slot.marks & kSource) != 0) return share(slot.cotangent);
    return Tensor::adopt(std::exchange(slot.cotangent, nullptr));
  }

  // The rules of records, from the last one before `end` to `begin`.
  [[gnu::noinline]] void run_records(std::uint32_t end, std::uint32_t begin) {
    for (std::uint32_t i = end; i-- > begin;) {
      Record& r = tape_.at(i);
      if (r.extra != nullptr && r.extra->outputs.size() > 1) [[unlikely]] {
        propagate_many(r);
      } else {
        propagate(r);
      }
      if (!tape_.persistent) {
        tape_.count_ = i;
        tape_.release_record(r);
      }
    }
  }

  // The same for all records, each within a span if a cotangent has come to what it gave.
  [[gnu::cold, gnu::noinline]] void run_profiled(Profiler& profiler) {
    for (std::uint32_t i = count_; i-- > 0;) {
      const Record& r = tape_.at(i);
      const std::size_t outputs = r.extra == nullptr ? 1 : std::max<std::size_t>(1, r.extra->outputs.size());
      std::uint64_t span = 0;
      for (std::size_t k = 0; k < outputs && span == 0 && (r.op->flags & kNotDifferentiable) == 0; ++k) {
        const SlotState& result = slots_[r.output + static_cast<Slot>(k)];
        if ((result.marks & kWanted) == 0 || result.cotangent == nullptr) continue;
        Block* const cotangent[] = {result.cotangent};
        span = profiler.open(SpanKind::kRule, "gradient(" + std::string(r.op->name) + ")", cotangent, nullptr);
      }
      run_records(i + 1, i);
      if (span != 0) profiler.close(span, {}, true);
    }
  }

  // The same under a guard, which looks at what rules give: on the way a rule may compute what is infinite where it is
  // not used. The ops of a gradient function of the user's are seen like any others.
  [[gnu::cold, gnu::noinline]] void run_guarded() {
    const OpDef* const around = context.rule;
    for (std::uint32_t i = count_; i-- > 0;) {
      const Record& r = tape_.at(i);
      std::vector<Slot> inputs(r.inputs, r.inputs + 3);
      if (r.extra != nullptr && !r.extra->inputs.empty()) inputs = r.extra->inputs;
      const SlotState& result = slots_[r.output];
      const Tensor g = result.cotangent == nullptr ? Tensor() : share(result.cotangent);
      const OpDef& op = *r.op;
      context.rule = &op == &kCustomGradient ? nullptr : &op;
      const RestoreRule restore{around};
      run_records(i + 1, i);
      for (std::size_t k = 0; g.has_value() && k < inputs.size(); ++k) {
        const Block* cotangent = inputs[k] == kNoSlot ? nullptr : slots_[inputs[k]].cotangent;
        if (cotangent != nullptr) check_gradient_of(op, k, g, TensorRef(const_cast<Block*>(cotangent)));
      }
    }
  }
  struct RestoreRule {
    const OpDef* around;
    ~RestoreRule() { context.rule = around; }
  };

  static void add_in_place(Block* sum, const Block* cotangent) {
    const Loop loop = loops_of(kAdd, sum->dtype).forward[static_cast<int>(sum->dtype)];
    run_pair(loop, sum, sum, cotangent);
  }

  // Adds a cotangent of the right shape to a slot.
  void accumulate(Slot slot, Tensor cotangent) {
    Block*& sum = slots_[slot].cotangent;
    if (sum == nullptr) {
      sum = cotangent.release();
      return;
    }
    if (fused_ && writable(sum) && !needs_ops(cotangent.block())) {
      add_in_place(sum, cotangent.block());
      return;
    }
    const Tensor before = Tensor::adopt(std::exchange(sum, nullptr));
    sum = add_cotangents(before, cotangent).release();
  }

  // Adds what a rule returned for an input; `like` has the input's shape, or is null if that is the cotangent's.
  void contribute(Slot slot, Tensor cotangent, Block* like) {
    if (like != nullptr && !same_shape(cotangent.block(), like)) {
      cotangent = fused_ && !needs_ops(cotangent.block()) ? sum_to(cotangent, like) : sum_like(cotangent, share(like));
    }
    accumulate(slot, std::move(cotangent));
  }

  void propagate(Record& r) {
    SlotState& output = slots_[r.output];
    if ((output.marks & kWanted) == 0) {
      if (output.cotangent != nullptr && (output.marks & kSource) == 0) {
        detail::release(std::exchange(output.cotangent, nullptr));
      }
      return;
    }
    Tensor g = take(output);
    if (!g.has_value()) return;
    if ((r.op->flags & kNotDifferentiable) != 0) return;
    if (traced_ && r.op->kind == OpKind::kElementwise && !needs_ops(g.block()) && can_be_derived(*r.op)) {
      propagate_nodes(r, g);
    } else if (!fused_ || r.op->kind != OpKind::kElementwise || needs_ops(g.block())) {
      propagate_in_ops(r, std::move(g));
    } else if (r.op->inputs.count == 2) {
      propagate_loops<2>(r, g);
    } else if (r.op->inputs.count == 1) {
      propagate_loops<1>(r, g);
    } else {
      propagate_loops<3>(r, g);
    }
  }

  // One fused loop per input of an op of N inputs. The last one may run in the cotangent's own buffer.
  template <int N>
  void propagate_loops(Record& r, Tensor& g) {
    const OpDef& op = *r.op;
    Block* const block = g.block();
    const int dtype = static_cast<int>(block->dtype);
    const LoopTable& loops = loops_of(op, block->dtype);
    unsigned wants = 0;  // inputs, by bits
    unsigned reads = 0;  // what their loops read
    for (int k = 0; k < N; ++k) {
      if (!wanted(r.inputs[k])) continue;
      wants |= 1u << k;
      reads |= op.reads[k];
    }
    LoopArgs args;
    const bool one_run = (wants & ~op.passes) != 0 && rule_args<N>(r, block, reads, args);
    if (!one_run && reads_device(r)) [[unlikely]]
      return propagate_in_ops(r, std::move(g));
    const auto run = [&](int k, bool accumulate, Block* out) {
      const Loop loop = loops.vjp[k][dtype];
      args.accumulate = accumulate;
      args.out = out->data;
      if (one_run) [[likely]] {
        loop(args);
      } else {
        run_broadcast_rule(args, loop, r, op.reads[k], block, out);
      }
    };
    for (int k = 0; k < N; ++k) {
      if ((wants >> k & 1) == 0) continue;
      const bool last = wants >> k == 1;
      const Slot slot = r.inputs[k];
      Block* like = r.saved[k];
      if (like != nullptr && keeps_shape(like, block)) like = nullptr;
      if ((op.passes >> k & 1) != 0) {
        // NOLINTNEXTLINE(bugprone-use-after-move): the last turn moves it
        contribute(slot, last ? std::move(g) : Tensor(g), like);
        continue;
      }
      Block*& sum = slots_[slot].cotangent;
      if (like == nullptr && sum != nullptr && writable(sum) && adds_like_an_op(op, block->dtype)) {
        run(k, true, sum);
        continue;
      }
      Tensor out;
      if (last && writable(block)) {
        out = std::move(g);
        block->node = 0;
      } else {
        out = Tensor::adopt(new_tensor_block(block->dtype, block->rank, block->dims, block->count));
      }
      run(k, false, out.block());
      if (like == nullptr && sum == nullptr) {
        sum = out.release();
      } else {
        contribute(slot, std::move(out), like);
      }
    }
  }

  // One node per input, in the trace of a function.
  void propagate_nodes(const Record& r, const Tensor& g) {
    const void* attributes = r.extra == nullptr ? nullptr : r.extra->attributes;
    for (int k = 0; k < r.op->inputs.count; ++k) {
      if (!wanted(r.inputs[k])) continue;
      const bool passes = (r.op->passes >> k & 1) != 0;
      contribute(r.inputs[k], passes ? g : apply_derived(*r.op, k, attributes, g, r.saved, r.saved_output), r.saved[k]);
    }
  }

  void propagate_rule(Record& r, Tensor g);
  void propagate_in_ops(Record& r, Tensor g);
  void propagate_many(Record& r);
  static void check_custom(const RuleCall& call, std::span<const Tensor> gradients);
  void call_rule(Record& r, const RuleCall& call, std::size_t inputs);

  TapeImpl& tape_;
  // How much the tape has recorded and watched, fixed: a persistent tape may go on while the pass runs.
  std::uint32_t count_;
  Slot leaves_;
  bool fused_ = false;   // nobody watches: rules are loops
  bool traced_ = false;  // only a trace does: rules are nodes
  SlotState* slots_;     // the state of slot 0, which is always empty; leaves are before it, results after them
  SlotState* end_;
  std::unique_ptr<std::vector<SlotState>> own_;  // of a pass that a rule of another pass of this tape has started
};

// What a rule sees of a record.
class ReversePass::RuleCall final : public VjpCall {
 public:
  RuleCall(const ReversePass& pass, const Record& record, std::span<Tensor> cotangents)
      : pass_(pass), record_(record), cotangents_(cotangents) {
    const bool many = record.extra != nullptr && !record.extra->inputs.empty();
    slots_ = many ? std::span<const Slot>(record.extra->inputs) : std::span<const Slot>(record.inputs, 3);
    saved_ = many ? std::span<Block* const>(record.extra->saved) : std::span<Block* const>(record.saved, 3);
    count_ =
        many ? slots_.size()
             : static_cast<std::size_t>(record.op->inputs.count == kVariadic ? saved_count() : record.op->inputs.count);
    if (count_ + cotangents.size() > kInline) more_.resize(count_ + cotangents.size());
  }

  const Tensor& input(int i) const override {
    return hold(static_cast<std::size_t>(i), saved_[static_cast<std::size_t>(i)]);
  }
  const Tensor& output(int i) const override {
    const std::size_t position = count_ + static_cast<std::size_t>(i);
    if (record_.extra != nullptr && !record_.extra->outputs.empty()) {
      return hold(position, record_.extra->outputs[static_cast<std::size_t>(i)]);
    }
    if (record_.saved_output != nullptr) return hold(position, record_.saved_output);
    if (!held(position).has_value()) held(position) = stand_in(cotangents_[0]);
    return held(position);
  }
  const Tensor& cotangent(int i) const override {
    Tensor& cotangent = cotangents_[static_cast<std::size_t>(i)];
    if (!cotangent.has_value()) cotangent = zeros_like(output(i));
    return cotangent;
  }
  bool has_cotangent(int i) const override { return cotangents_[static_cast<std::size_t>(i)].has_value(); }
  bool needs(int i) const override { return pass_.wanted(slots_[static_cast<std::size_t>(i)]); }
  int input_count() const override { return static_cast<int>(count_); }
  const void* attribute_data() const override { return record_.extra == nullptr ? nullptr : record_.extra->attributes; }

  Slot slot(std::size_t i) const { return slots_[i]; }
  Block* saved(std::size_t i) const { return saved_[i]; }
  std::size_t count() const { return count_; }

 private:
  std::size_t saved_count() const {
    std::size_t count = 0;
    while (count < 3 && record_.saved[count] != nullptr) ++count;
    return count;
  }
  const Tensor& hold(std::size_t position, Block* block) const {
    if (!held(position).has_value()) held(position) = share(block);
    return held(position);
  }

  const ReversePass& pass_;
  const Record& record_;
  std::span<Tensor> cotangents_;
  std::span<const Slot> slots_;
  std::span<Block* const> saved_;
  std::size_t count_;
  static constexpr std::size_t kInline = 8;
  Tensor& held(std::size_t position) const { return more_.empty() ? inline_[position] : more_[position]; }
  mutable Tensor inline_[kInline];
  mutable std::vector<Tensor> more_;
};

// What a function of the user's returned must fit the arguments, because it is added to other gradients in place.
void ReversePass::check_custom(const RuleCall& call, std::span<const Tensor> gradients) {
  CAPSTAN_CHECK(gradients.size() == call.count(), GradientError, "custom_gradient: expected ", call.count(),
                " gradients, not ", gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].has_value() || !call.needs(static_cast<int>(i))) continue;
    const TensorRef argument(call.saved(i));
    check_live("custom_gradient", gradients[i]);
    CAPSTAN_CHECK(gradients[i].dtype() == argument.dtype(), DTypeError, "custom_gradient: gradient ", i, " is ",
                  gradients[i].dtype(), ", its argument ", argument.dtype());
    CAPSTAN_CHECK(gradients[i].shape() == argument.shape(), ShapeError, "custom_gradient: gradient ", i, " has shape ",
                  gradients[i].shape(), ", its argument ", argument.shape());
  }
}

void ReversePass::call_rule(Record& r, const RuleCall& call, std::size_t inputs) {
  constexpr std::size_t kInline = 4;
  Tensor few[kInline];
  std::vector<Tensor> many(inputs > kInline ? inputs : 0);
  std::span<Tensor> cotangents = inputs > kInline ? std::span<Tensor>(many) : std::span<Tensor>(few, inputs);
  if (r.op == &kCustomGradient) {
    std::vector<Tensor> weights;
    for (std::size_t i = 0; i < r.extra->outputs.size(); ++i) weights.push_back(call.cotangent(static_cast<int>(i)));
    many = r.extra->custom(weights);
    check_custom(call, many);
    cotangents = many;
  } else {
    r.op->vjp(call, cotangents);
  }
  for (std::size_t k = 0; k < inputs; ++k) {
    if (cotangents[k].has_value() && call.needs(static_cast<int>(k))) {
      contribute(call.slot(k), std::move(cotangents[k]), call.saved(k));
    }
  }
}

void ReversePass::propagate_rule(Record& r, Tensor g) {
  if (g.is_row_sparse()) {
    // A linear op of one input acts on the rows, concat takes them apart; anything else sees the dense tensor.
    if ((r.op->flags & kKeepsRowSparse) != 0 && r.op->inputs.count == kVariadic) {
      const RuleCall call(*this, r, std::span(&g, 1));
      call_rule(r, call, call.count());
      return;
    }
    if ((r.op->flags & kKeepsRowSparse) != 0) {
      Tensor rows = g.values();
      const RuleCall call(*this, r, std::span(&rows, 1));
      Tensor cotangent;
      r.op->vjp(call, std::span(&cotangent, 1));
      if (cotangent.has_value()) accumulate(r.inputs[0], make_row_sparse(g.indices(), cotangent, g.shape()));
      return;
    }
    const bool passes = r.op->kind == OpKind::kElementwise && r.op->passes != 0;
    if (passes) {
      bool all_pass = true;
      for (int k = 0; k < r.op->inputs.count; ++k) {
        if (!wanted(r.inputs[k])) continue;
        all_pass &= (r.op->passes >> k & 1) != 0 && (r.saved[k] == nullptr || same_shape(r.saved[k], g.block()));
      }
      if (all_pass) {
        for (int k = 0; k < r.op->inputs.count; ++k) {
          if (wanted(r.inputs[k])) accumulate(r.inputs[k], g);
        }
        return;
      }
    }
    g = g.to_dense();
  }
  const RuleCall call(*this, r, std::span(&g, 1));
  call_rule(r, call, call.count());
}

// On a device the loop of a rule is an op, as in a trace, if nobody watches: one loop with the same bits.
void ReversePass::propagate_in_ops(Record& r, Tensor g) {
  const bool is_loop = fused_ && r.op->kind == OpKind::kElementwise && !g.is_row_sparse() && can_be_derived(*r.op);
  if (is_loop) return propagate_nodes(r, g);
  propagate_rule(r, std::move(g));
}

void ReversePass::propagate_many(Record& r) {
  SlotState* const results = slots_ + r.output;
  const std::size_t outputs = r.extra->outputs.size();
  std::vector<Tensor> cotangents(outputs);
  bool any = false;
  const bool want = (results->marks & kWanted) != 0 || [&] {
    for (Slot slot : r.inputs) {
      if (wanted(slot)) return true;
    }
    for (Slot slot : r.extra->inputs) {
      if (wanted(slot)) return true;
    }
    return false;
  }();
  for (std::size_t k = 0; k < outputs; ++k) {
    cotangents[k] = take(results[k]);
    if (cotangents[k].has_value()) {
      any = true;
      cotangents[k] = cotangents[k].to_dense();
    }
  }
  if (!any || !want || (r.op->flags & kNotDifferentiable) != 0) return;
  const RuleCall call(*this, r, cotangents);
  call_rule(r, call, call.count());
}

// --- gradient() ---

void TapeImpl::gradient(std::span<const Source> targets, std::span<const Source> sources, std::span<Tensor> gradients,
                        const GradientOptions& options) {
  const Span span(SpanKind::kGradient, "gradient");
  check_usable("gradient");
  for (const Source& target : targets) check_given("gradient", "a target", target);
  for (const Source& source : sources) check_given("gradient", "a source", source);
  const std::span<const Tensor> weights = options.output_gradients;
  if (!weights.empty()) check_output_gradients(targets, weights);

  if (!persistent) {
    // Used up from here on, for rules too and also if one throws; what is recorded goes when the guard does.
    stop();
    consumed = true;
  }
  ++running;
  struct UseUp {
    TapeImpl* tape;
    ~UseUp() {
      --tape->running;
      if (!tape->persistent) tape->clear();
    }
  } use_up{this};

  ReversePass pass(*this);
  // The slots of the sources as they are now: a rule may be the first to read a variable.
  Slot few[8];
  std::unique_ptr<Slot[]> many(sources.size() > 8 ? new Slot[sources.size()] : nullptr);
  Slot* const slots = many != nullptr ? many.get() : few;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    slots[k] = slot_of(sources[k]);
    pass.mark_source(slots[k]);
  }
  pass.mark_results();
  const auto seed = [&](std::size_t i) {
    const bool weighted = i < weights.size() && weights[i].has_value();
    return weighted ? weights[i] : filled_like(value_of(targets[i]), 1);
  };
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (const Slot slot = slot_of(targets[i]); slot != kNoSlot) [[likely]] {
      pass.seed(slot, seed(i));
      continue;
    }
    if (const Slot rows = slot_of_target(targets[i]); rows != kNoSlot) {
      pass.seed(rows, gather(seed(i), targets[i].tensor()->indices()));
      continue;
    }
    // A target that is a source contributes its weight even if the tape never saw it.
    for (std::size_t k = 0; k < sources.size(); ++k) {
      if (!same_source(targets[i], sources[k])) continue;
      gradients[k] = gradients[k].has_value() ? add(gradients[k], seed(i)) : seed(i);
    }
  }
  pass.run();
  for (std::size_t k = 0; k < sources.size(); ++k) {
    if (slots[k] != kNoSlot) gradients[k] = pass.result(slots[k]);
    if (!gradients[k].has_value() && options.unconnected_gradients == UnconnectedGradients::kZero) {
      gradients[k] = filled_like(value_of(sources[k]), 0);
    }
  }
}

}  // namespace capstan
