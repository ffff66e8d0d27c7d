// A progress bar around a loop over a dataset.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "capstan/data.h"

namespace capstan {

/// Options of progress.
struct ProgressOptions {
  /// Stands before the bar.
  std::string label = {};
  /// Where it is printed: 1 is standard output, 2 standard error.
  int file_descriptor = 2;
};

/// A bar with the number of steps, the rate and the remaining time. On a terminal it is redrawn in place, a few times a
/// second; elsewhere only the finished line is printed.
class CAPSTAN_EXPORT ProgressBar {
 public:
  /// A negative total is an unknown one.
  ProgressBar(std::int64_t total, const ProgressOptions& options = {});
  ProgressBar(ProgressBar&&) noexcept;
  ~ProgressBar();

  /// One more step is done.
  void step();
  /// A text after the bar, such as the loss.
  void set_message(std::string message);
  /// Prints the last state and ends the line. Later calls do nothing.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A dataset whose loops show a progress bar.
template <class... Ts>
class ProgressRange {
 public:
  ProgressRange(Dataset<Ts...> dataset, const ProgressOptions& options)
      : dataset_(std::move(dataset)), options_(options) {}

  /// Counts a step whenever the loop asks for the next element.
  class Iterator {
   public:
    Iterator(typename Dataset<Ts...>::Iterator iterator, ProgressBar bar)
        : iterator_(std::move(iterator)), bar_(std::move(bar)) {}
    decltype(auto) operator*() const { return *iterator_; }
    Iterator& operator++() {
      bar_.step();
      ++iterator_;
      if (iterator_ == std::default_sentinel) bar_.finish();
      return *this;
    }
    friend bool operator==(const Iterator& a, std::default_sentinel_t end) { return a.iterator_ == end; }

   private:
    typename Dataset<Ts...>::Iterator iterator_;
    ProgressBar bar_;
  };
  Iterator begin() const { return Iterator(dataset_.begin(), ProgressBar(dataset_.cardinality(), options_)); }
  std::default_sentinel_t end() const { return {}; }

 private:
  Dataset<Ts...> dataset_;
  ProgressOptions options_;
};

/// Shows the progress of a loop.
///
///     for (const auto& [x, y] : progress(train.batch(64))) train_step(x, y);
template <class... Ts>
ProgressRange<Ts...> progress(Dataset<Ts...> dataset, const ProgressOptions& options = {}) {
  return {std::move(dataset), options};
}

}  // namespace capstan
