// map() with calls on other threads.
//
// Each worker reserves a place, pulls the next element of the input, puts it at the end of a list of calls, and runs
// the function on it. The consumer takes finished calls from the front of the list, or from anywhere if order does not
// matter. Pulling and putting happen under one lock, so the list has the order of the input, and an element is in the
// input or in the list but never between them: a position is the elements of the list and the position of the input,
// and calls that have not been given out run again when it is restored.
#include "src/data/parallel_map.h"

#include <list>

#include "src/data/workers.h"

namespace capstan::detail {

namespace {

class ParallelMapCursor : public CountingCursor {
 public:
  ParallelMapCursor(PartTypes element, DatasetCursorPtr from, const char* name, const PartFunction& function,
                    std::int64_t parallel_calls, bool deterministic)
      : CountingCursor(element, std::move(from)),
        name_(name),
        function_(function),
        workers_(worker_count(parallel_calls)),
        deterministic_(deterministic) {}
  ~ParallelMapCursor() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    threads_.join();
  }
  const char* name() const override { return name_; }

  bool next(Part* element) override {
    if (!threads_.started()) threads_.start(workers_, [this] { work(); });
    std::unique_lock lock(mutex_);
    std::list<Call> taken;
    done_.wait(lock, [&] {
      const auto ready =
          deterministic_ ? (!calls_.empty() && calls_.front().is_done ? calls_.begin() : calls_.end())
                         : std::find_if(calls_.begin(), calls_.end(), [](const Call& call) { return call.is_done; });
      if (ready != calls_.end()) taken.splice(taken.begin(), calls_, ready);
      return !taken.empty() || failure_ != nullptr || (ended_ && calls_.empty());
    });
    if (taken.empty() && failure_ != nullptr) throw_failure(failure_, lock, room_);
    if (taken.empty()) return false;
    --places_;
    lock.unlock();
    room_.notify_one();
    Call& call = taken.front();
    if (call.error != nullptr) std::rethrow_exception(call.error);
    move_parts(call.result.data(), call.result.size(), element);
    return true;
  }

  void save(PositionWriter& position) override {
    const std::scoped_lock lock(input_mutex_, mutex_);
    std::vector<Part> parts;
    std::vector<std::int64_t> numbers;
    for (const auto* list : {&calls_, &restored_}) {
      for (const Call& call : *list) {
        // An error of the input has no element that could be asked again.
        if (call.parts.empty())
          throw ValueError(join("save: ", name_, " holds an error of its input; read on before the position is saved"));
        numbers.push_back(call.number);
        parts.insert(parts.end(), call.parts.begin(), call.parts.end());
      }
    }
    position.numbers("numbers", numbers);
    position.parts("calls", input->types, parts);
    position.number("ended", ended_ ? 1 : 0);
    CountingCursor::save(position);
  }
  void restore(PositionReader& position) override {
    const std::vector<std::int64_t> numbers = position.numbers("numbers", 0);
    std::vector<Part> parts = position.parts("calls", input->types);
    const std::size_t width = input->types.size();
    if (parts.size() != numbers.size() * width) position.refuse("calls");
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      Call& call = restored_.emplace_back();
      call.number = numbers[i];
      call.parts.assign(parts.begin() + static_cast<std::ptrdiff_t>(i * width),
                        parts.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    }
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
  };

  void work() {
    while (Call* call = pull()) {
      std::exception_ptr error = call->error;
      if (error == nullptr) {
        try {
          at_element(name_, call->number, [&] { function_(call->parts.data(), call->result.data()); });
        } catch (...) {
          error = std::current_exception();
        }
      }
      {
        const std::lock_guard lock(mutex_);
        call->error = error;
        call->is_done = true;
      }
      done_.notify_one();
    }
  }

  // The next call, at the end of the list; null at the end of the input, or of the cursor.
  Call* pull() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        room_.wait(lock, [&] { return stopping_ || ended_ || (failure_ == nullptr && places_ < 2 * workers_); });
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
      try {
        input_ended_ = !input->next(call.parts.data());
      } catch (...) {
        call.error = std::current_exception();
        call.parts.clear();
      }
      if (input_ended_) {
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

  const char* name_;
  PartFunction function_;
  std::int64_t workers_;
  bool deterministic_;

  std::mutex input_mutex_;  // of the input, `at` and what follows; taken before the other one
  std::list<Call> restored_;
  bool input_ended_ = false;

  std::mutex mutex_;  // of what follows
  std::condition_variable room_, done_;
  std::list<Call> calls_;       // pulled and not given out
  std::int64_t places_ = 0;     // calls, and those that are about to be
  std::exception_ptr failure_;  // of the threads' own, not of a call
  bool ended_ = false;
  bool stopping_ = false;

  Workers threads_;
};

}  // namespace

DatasetNodePtr parallel_mapped(const char* name, PartTypes types, DatasetNodePtr input, PartFunction function,
                               std::int64_t parallel_calls, bool deterministic) {
  const std::int64_t size = input->cardinality();
  return make_stage<ParallelMapCursor>(types, std::move(input), size, name, std::move(function), parallel_calls,
                                       deterministic);
}

}  // namespace capstan::detail
