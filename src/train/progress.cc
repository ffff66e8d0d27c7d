// The progress bar.
#include "capstan/progress.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace capstan {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCells = 30;
constexpr double kRedrawSeconds = 0.1;

// "7s", "1:07", "2:01:07".
std::string clock_time(double seconds) {
  const long s = std::lround(seconds);
  char text[40];
  if (s < 60) {
    std::snprintf(text, sizeof text, "%lds", s);
  } else if (s < 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld", s / 60, s % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  }
  return text;
}

}  // namespace

struct ProgressBar::State {
  std::int64_t total;
  std::int64_t done = 0;
  ProgressOptions options;
  std::string message;
  bool is_terminal;
  bool is_finished = false;
  std::size_t width = 0;  // of the line on the screen
  Clock::time_point start = Clock::now();
  Clock::time_point drawn = start;

  std::string line() const {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start).count();
    const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
    std::string text = options.label.empty() ? "" : options.label + " ";
    text += std::to_string(done) + "/" + (total < 0 ? "?" : std::to_string(total)) + " [";
    const auto filled = static_cast<int>(total > 0 ? done * kCells / total : total == 0 || is_finished ? kCells : 0);
    for (int i = 0; i < kCells; ++i) text += i < filled ? '=' : i == filled ? '>' : '.';
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, "] %.1f/s ", rate);
    text += numbers;
    if (is_finished || done == 0 || total < 0) {
      text += clock_time(elapsed);
    } else {
      text += "ETA " + clock_time(static_cast<double>(total - done) / rate);
    }
    return message.empty() ? text : text + " " + message;
  }

  void write(const std::string& text) const {
    std::size_t at = 0;
    while (at < text.size()) {
      const ssize_t written = ::write(options.file_descriptor, text.data() + at, text.size() - at);
      if (written <= 0) return;  // A bar that cannot be shown is no reason to stop a training.
      at += static_cast<std::size_t>(written);
    }
  }

  void draw() {
    std::string text = line();
    const std::size_t length = text.size();
    if (length < width) text.append(width - length, ' ');
    width = length;
    write("\r" + text);
  }
};

ProgressBar::ProgressBar(std::int64_t total, const ProgressOptions& options) : state_(new State{.total = total}) {
  state_->options = options;
  state_->is_terminal = ::isatty(options.file_descriptor) == 1;
}

ProgressBar::ProgressBar(ProgressBar&&) noexcept = default;

ProgressBar::~ProgressBar() {
  // A loop that was left early still ends its line; one that never ran prints nothing.
  if (state_ != nullptr && state_->done > 0) finish();
}

void ProgressBar::step() {
  State& state = *state_;
  ++state.done;
  if (!state.is_terminal) return;
  const Clock::time_point now = Clock::now();
  if (std::chrono::duration<double>(now - state.drawn).count() < kRedrawSeconds) return;
  state.drawn = now;
  state.draw();
}

void ProgressBar::set_message(std::string message) { state_->message = std::move(message); }

void ProgressBar::finish() {
  State& state = *state_;
  if (state.is_finished) return;
  state.is_finished = true;
  if (state.is_terminal) {
    state.draw();
    state.write("\n");
  } else {
    state.write(state.line() + "\n");
  }
}

}  // namespace capstan
