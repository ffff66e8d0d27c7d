// When callbacks write files, and under which names.
#pragma once

#include <cstdint>
#include <string>

#include "capstan/checkpoint_callbacks.h"

namespace capstan {

// Counts batches across epochs, as Keras does.
class BatchCounter {
 public:
  explicit BatchCounter(const SaveFrequency& frequency) : frequency_(frequency) {}
  void begin_epoch() { next_ = 0; }
  // Whether it is time after this batch of the epoch, of which several may have gone by.
  bool is_due(std::int64_t batch) {
    if (frequency_.is_epoch()) return false;
    seen_ += batch + 1 - next_;
    next_ = batch + 1;
    if (seen_ < frequency_.batches()) return false;
    seen_ = 0;
    return true;
  }

 private:
  SaveFrequency frequency_;
  std::int64_t next_ = 0, seen_ = 0;
};

// Replaces {name} and {name:format} by values, with formats of Python's such as 02d, .2f and .3e; {{ is a brace. Throws
// ValueError for a name that is not among the values, or a format that does not fit.
std::string file_name(const std::string& pattern, std::int64_t epoch, std::optional<std::int64_t> batch,
                      const Logs& logs);

}  // namespace capstan
