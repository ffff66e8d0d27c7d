#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "capstan/summary.h"
#include "src/logs/event_file.h"
#include "src/logs/event_message.h"
#include "src/logs/projector.h"

namespace capstan::summary {

struct Writer::State {
  State(const std::string& folder, const WriterOptions& options) : file(folder, options), projector(folder) {}

  // Adds a summary of one value, after a look at the texts.
  void add(std::string_view name, const logs::Plugin& plugin, std::string_view tensor, std::int64_t step,
           std::string_view description);

  logs::EventFile file;
  std::mutex projector_mutex;
  logs::Projector projector;
};

}  // namespace capstan::summary
