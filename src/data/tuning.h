// Numbers that stages find while a pass runs: kAutotune.
//
// A stage begins on the thread of the loop and takes the time of a few elements, and of a few more now and then. It
// starts a thread only if what that would do takes much longer than to hand an element over, so a cheap function costs
// what it costs without kAutotune. More threads, and more elements ahead, follow when the loop has to wait. A model of
// the whole pipeline, as TensorFlow has, was rejected: each stage sees by itself whether whoever asks it waits, and
// what it does then changes no order and no result.
//
// What the stages of a pass hold ahead is bounded by a budget that they share. A stage with nothing ahead may always
// make one element, so that every pass goes on.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "src/data/stage.h"

namespace capstan::detail {

// Bytes of tensors that may be ahead of the loop.
class Budget {
 public:
  explicit Budget(std::int64_t bytes) : bytes_(bytes) {}

  bool has_room(std::int64_t bytes) const { return held_.load(std::memory_order_relaxed) + bytes <= bytes_; }
  void take(std::int64_t bytes) { held_.fetch_add(bytes, std::memory_order_relaxed); }
  void give_back(std::int64_t bytes) { held_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  std::int64_t bytes_;
  std::atomic<std::int64_t> held_ = 0;
};
using BudgetPtr = std::shared_ptr<Budget>;

// What Dataset::with_options() gave to the stages that are being opened on this thread.
struct PassSettings {
  BudgetPtr budget;
  std::optional<bool> deterministic;
};

BudgetPtr current_budget();
// Whether a stage with threads keeps the order: its own option, else that of the pass.
bool in_order(std::optional<bool> own);

inline std::int64_t bytes_of(const Part* parts, std::size_t count) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& tensor = parts[i].tensor;
    if (tensor.has_value()) bytes += tensor.size() * static_cast<std::int64_t>(size_of(tensor.dtype()));
  }
  return bytes;
}

// How long something takes, seen at the first elements and at some now and then.
class Sampler {
 public:
  // Whether the next one is to be timed: begin() before and end() after it.
  bool is_next() { return (++count_ & (kPeriod - 1)) < kSamples; }
  void begin() {
    begin_ = Clock::now();
    if (end_ != Clock::time_point()) between_.add(begin_ - end_);
  }
  // True if a row of samples is complete.
  bool end() {
    end_ = Clock::now();
    within_.add(end_ - begin_);
    const bool is_complete = (count_ & (kPeriod - 1)) == kSamples - 1;
    if (is_complete) end_ = {};
    return is_complete;
  }

  // Means of the row, but for its longest, in seconds; the next row begins.
  double take_within() { return within_.take(); }
  // The time between the end of one and the start of the next.
  double take_between() { return between_.take(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t kSamples = 4, kPeriod = 512;

  struct Row {
    void add(Clock::duration time) {
      sum += time;
      longest = std::max(longest, time);
      ++count;
    }
    double take() {
      const double mean = count < 2 ? 0 : std::chrono::duration<double>(sum - longest).count() / (count - 1);
      *this = {};
      return mean;
    }
    Clock::duration sum = {}, longest = {};
    int count = 0;
  };

  std::uint64_t count_ = ~std::uint64_t{0};
  Clock::time_point begin_ = {}, end_ = {};  // the latter of the sample before, if that is of the same row
  Row within_, between_;
};

// To hand an element over takes some microseconds, of both threads.
inline constexpr double kWorthAThread = 20e-6, kWorthOverlapping = 5e-6;

}  // namespace capstan::detail
