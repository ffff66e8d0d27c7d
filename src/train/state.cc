// The state of variables, layers, metrics, numbers and random streams.
#include "capstan/state.h"

#include <bit>
#include <utility>

#include "src/core/check.h"
#include "src/core/context.h"
#include "src/core/seed_stream.h"
#include "src/train/named_state.h"

namespace capstan {

StateBody::~StateBody() = default;

namespace {

void check_no_trace(const char* what) {
  CAPSTAN_CHECK(context.tracer == nullptr, TraceError, what, ": state has no values while a function is traced",
                help("call it outside of the function"));
}

}  // namespace

Tensor detail::saved_number(std::int64_t number) {
  return constant(std::span<const std::int64_t>(&number, 1), Shape());
}
Tensor detail::saved_number(double number) { return constant(std::span<const double>(&number, 1), Shape()); }

void detail::compare_tensor(const std::string& name, const Tensor& own, const Tensor& saved,
                            StateDifference& difference) {
  if (own.dtype() == saved.dtype() && own.shape() == saved.shape()) return;
  difference.mismatched.push_back(
      join("\"", name, "\" is ", describe(own), " here, and ", describe(saved), " was saved"));
}

StateDifference detail::compare_tensors(const NamedTensors& own, const NamedTensors& saved) {
  StateDifference difference;
  for (const auto& [name, tensor] : own) {
    const auto found = saved.find(name);
    if (found == saved.end()) {
      difference.missing.push_back(join("\"", name, "\", ", describe(tensor)));
    } else {
      compare_tensor(name, tensor, found->second, difference);
    }
  }
  for (const auto& [name, tensor] : saved) {
    if (!own.contains(name)) difference.left_over.push_back(join("\"", name, "\", ", describe(tensor)));
  }
  return difference;
}

StateDifference StateBody::compare(const NamedTensors& saved) const { return detail::compare_tensors(save(), saved); }

std::string detail::number_name(std::string name, std::map<std::string, int>& counts) {
  const int before = counts[name]++;
  if (before > 0) name += "_" + std::to_string(before);
  return name;
}

namespace {

// Variables under names.
class VariablesState : public StateBody {
 public:
  NamedTensors save() const override {
    NamedTensors saved;
    for (const auto& [name, variable] : variables()) saved.emplace(name, variable.value());
    return saved;
  }

  void restore(const NamedTensors& saved) override {
    for (const auto& [name, variable] : variables()) {
      const auto found = saved.find(name);
      if (found != saved.end()) variable.assign(found->second);
    }
  }

 private:
  virtual std::vector<std::pair<std::string, Variable>> variables() const = 0;
};

class VariableState final : public VariablesState {
 public:
  explicit VariableState(const Variable& variable) : variable_(variable) {
    CAPSTAN_CHECK(variable.has_value(), ValueError, "state: the variable is an empty handle");
  }

 private:
  std::vector<std::pair<std::string, Variable>> variables() const override { return {{"", variable_}}; }
  Variable variable_;
};

class MetricState final : public VariablesState {
 public:
  explicit MetricState(const Metric& metric) : metric_(metric) {}

 private:
  std::vector<std::pair<std::string, Variable>> variables() const override {
    std::vector<std::pair<std::string, Variable>> list;
    std::map<std::string, int> counts;
    for (const Variable& variable : metric_.variables()) {
      list.emplace_back(detail::number_name(variable.name(), counts), variable);
    }
    return list;
  }
  Metric metric_;
};

Tensor bits_of(std::uint64_t number) { return detail::saved_number(std::bit_cast<std::int64_t>(number)); }
std::uint64_t number_of(const Tensor& tensor) { return std::bit_cast<std::uint64_t>(tensor.item<std::int64_t>()); }

// Weights, and the keys of what is drawn.
class LayerStateBody final : public StateBody {
 public:
  explicit LayerStateBody(const Layer& layer) : layer_(layer) {
    CAPSTAN_CHECK(layer.has_value(), ValueError, "state: the layer is an empty handle");
  }

  NamedTensors save() const override {
    NamedTensors saved;
    const detail::NamedState named = detail::named_state(layer_);
    for (const auto& [name, variable] : named.weights) saved.emplace(name, variable.value());
    for (const auto& [name, key] : named.keys) saved.emplace(name, bits_of(*key));
    return saved;
  }

  void restore(const NamedTensors& saved) override {
    const detail::NamedState named = detail::named_state(layer_);
    for (const auto& [name, variable] : named.weights) {
      if (const auto found = saved.find(name); found != saved.end()) variable.assign(found->second);
    }
    for (const auto& [name, key] : named.keys) {
      if (const auto found = saved.find(name); found != saved.end()) *key = number_of(found->second);
    }
  }

  StateOwner owner() const override { return {.layer = &layer_}; }

 private:
  Layer layer_;
};

class RandomStateBody final : public StateBody {
 public:
  NamedTensors save() const override {
    const SeedStreams streams = seed_streams();
    return {{"process", bits_of(streams.process)}, {"streams", bits_of(streams.starts)}};
  }

  void restore(const NamedTensors& saved) override {
    SeedStreams streams = seed_streams();
    if (const auto found = saved.find("process"); found != saved.end()) streams.process = number_of(found->second);
    if (const auto found = saved.find("streams"); found != saved.end()) streams.starts = number_of(found->second);
    set_seed_streams(streams);
  }
};

template <class T>
class NumberState final : public StateBody {
 public:
  explicit NumberState(T& number) : number_(number) {}

  NamedTensors save() const override {
    if constexpr (std::is_integral_v<T>) return {{"", detail::saved_number(std::int64_t{number_})}};
    if constexpr (!std::is_integral_v<T>) return {{"", detail::saved_number(number_)}};
  }

  StateDifference compare(const NamedTensors& saved) const override {
    StateDifference difference = StateBody::compare(saved);
    if constexpr (std::is_same_v<T, int>) {
      const auto found = saved.find("");
      if (found == saved.end() || !difference.mismatched.empty()) return difference;
      const auto value = found->second.item<std::int64_t>();
      if (!std::in_range<int>(value)) {
        difference.mismatched.push_back(detail::join("the number ", value, " was saved and does not fit into an int"));
      }
    }
    return difference;
  }

  void restore(const NamedTensors& saved) override {
    const auto found = saved.find("");
    if (found == saved.end()) return;
    if constexpr (std::is_integral_v<T>) {
      const auto value = found->second.item<std::int64_t>();
      if (std::in_range<T>(value)) number_ = static_cast<T>(value);
    } else {
      number_ = found->second.item<double>();
    }
  }

  StateOwner owner() const override { return {.number = kDTypeOf<T>}; }

 private:
  T& number_;
};

}  // namespace

State::State(const Variable& variable) : body_(std::make_shared<VariableState>(variable)) {}
State::State(const Layer& layer) : body_(std::make_shared<LayerStateBody>(layer)) {}
State::State(const Optimizer& optimizer) : body_(detail::state_of(optimizer)) {}
State::State(const Metric& metric) : body_(std::make_shared<MetricState>(metric)) {}
State::State(const RandomState&) : body_(std::make_shared<RandomStateBody>()) {}
State::State(std::int64_t& number) : body_(std::make_shared<NumberState<std::int64_t>>(number)) {}
State::State(int& number) : body_(std::make_shared<NumberState<int>>(number)) {}
State::State(double& number) : body_(std::make_shared<NumberState<double>>(number)) {}

NamedTensors State::save() const {
  check_no_trace("save");
  const PauseObservers pause;
  return body_->save();
}

StateDifference State::compare(const NamedTensors& saved) const {
  check_no_trace("compare");
  const PauseObservers pause;
  return body_->compare(saved);
}

void State::restore_matching(const NamedTensors& saved) const {
  check_no_trace("restore");
  const PauseObservers pause;
  NamedTensors part = saved;
  if (body_->is_comparable()) {
    for (const auto& [name, own] : body_->save()) {
      const auto found = part.find(name);
      if (found == part.end()) continue;
      if (found->second.dtype() != own.dtype() || found->second.shape() != own.shape()) part.erase(found);
    }
  }
  body_->restore(part);
}

void State::restore(const NamedTensors& saved) const {
  check_no_trace("restore");
  const PauseObservers pause;
  const StateDifference difference = body_->compare(saved);
  std::string lines;
  for (const std::string& line : difference.missing) lines += "\n  missing: " + line;
  for (const std::string& line : difference.left_over) lines += "\n  left over: " + line;
  for (const std::string& line : difference.mismatched) lines += "\n  different: " + line;
  CAPSTAN_CHECK(lines.empty(), ValueError, "restore: what was saved is not the state of this object", lines);
  body_->restore(saved);
}

}  // namespace capstan
