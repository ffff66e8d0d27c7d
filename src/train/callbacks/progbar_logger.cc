// ProgbarLogger: Keras's progress bar.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>

#include "capstan/callbacks.h"

namespace capstan::callbacks {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCells = 20;
constexpr double kRedrawSeconds = 0.05;

std::string formatted(const char* format, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string bold(const std::string& text) { return "\x1b[1m" + text + "\x1b[0m"; }

std::string repeated(const char* text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

// "12s", "1:05", "2:03:09".
std::string duration(double seconds) {
  const auto whole = static_cast<long long>(seconds);
  char text[40];
  if (whole > 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole % 3600 / 60, whole % 60);
  } else if (whole > 60) {
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%llds", whole);
  }
  return text;
}

std::string step_time(double seconds) {
  if (seconds >= 1 || seconds == 0) return formatted("%.0fs", seconds) + "/step";
  if (seconds >= 1e-3) return formatted("%.0fms", seconds * 1e3) + "/step";
  return formatted("%.0fus", seconds * 1e6) + "/step";
}

std::string values_text(const Logs& logs) {
  std::string text;
  for (const auto& [name, value] : logs) {
    text += " - " + name + ": " + formatted(std::fabs(value) > 1e-3 ? "%.4f" : "%.4e", value);
  }
  return text;
}

class Body final : public CallbackBody {
 public:
  void on_train_begin() override { is_training_ = true; }
  void on_train_end(const Logs&) override { is_training_ = false; }
  void on_epoch_begin(std::int64_t epoch) override {
    if (params().epochs > 1) {
      std::printf("Epoch %lld/%lld\n", static_cast<long long>(epoch) + 1, static_cast<long long>(params().epochs));
    }
    begin();
  }
  void on_train_batch_end(std::int64_t batch, const BatchLogs& logs) override { update(batch + 1, &logs); }
  void on_epoch_end(std::int64_t, Logs& logs) override { finish(logs); }

  // Inside of a training the bar is that of its steps.
  void on_test_begin() override {
    if (!is_training_) begin();
  }
  void on_test_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    if (!is_training_) update(batch + 1, &logs);
  }
  void on_test_end(const Logs& logs) override {
    if (!is_training_) finish(logs);
  }
  void on_predict_begin() override { begin(); }
  void on_predict_batch_end(std::int64_t batch, const Nest&) override { update(batch + 1, nullptr); }
  void on_predict_end() override { finish({}); }

 private:
  void begin() {
    start_ = first_ = drawn_ = Clock::now();
    step_ = 0;
    width_ = 0;
  }

  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

  // Without the first step, which traces.
  double seconds_per_step(Clock::time_point now) const {
    if (step_ <= 1) return step_ == 0 ? 0 : seconds(now - start_);
    return seconds(now - first_) / static_cast<double>(step_ - 1);
  }

  void update(std::int64_t step, const BatchLogs* logs) {
    const Clock::time_point now = Clock::now();
    if (step_ == 0) first_ = now;
    step_ = params().steps ? std::min(step, *params().steps) : step;
    if (params().verbose != 1 || seconds(now - drawn_) < kRedrawSeconds) return;
    drawn_ = now;
    draw(now, logs != nullptr ? logs->numbers() : Logs(), false);
  }

  void finish(const Logs& logs) {
    const Clock::time_point now = Clock::now();
    if (params().verbose == 1) {
      draw(now, logs, true);
    } else {
      const std::string count = std::to_string(step_);
      std::printf("%s/%s - %s - %s%s\n", count.c_str(), count.c_str(),
                  duration(std::round(seconds(now - start_))).c_str(), step_time(seconds_per_step(now)).c_str(),
                  values_text(logs).c_str());
    }
    std::fflush(stdout);
  }

  void draw(Clock::time_point now, const Logs& logs, bool is_done) {
    // The number of steps is known at the end if it was not before.
    const std::int64_t target = is_done ? step_ : params().steps.value_or(-1);
    std::string text, shown;
    if (target >= 0) {
      const std::string total = std::to_string(target);
      std::string done = std::to_string(step_);
      done.insert(0, total.size() > done.size() ? total.size() - done.size() : 0, ' ');
      const int filled = target == 0 ? kCells : static_cast<int>(kCells * step_ / target);
      text = bold(done + "/" + total) + " ";
      if (filled > 0) text += "\x1b[32m" + repeated("━", filled) + "\x1b[0m";
      text += "\x1b[37m" + repeated("━", kCells - filled) + "\x1b[0m";
      shown = done + "/" + total + " " + std::string(kCells, '-');
    } else {
      char count[40];
      std::snprintf(count, sizeof count, "%7lld/Unknown", static_cast<long long>(step_));
      text = bold(count);
      shown = count;
    }
    const double each = seconds_per_step(now);
    const std::string time =
        is_done || target < 0 ? duration(seconds(now - start_)) : duration(each * static_cast<double>(target - step_));
    const std::string rest = " " + step_time(each) + values_text(logs);
    text += " " + bold(time) + rest;
    shown += " " + time + rest;
    const std::size_t width = shown.size();
    std::string line = std::string(width_, '\b') + "\r" + text;
    if (width < width_) line.append(width_ - width, ' ');
    width_ = width;
    std::printf("%s%s", line.c_str(), is_done ? "\n" : "");
    std::fflush(stdout);
  }

  bool is_training_ = false;
  Clock::time_point start_, first_, drawn_;
  std::int64_t step_ = 0;
  std::size_t width_ = 0;  // of what is shown
};

}  // namespace

ProgbarLogger::ProgbarLogger() : Callback(std::make_shared<Body>()) {}

}  // namespace capstan::callbacks
