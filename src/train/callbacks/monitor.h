// A value of the logs that callbacks look at: whether it has improved.
#pragma once

#include <optional>
#include <string>

#include "capstan/callbacks.h"

namespace capstan {

class CAPSTAN_EXPORT Monitor {
 public:
  // `owner` is for messages. "auto" is resolved with the model's metrics.
  Monitor(const char* owner, std::string name, std::string mode, double min_delta);

  // At the beginning of a training. Throws ValueError if "auto" does not know the name.
  void reset(const Model& model);
  // The value, or nothing with a warning.
  std::optional<double> read(const Logs& logs) const;
  // Whether it is better than `best` by more than min_delta; everything is better than nothing, NaN than nothing else.
  bool is_better(double value, std::optional<double> best) const;

 private:
  const char* owner_;
  std::string name_, mode_;
  double min_delta_;
  bool is_max_ = false;
};

}  // namespace capstan
