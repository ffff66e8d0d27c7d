// Reads log files of TensorBoard, for tests.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "capstan/tensor.h"

namespace capstan::testing {

struct LoggedValue {
  std::string tag, plugin, plugin_content, description;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::string message;  // the whole Summary.Value
};

struct LoggedEvent {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string file_version, writer, graph;
  std::vector<LoggedValue> values;
};

std::vector<LoggedEvent> events_of(const std::string& path);

// All values of a file, with the steps of their events.
struct SteppedValue : LoggedValue {
  std::int64_t step = 0;
};
std::vector<SteppedValue> values_of(const std::string& path);

// The one log in a folder.
std::string log_in(const std::string& folder);

// "tag@step" of each value, in order.
std::vector<std::string> tags_of(const std::string& path);

}  // namespace capstan::testing
