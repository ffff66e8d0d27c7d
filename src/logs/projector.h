// What TensorBoard's projector reads: tables of rows as text, and projector_config.pbtxt, which lists them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "capstan/summary.h"

namespace capstan::logs {

/// The tables beside one log. Not thread-safe.
class Projector {
 public:
  explicit Projector(std::string folder) : folder_(std::move(folder)) {}

  /// Writes a table, its labels and the list anew.
  void write(std::string_view name, const Tensor& rows, const summary::EmbeddingOptions& options);

 private:
  struct Files {
    std::string rows, labels;
  };

  void write_list() const;

  std::string folder_;
  std::map<std::string, Files> tables_;
};

}  // namespace capstan::logs
