// Functions of elements, called when an element is asked for. Calls on other threads are in parallel_map.cc.
#include <algorithm>

#include "src/data/parallel_map.h"

namespace capstan::detail {

namespace {

class MapCursor : public CountingCursor {
 public:
  MapCursor(PartTypes element, DatasetCursorPtr from, const char* name, const PartFunction& function)
      : CountingCursor(element, std::move(from)), name_(name), function_(function), parts_(input->types.size()) {}
  const char* name() const override { return name_; }
  bool read_next(Part* element) override {
    if (!input->next(parts_.data())) return false;
    const std::int64_t number = at++;
    at_element(name_, number, [&] { function_(parts_.data(), element); });
    std::fill(parts_.begin(), parts_.end(), Part());  // nothing lives longer than it is needed
    return true;
  }

 private:
  const char* name_;
  PartFunction function_;
  std::vector<Part> parts_;
};

using ScanFunction = std::function<void(Part* state, const Part* element, Part* result)>;

class ScanCursor : public CountingCursor {
 public:
  ScanCursor(PartTypes element, DatasetCursorPtr from, PartTypes state_types, const Part& initial,
             const ScanFunction& function)
      : CountingCursor(element, std::move(from)),
        state_types_(state_types),
        state_(initial),
        function_(function),
        parts_(input->types.size()) {}
  const char* name() const override { return "scan"; }
  bool read_next(Part* element) override {
    if (!input->next(parts_.data())) return false;
    const std::int64_t number = at++;
    at_element(name(), number, [&] { function_(&state_, parts_.data(), element); });
    return true;
  }
  void save(PositionWriter& position) override {
    position.parts("state", state_types_, {state_});
    CountingCursor::save(position);
  }
  void restore(PositionReader& position) override {
    std::vector<Part> state = position.parts("state", state_types_);
    if (state.size() != 1) position.refuse("state");
    state_ = state[0];
    CountingCursor::restore(position);
  }

 private:
  PartTypes state_types_;
  Part state_;
  ScanFunction function_;
  std::vector<Part> parts_;
};

}  // namespace

DatasetNodePtr mapped(const char* name, PartTypes types, DatasetNodePtr input, PartFunction function,
                      std::int64_t parallel_calls, std::optional<bool> deterministic) {
  CAPSTAN_CHECK(parallel_calls >= kAutotune, ValueError, name, ": num_parallel_calls is ", parallel_calls,
                help("0 is none, kAutotune chooses"));
  if (parallel_calls != 0) {
    return parallel_mapped(name, types, std::move(input), std::move(function), parallel_calls, deterministic);
  }
  const std::int64_t size = input->cardinality();
  return make_stage<MapCursor>(types, std::move(input), size, name, std::move(function));
}

DatasetNodePtr scanned(PartTypes types, DatasetNodePtr input, PartTypes state_types, Part initial,
                       ScanFunction function) {
  const std::int64_t size = input->cardinality();
  return make_stage<ScanCursor>(types, std::move(input), size, state_types, std::move(initial), std::move(function));
}

}  // namespace capstan::detail
