#include "src/saved_model/saved_control.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "capstan/control_flow.h"
#include "capstan/dynamic.h"
#include "capstan/ops/array.h"
#include "capstan/ops/host.h"
#include "capstan/tape.h"

namespace capstan::saved_model {

namespace {

using Tensors = std::vector<Tensor>;

Tensors at_slots(const Tensors& slots, const std::vector<std::size_t>& numbers) {
  Tensors tensors;
  for (const std::size_t number : numbers) tensors.push_back(slots[number]);
  return tensors;
}

void append(Tensors& to, std::span<const Tensor> tensors) { to.insert(to.end(), tensors.begin(), tensors.end()); }

// One graph of a node, the slots that are its inputs, and those whose values follow its results.
struct Part {
  // The slots that a graph reads may be more than the node has inputs: those of a rule are followed by cotangents.
  Part(const AttributeValue& form, std::size_t slots, const Reading& reading)
      : graph(form, reading),
        from(reading.numbers(reading.member(form, "from"), slots, "a slot of a graph")),
        written(reading.numbers(reading.member(form, "written"), slots, "a slot of a graph")) {
    if (from.size() != graph.inputs()) reading.fail("a graph has more or fewer slots than inputs");
    if (written.size() > graph.results()) reading.fail("a graph writes more slots than it has results");
  }

  std::size_t own_results() const { return graph.results() - written.size(); }
  Tensors run(const Tensors& slots, const Constants& constants) const {
    return graph.run(at_slots(slots, from), constants);
  }

  SavedGraph graph;
  std::vector<std::size_t> from, written;
};

struct Arguments {
  const AttributeValue& form;
  std::span<const AttributeValue> parts;
  std::size_t slots;
  const Reading& reading;

  Part part(std::size_t i, std::size_t more_slots = 0) const { return Part(parts[i], slots + more_slots, reading); }
  std::size_t number(const char* key, std::size_t limit) const {
    return reading.number(reading.member(form, key), limit, key);
  }
  std::vector<std::size_t> numbers(const char* key, std::size_t limit) const {
    return reading.numbers(reading.member(form, key), limit, key);
  }
  void check_parts(std::size_t least, std::size_t most) const {
    if (parts.size() < least || parts.size() > most)
      reading.fail("a node of control flow lacks graphs or has too many");
  }
};

// --- Choices ---

class Choice final : public SavedControl {
 public:
  Choice(detail::BranchKind kind, const Arguments& arguments) : kind_(kind) {
    arguments.check_parts(kind == detail::BranchKind::kCond ? 2 : 1, kind == detail::BranchKind::kCond ? 2 : 1 << 20);
    if (arguments.slots == 0) arguments.reading.fail("a choice has no selector");
    written_ = arguments.numbers("written", arguments.slots);
    for (std::size_t i = 0; i < arguments.parts.size(); ++i) {
      branches_.push_back(arguments.part(i));
      results_ = arguments.numbers("results", branches_.back().own_results());
    }
  }

  Tensors run(const std::shared_ptr<const SavedControl>&, Tensors slots, const Constants& constants) const override {
    std::vector<std::function<void(Tensors&)>> branches;
    for (const Part& branch : branches_) {
      branches.emplace_back([&](Tensors& tensors) { tensors = results_of(branch, slots, constants); });
    }
    if (!inside_function()) {
      Tensors tensors;
      branches[chosen(slots[0])](tensors);
      return tensors;
    }
    const std::string layout;
    const auto as_body = [](std::function<void(Tensors&)>& branch) {
      return [&branch](Tensors& tensors) -> std::shared_ptr<void> {
        branch(tensors);
        return nullptr;
      };
    };
    std::vector<decltype(as_body(branches[0]))> closures;
    for (std::function<void(Tensors&)>& branch : branches) closures.push_back(as_body(branch));
    std::vector<detail::BranchBody> bodies;
    for (auto& closure : closures) bodies.push_back({detail::FunctionBody(closure), &layout});
    return detail::trace_branches(kind_, slots[0], bodies, nullptr);
  }

 private:
  // What every branch gives: its results, and what it leaves in the slots that any of them writes.
  Tensors results_of(const Part& branch, const Tensors& slots, const Constants& constants) const {
    const Tensors values = branch.run(slots, constants);
    Tensors given = at_slots(values, results_);
    for (const std::size_t slot : written_) {
      const auto found = std::find(branch.written.begin(), branch.written.end(), slot);
      const auto place = branch.own_results() + static_cast<std::size_t>(found - branch.written.begin());
      given.push_back(found == branch.written.end() ? slots[slot] : values[place]);
    }
    return given;
  }
  std::size_t chosen(const Tensor& selector) const {
    if (kind_ == detail::BranchKind::kCond) return selector.item<bool>() ? 0 : 1;
    const auto count = static_cast<std::int64_t>(branches_.size());
    const auto number = selector.item<std::int64_t>();
    if (kind_ == detail::BranchKind::kCaseOf) detail::check_case_index(number, count);
    return static_cast<std::size_t>(number < 0 || number >= count ? count - 1 : number);
  }

  detail::BranchKind kind_;
  std::vector<Part> branches_;
  std::vector<std::size_t> results_, written_;
};

// --- Loops ---

// What is carried on: the first slots, and those that the body writes. The others stay as they are.
class Carried {
 public:
  Carried() = default;
  Carried(std::size_t first, const std::vector<std::size_t>& written) {
    for (std::size_t i = 0; i < first; ++i) slots_.push_back(i);
    slots_.insert(slots_.end(), written.begin(), written.end());
  }
  std::size_t count() const { return slots_.size(); }
  Tensors of(const Tensors& slots) const { return at_slots(slots, slots_); }
  // The slots with these in their places.
  Tensors with(Tensors slots, std::span<const Tensor> carried) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) slots[slots_[i]] = carried[i];
    return slots;
  }

 private:
  std::vector<std::size_t> slots_;
};

class WhileLoop final : public SavedControl {
 public:
  explicit WhileLoop(const Arguments& arguments) : condition_(arguments.part(0)), body_(arguments.part(1)) {
    const std::size_t count = arguments.number("variables", arguments.slots + 1);
    const AttributeValue& limit = arguments.reading.member(arguments.form, "limit");
    if (limit.kind != AttributeValue::Kind::kInt) arguments.reading.fail("the limit of a loop is no integer");
    if (limit.integer >= 0) limit_ = limit.integer;
    if (count == 0 || body_.own_results() != count || condition_.graph.results() != 1) {
      arguments.reading.fail("a loop does not give what it carries on");
    }
    carried_ = Carried(count, body_.written);
  }

  Tensors run(const std::shared_ptr<const SavedControl>&, Tensors slots, const Constants& constants) const override {
    const auto with = [&](std::span<const Tensor> carried) { return carried_.with(slots, carried); };
    return dynamic::while_loop(
        [&](std::span<const Tensor> carried) { return condition_.run(with(carried), constants); },
        [&](std::span<const Tensor> carried) { return body_.run(with(carried), constants); }, carried_.of(slots),
        limit_);
  }

 private:
  Part condition_, body_;
  Carried carried_;
  std::optional<std::int64_t> limit_;
};

class RowLoop final : public SavedControl {
 public:
  explicit RowLoop(const Arguments& arguments) : body_(arguments.part(0)) {
    count_ = arguments.number("carried", arguments.slots + 1);
    sliced_ = arguments.number("sliced", arguments.slots + 1 - count_);
    set_field(reverse_, arguments.reading.member(arguments.form, "backwards"), "saved_model", "backwards");
    if (sliced_ == 0 || body_.own_results() < count_)
      arguments.reading.fail("a loop over rows has none, or gives too little");
    carried_ = Carried(count_, body_.written);
  }

  // The results of the body are what is carried on, what is collected, and what is written; the loop has
  // what is collected at the end.
  Tensors run(const std::shared_ptr<const SavedControl>&, Tensors slots, const Constants& constants) const override {
    const auto first_row = slots.begin() + static_cast<std::ptrdiff_t>(count_);
    const Tensors rows(first_row, first_row + static_cast<std::ptrdiff_t>(sliced_));
    const std::size_t collected = body_.own_results() - count_;
    const auto step = [&](std::span<const Tensor> all) {
      Tensors now = carried_.with(slots, all);
      for (std::size_t k = 0; k < sliced_; ++k) now[count_ + k] = all[carried_.count() + k];
      Tensors given = body_.run(now, constants);
      std::rotate(given.begin() + static_cast<std::ptrdiff_t>(count_),
                  given.begin() + static_cast<std::ptrdiff_t>(count_ + collected), given.end());
      return given;
    };
    Tensors given = dynamic::loop_over_rows(step, carried_.of(slots), rows, {.reverse = reverse_});
    std::rotate(given.begin() + static_cast<std::ptrdiff_t>(count_),
                given.begin() + static_cast<std::ptrdiff_t>(carried_.count()), given.end());
    return given;
  }

 private:
  Part body_;
  std::size_t count_ = 0, sliced_ = 0;
  bool reverse_ = false;
  Carried carried_;
};

// --- Gradients ---

class Recomputed final : public SavedControl {
 public:
  explicit Recomputed(const Arguments& arguments) : body_(arguments.part(0)) {}

  Tensors run(const std::shared_ptr<const SavedControl>& self, Tensors slots,
              const Constants& constants) const override {
    return dynamic::recompute(
        [self, this, constants](std::span<const Tensor> now) {
          return body_.run(Tensors(now.begin(), now.end()), constants);
        },
        slots);
  }

 private:
  Part body_;
};

// The first inputs are what it gives, the next what it is differentiated by.
class CustomGradient final : public SavedControl {
 public:
  explicit CustomGradient(const Arguments& arguments)
      : outputs_(arguments.number("outputs", arguments.slots + 1)),
        sources_(arguments.number("sources", arguments.slots + 1 - outputs_)),
        rule_(arguments.part(0, outputs_)) {
    if (arguments.parts.size() == 2) tangents_.emplace(arguments.part(1, sources_));
    if (rule_.graph.results() != sources_ || (tangents_ && tangents_->graph.results() != outputs_)) {
      arguments.reading.fail("a gradient of its own does not fit its function");
    }
  }

  Tensors run(const std::shared_ptr<const SavedControl>& self, Tensors slots,
              const Constants& constants) const override {
    // Each part gets the slots of the node, and then what it is given.
    const auto rule_of = [&](const Part& part) {
      return [self, &part, slots, constants](std::span<const Tensor> given) {
        Tensors all = slots;
        append(all, given);
        return part.run(all, constants);
      };
    };
    const auto begin = slots.begin() + static_cast<std::ptrdiff_t>(outputs_);
    const Tensors sources(begin, begin + static_cast<std::ptrdiff_t>(sources_));
    return custom_gradient(
        [&](std::span<const Tensor>) -> CustomGradientResult {
          CustomGradientResult result{.outputs = Tensors(slots.begin(), begin), .gradient = rule_of(rule_)};
          if (tangents_) result.jvp = rule_of(*tangents_);
          return result;
        },
        sources);
  }

 private:
  std::size_t outputs_, sources_;
  Part rule_;
  std::optional<Part> tangents_;
};

// --- By name ---

using Shared = std::shared_ptr<const SavedControl>;

template <detail::BranchKind kKind>
Shared choice(const Arguments& arguments) {
  return std::make_shared<Choice>(kKind, arguments);
}
template <class Loop, std::size_t kParts>
Shared with_parts(const Arguments& arguments) {
  arguments.check_parts(kParts, kParts);
  return std::make_shared<Loop>(arguments);
}

struct Kind {
  std::string_view op;
  Shared (*make)(const Arguments& arguments);
};
constexpr Kind kKinds[] = {{"cond", choice<detail::BranchKind::kCond>},
                           {"switch_case", choice<detail::BranchKind::kSwitchCase>},
                           {"case_of", choice<detail::BranchKind::kCaseOf>},
                           {"while_loop", with_parts<WhileLoop, 2>},
                           {"scan", with_parts<RowLoop, 1>},
                           {"map_fn", with_parts<RowLoop, 1>},
                           {"foldl", with_parts<RowLoop, 1>},
                           {"foldr", with_parts<RowLoop, 1>},
                           {"recompute_grad", with_parts<Recomputed, 1>},
                           {"custom_gradient", [](const Arguments& arguments) -> Shared {
                              arguments.check_parts(1, 2);
                              return std::make_shared<CustomGradient>(arguments);
                            }}};

}  // namespace

Shared SavedControl::read(const std::string& op, const AttributeValue& form, const AttributeValue& parts,
                          std::size_t slots, const Reading& reading) {
  const auto* const kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& k) { return k.op == op; });
  if (kind == std::end(kKinds)) reading.fail("there is no control flow \"" + op + "\"");
  return kind->make({form, reading.list(parts, "the graphs of a node"), slots, reading});
}

}  // namespace capstan::saved_model
