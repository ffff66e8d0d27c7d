// A log file of TensorBoard: a TFRecord file of Event messages.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "capstan/summary.h"
#include "src/io/output_file.h"

namespace capstan::logs {

/// The fields of an Event that hold something.
enum class EventField : std::uint32_t { kGraph = 4, kSummary = 5 };

/// This machine's name, fit to be part of a file's.
std::string host_name();

/// Any thread may call any of these.
class EventFile {
 public:
  /// Makes the file and its first record, which says what it is.
  EventFile(const std::string& folder, const summary::WriterOptions& options);

  /// Adds an event of the present time. Throws IoError if it cannot be written, ValueError after close().
  void add(EventField field, std::string_view content, std::int64_t step);
  void flush();
  void close();

  const std::string& path() const { return file_->path(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  summary::WriterOptions options_;
  std::unique_ptr<io::OutputFile> file_;
  std::int64_t waiting_ = 0;
  Clock::time_point last_flush_ = Clock::now();
};

}  // namespace capstan::logs
