// map() and batches with calls on other threads.
//
// Each worker reserves a place, pulls the next element of the input, or as many as make a batch, puts them at the end
// of a list of calls, and runs the function on them. The consumer takes finished calls from the front of the list, or
// from anywhere if order does not matter. Pulling and putting happen under one lock, so the list has the order of the
// input, and an element is in the input or in the list but never between them: a position is the elements of the list
// and the position of the input, and calls that have not been given out run again when it is restored.
#include "src/data/parallel_map.h"

#include <condition_variable>
#include <algorithm>
#include <mutex>
#include <list>

#include "src/data/tuning.h"
#include "src/data/workers.h"

namespace capstan::detail {

namespace {

class ParallelMapCursor : public CountingCursor {
 public:
  ParallelMapCursor(PartTypes element, DatasetCursorPtr from, const char* name, PartFunction function,
                    GroupFunction join, const Grouping& grouping, std::int64_t parallel_calls,
                    std::optional<bool> deterministic)
      : CountingCursor(element, std::move(from)),
        name_(name),
        function_(std::move(function)),
        join_(std::move(join)),
        grouping_(grouping),
        most_workers_(worker_count(parallel_calls)),
        deterministic_(in_order(deterministic)),
        calls_here_(parallel_calls == kAutotune),
        here_(input->types.size()) {
    if (parallel_calls == kAutotune) budget_ = current_budget();
  }
  ~ParallelMapCursor() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    threads_.join();
    for (const Call& call : calls_) release(call);
  }
  const char* name() const override { return name_; }

  bool read_next(Part* element) override {
    if (calls_here_) [[likely]]
      return grouping_.size == 1 && restored_.empty() ? call_here(element) : call_group_here(element);
    return read_from_threads(element);
  }

  void save(PositionWriter& position) override {
    const std::scoped_lock lock(input_mutex_, mutex_);
    std::vector<Part> parts;
    std::vector<std::int64_t> numbers, counts;
    for (const auto* list : {&calls_, &restored_}) {
      for (const Call& call : *list) {
        // An error of the input has no element that could be asked again.
        if (call.parts.empty())
          throw ValueError(join("save: ", name_, " holds an error of its input; read on before the position is saved"));
        numbers.push_back(call.number);
        counts.push_back(count_of(call));
        parts.insert(parts.end(), call.parts.begin(), call.parts.end());
      }
    }
    position.numbers("numbers", numbers);
    if (grouping_.size > 1) position.numbers("counts", counts);
    position.parts("calls", input->types, parts);
    position.number("ended", ended_ ? 1 : 0);
    CountingCursor::save(position);
  }
  void restore(PositionReader& position) override {
    const std::vector<std::int64_t> numbers = position.numbers("numbers", 0);
    const std::vector<std::int64_t> counts = grouping_.size > 1 ? position.numbers("counts", 1, grouping_.size)
                                                                : std::vector<std::int64_t>(numbers.size(), 1);
    std::vector<Part> parts = position.parts("calls", input->types);
    if (counts.size() != numbers.size()) position.refuse("counts");
    const auto width = static_cast<std::int64_t>(input->types.size());
    auto at = parts.begin();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t size = counts[i] * width;
      if (size > parts.end() - at) position.refuse("calls");
      Call& call = restored_.emplace_back();
      call.number = numbers[i];
      call.parts.assign(at, at + size);
      at += size;
    }
    if (at != parts.end()) position.refuse("calls");
    input_ended_ = position.flag("ended");
    CountingCursor::restore(position);
  }

 private:
  struct Call {
    std::int64_t number = 0;
    std::vector<Part> parts;
    std::vector<Part> result;
    std::exception_ptr error;
    bool is_done = false;
    std::int64_t bytes = 0;  // of the budget
  };
  static constexpr int kWaits = 4;

  void start(std::int64_t workers) {
    workers_ = workers;
    threads_.start(workers, [this] { work(); });
  }

  // If the consumer has to wait and has done so before.
  void add_worker(std::unique_lock<std::mutex>& lock) {
    const bool is_ready = !calls_.empty() && (calls_.front().is_done || !deterministic_);
    if (is_ready || ended_ || workers_ == most_workers_ || ++waits_ < kWaits) return;
    waits_ = 0;
    ++workers_;
    lock.unlock();
    threads_.start(1, [this] { work(); });
    lock.lock();
  }

  [[gnu::noinline]] bool read_from_threads(Part* element) {
    if (!threads_.started()) start(budget_ != nullptr ? 1 : most_workers_);
    std::unique_lock lock(mutex_);
    if (budget_ != nullptr) add_worker(lock);
    std::list<Call> taken;
    wait_for_threads(done_, lock, name_, [&] {
      const auto ready =
          deterministic_ ? (!calls_.empty() && calls_.front().is_done ? calls_.begin() : calls_.end())
                         : std::find_if(calls_.begin(), calls_.end(), [](const Call& call) { return call.is_done; });
      if (ready != calls_.end()) taken.splice(taken.begin(), calls_, ready);
      return !taken.empty() || failure_ != nullptr || (ended_ && calls_.empty());
    });
    if (taken.empty() && failure_ != nullptr) throw_failure(failure_, lock, room_);
    if (taken.empty()) return false;
    --places_;
    Call& call = taken.front();
    release(call);
    lock.unlock();
    room_.notify_one();
    if (call.error != nullptr) std::rethrow_exception(call.error);
    move_parts(call.result.data(), call.result.size(), element);
    return true;
  }

  // On the thread of the loop, as long as others would not pay.
  bool call_here(Part* element) {
    input_ended_ = input_ended_ || !input->next(here_.data());
    if (input_ended_) return false;
    const std::int64_t number = at++;
    if (!sampler_.is_next()) [[likely]] {
      run(number, here_.data(), 1, element);
    } else {
      run_timed(number, here_.data(), 1, element);
    }
    std::fill(here_.begin(), here_.end(), Part());  // nothing lives longer than it is needed
    return true;
  }
  // The same for several elements, or for a call that a position has.
  [[gnu::noinline]] bool call_group_here(Part* element) {
    Call call;
    if (!restored_.empty()) {
      call = std::move(restored_.front());
      restored_.pop_front();
    } else if (!input_ended_) {
      call.parts.resize(input->types.size());
      call.number = at;
      pull_elements(call);
      if (call.error != nullptr) std::rethrow_exception(call.error);
      if (!call.parts.empty()) ++at;
    }
    if (call.parts.empty()) return false;
    if (sampler_.is_next()) {
      run_timed(call.number, call.parts.data(), count_of(call), element);
    } else {
      run(call.number, call.parts.data(), count_of(call), element);
    }
    return true;
  }
  [[gnu::noinline]] void run_timed(std::int64_t number, const Part* parts, std::int64_t count, Part* result) {
    sampler_.begin();
    run(number, parts, count, result);
    if (sampler_.end()) calls_here_ = sampler_.take_within() < kWorthAThread;
  }

  void run(std::int64_t number, const Part* parts, std::int64_t count, Part* result) {
    if (function_ != nullptr) {
      at_element(name_, number, [&] { function_(parts, result); });
    } else {
      join_(parts, count, result);
    }
  }

  // Whether another call may be made ahead. The lock is held.
  bool has_room() const {
    if (places_ >= 2 * workers_) return false;
    return places_ == 0 || budget_ == nullptr || budget_->has_room(last_bytes_);
  }
  void release(const Call& call) {
    if (budget_ != nullptr) budget_->give_back(call.bytes);
  }

  void work() {
    while (Call* call = pull()) {
      std::exception_ptr error;
      if (call->error == nullptr) {
        try {
          const Span span(SpanKind::kCall, name_);
          run(call->number, call->parts.data(), count_of(*call), call->result.data());
        } catch (...) {
          error = std::current_exception();
        }
      }
      {
        const std::lock_guard lock(mutex_);
        if (error != nullptr) call->error = std::move(error);
        call->is_done = true;
        if (budget_ != nullptr) {
          last_bytes_ = call->bytes = bytes_of(call->result.data(), call->result.size());
          budget_->take(call->bytes);
        }
      }
      done_.notify_one();
    }
  }

  // The next call, at the end of the list; null at the end of the input, or of the cursor.
  Call* pull() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stopping_ || ended_ || (failure_ == nullptr && has_room()); });
        if (stopping_ || ended_) return nullptr;
        ++places_;
      }
      try {
        return pull_to_place();
      } catch (...) {
        const std::lock_guard lock(mutex_);
        --places_;
        failure_ = std::current_exception();
      }
      done_.notify_one();
    }
  }

  // After a place is reserved. What throws here has read nothing.
  Call* pull_to_place() {
    const std::lock_guard input_lock(input_mutex_);
    std::list<Call> one;
    if (!restored_.empty()) {
      restored_.front().result.resize(types.size());
      one.splice(one.begin(), restored_, restored_.begin());
    } else if (!input_ended_) {
      Call& call = one.emplace_back();
      call.parts.resize(input->types.size());
      call.result.resize(types.size());
      call.number = at;
      pull_elements(call);
      if (call.parts.empty() && call.error == nullptr) {
        one.clear();
      } else if (call.error == nullptr) {
        ++at;
      }
    }
    const std::lock_guard lock(mutex_);
    if (one.empty()) {
      ended_ = true;
      --places_;
      done_.notify_one();
      room_.notify_all();
      return nullptr;
    }
    calls_.splice(calls_.end(), one);
    return &calls_.back();
  }

  // The elements of one call, none at the end of the input. Room for the first is there.
  void pull_elements(Call& call) {
    const std::size_t width = input->types.size();
    std::int64_t count = 0;
    while (count < grouping_.size && !input_ended_) {
      try {
        if (call.error == nullptr) call.parts.resize(static_cast<std::size_t>(count + 1) * width);
      } catch (...) {
        call.error = std::current_exception();
      }
      if (call.error != nullptr) call.parts.resize(width);  // where the others are read over
      try {
        input_ended_ = !input->next(call.parts.data() + call.parts.size() - width);
      } catch (...) {
        if (call.error == nullptr) call.error = std::current_exception();
      }
      if (!input_ended_) ++count;
    }
    if (count == 0) call.error = nullptr;
    const bool is_dropped = call.error == nullptr && grouping_.drop_remainder && count < grouping_.size;
    const bool has_parts = call.error == nullptr && !is_dropped;
    call.parts.resize(has_parts ? static_cast<std::size_t>(count) * width : 0);
  }

  std::int64_t count_of(const Call& call) const {
    return static_cast<std::int64_t>(call.parts.size() / input->types.size());
  }

  const char* name_;
  PartFunction function_;  // of one element, or else
  GroupFunction join_;
  Grouping grouping_;
  std::int64_t most_workers_;
  bool deterministic_;
  BudgetPtr budget_;  // of kAutotune; else null
  Sampler sampler_;
  bool calls_here_;         // kAutotune, as long as no thread would pay
  std::vector<Part> here_;  // elements of the input, for that

  std::mutex input_mutex_;  // of the input, `at` and what follows; taken before the other one
  std::list<Call> restored_;
  bool input_ended_ = false;

  std::mutex mutex_;  // of what follows
  std::condition_variable room_, done_;
  std::list<Call> calls_;    // pulled and not given out
  std::int64_t places_ = 0;  // calls, and those that are about to be
  std::int64_t workers_ = 0;
  std::int64_t last_bytes_ = 0;  // of the result that was made last
  int waits_ = 0;                // since there is another worker
  std::exception_ptr failure_;   // of the threads' own, not of a call
  bool ended_ = false;
  bool stopping_ = false;

  Workers threads_;
};

}  // namespace

DatasetCursorPtr parallel_groups(const char* name, PartTypes types, DatasetCursorPtr input, GroupFunction join,
                                 const Grouping& grouping, std::int64_t parallel_calls,
                                 std::optional<bool> deterministic) {
  return std::make_unique<ParallelMapCursor>(types, std::move(input), name, nullptr, std::move(join), grouping,
                                             parallel_calls, deterministic);
}

DatasetNodePtr parallel_mapped(const char* name, PartTypes types, DatasetNodePtr input, PartFunction function,
                               std::int64_t parallel_calls, std::optional<bool> deterministic) {
  const std::int64_t size = input->cardinality();
  return make_stage<ParallelMapCursor>(types, std::move(input), size, name, std::move(function), GroupFunction(),
                                       Grouping(), parallel_calls, deterministic);
}

}  // namespace capstan::detail
