#include "src/logs/event_file.h"

#include <unistd.h>

#include <mutex>
#include <chrono>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>

#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/record_frame.h"
#include "src/io/wire.h"

namespace capstan::logs {

namespace {

constexpr const char* kWriter = "summary";

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// TensorFlow's names, by which TensorBoard finds logs and puts those of a folder in order.
std::string file_name(std::string_view suffix) {
  static std::atomic<unsigned> count = 0;
  std::array<char, 32> seconds{};
  std::snprintf(seconds.data(), seconds.size(), "%010lld", static_cast<long long>(now()));
  return std::string("events.out.tfevents.") + seconds.data() + "." + host_name() + "." + std::to_string(getpid()) +
         "." + std::to_string(count++) + std::string(suffix);
}

std::string first_event() {
  io::wire::Writer source, event;
  source.bytes(1, "capstan");
  event.number(1, static_cast<double>(static_cast<long long>(now())));
  event.bytes(3, "brain.Event:2");
  event.bytes(10, source.text());
  return event.take();
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  std::string text = name.data();
  for (char& c : text) {
    if (c == '/') c = '_';
  }
  return text;
}

EventFile::EventFile(const std::string& folder, const summary::WriterOptions& options) : options_(options) {
  CAPSTAN_CHECK(options.max_queue >= 0 && options.flush_millis >= 0, ValueError, "summary: max_queue ",
                options.max_queue, " and flush_millis ", options.flush_millis, " must not be negative");
  CAPSTAN_CHECK(options.filename_suffix.find('/') == std::string::npos, ValueError, "summary: filename_suffix \"",
                options.filename_suffix, "\" has a slash");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) io::fail_file(kWriter, "cannot make the folder, " + error.message(), folder);
  file_ = std::make_unique<io::OutputFile>(
      kWriter, (std::filesystem::path(folder) / file_name(options.filename_suffix)).string());
  file_->write(io::framed_record(first_event()));
  file_->flush();
}

void EventFile::add(EventField field, std::string_view content, std::int64_t step) {
  io::wire::Writer event;
  event.number(1, now());
  if (step != 0) event.varint(2, static_cast<std::uint64_t>(step));
  event.bytes(static_cast<std::uint32_t>(field), content);
  const std::string record = io::framed_record(event.text());
  const std::lock_guard lock(mutex_);
  file_->write(record);
  ++waiting_;
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_flush_);
  if (waiting_ < options_.max_queue && waited.count() < options_.flush_millis) return;
  file_->flush();
  waiting_ = 0;
  last_flush_ = Clock::now();
}

void EventFile::flush() {
  const std::lock_guard lock(mutex_);
  file_->flush();
  waiting_ = 0;
  last_flush_ = Clock::now();
}

void EventFile::close() {
  const std::lock_guard lock(mutex_);
  file_->close();
}

}  // namespace capstan::logs
