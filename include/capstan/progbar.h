// Keras's progress bar.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/export.h"

namespace capstan {

/// Options of Progbar.
struct ProgbarOptions {
  int width = 20;                                  ///< cells of the bar
  int verbose = 1;                                 ///< 1: redrawn in place; 2: one line at the end; 0: nothing
  double interval = 0.05;                          ///< seconds between two drawings
  std::vector<std::string> stateful_metrics = {};  ///< names of values that are shown as they are, not averaged
  /// Where given, all values but these are shown as they are.
  std::optional<std::vector<std::string>> stateless_metrics = {};
  std::string unit_name = "step";
  std::function<double()> clock = {};                       ///< the time in seconds; none: that of the machine
  std::function<void(const std::string& text)> print = {};  ///< what is done with the text; none: standard output
};

/// The progress bar of Keras's `fit`: how much is done, the time that is left, the time of a step and values, whose
/// averages over the steps are shown, at the end those of the last. The text is that of keras.utils.Progbar, into files
/// too.
///
///     Progbar bar(3);
///     for (int step = 1; step <= 3; ++step) bar.update(step, {{"loss", 0.5}});
///
/// Errors: ValueError for a negative target or width.
class CAPSTAN_EXPORT Progbar {
 public:
  using Values = std::vector<std::pair<std::string, double>>;

  /// `target` is the number of steps, none if it is unknown.
  explicit Progbar(std::optional<std::int64_t> target, const ProgbarOptions& options = {});

  /// `current` steps are done. `finalize` ends the line; unless given, it is whether the target is reached.
  void update(std::int64_t current, const Values& values = {}, std::optional<bool> finalize = {});
  /// `n` more steps are done.
  void add(std::int64_t n, const Values& values = {}) { update(seen_ + n, values); }

  /// Whether update() draws now, if it is not the last: what takes long to find need not be found otherwise.
  bool is_due() const;
  /// Writes a text of one's own to where the bar goes.
  void print(const std::string& text) const { options_.print(text); }
  void set_target(std::optional<std::int64_t> target);
  std::optional<std::int64_t> target() const { return target_; }

 private:
  struct Average {
    std::string name;
    double sum = 0;
    double count = 0;
  };

  bool is_averaged(const std::string& name) const;
  void take(std::int64_t current, const Values& values, bool ends);
  double seconds_per_step(std::int64_t current, double now);
  std::string values_text(bool is_line) const;
  void draw(std::int64_t current, double now, double per_step, bool finalize);

  std::optional<std::int64_t> target_;
  ProgbarOptions options_;
  std::vector<Average> averages_ = {};  // in the order in which the names came
  std::int64_t seen_ = 0;
  double start_;
  double drawn_ = -std::numeric_limits<double>::infinity();
  std::optional<double> first_ = {};  // when the first step was done
  std::int64_t shown_ = 0;            // characters on the screen
};

}  // namespace capstan
