// Keras's progress bar, keras.utils.Progbar: its text to the letter, which programs parse.
#include "capstan/progbar.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "src/core/check.h"
#include "src/core/utf8.h"

namespace capstan {

namespace {

constexpr const char* kCell = "━";

double time_of_the_machine() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string formatted(const char* format, double value) {
  if (std::isnan(value)) return "nan";  // whatever its sign is
  char text[400];                       // the largest double has 309 digits
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string bold(const std::string& text) { return "\x1b[1m" + text + "\x1b[0m"; }

std::string cells(std::int64_t count) {
  std::string result;
  for (std::int64_t i = 0; i < count; ++i) result += kCell;
  return result;
}

// What is left: "12s", "1:05", "2:03:09".
std::string duration(double seconds) {
  const auto whole = static_cast<long long>(std::abs(seconds) < 1e15 ? seconds : 0);
  char text[60];
  if (seconds > 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", whole / 3600, whole % 3600 / 60, whole % 60);
  } else if (seconds > 60) {
    std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%llds", whole);
  }
  return text;
}

std::string step_time(double seconds, const std::string& unit) {
  if (seconds >= 1 || seconds == 0) return formatted("%.0fs/", seconds) + unit;
  if (seconds >= 1e-3) return formatted("%.0fms/", seconds * 1e3) + unit;
  return formatted("%.0fus/", seconds * 1e6) + unit;
}

// "  7/100"
std::string count_of(std::int64_t current, std::int64_t target) {
  const std::string total = std::to_string(target), done = std::to_string(current);
  return std::string(total.size() > done.size() ? total.size() - done.size() : 0, ' ') + done + "/" + total;
}

void check_target(std::optional<std::int64_t> target) {
  CAPSTAN_CHECK(!target || *target >= 0, ValueError, "progbar: target must be at least 0, not ", *target);
}

}  // namespace

Progbar::Progbar(std::optional<std::int64_t> target, const ProgbarOptions& options)
    : target_(target), options_(options) {
  check_target(target);
  CAPSTAN_CHECK(options.width >= 0, ValueError, "progbar: width must be at least 0, not ", options.width);
  if (!options_.clock) options_.clock = time_of_the_machine;
  if (!options_.print) {
    options_.print = [](const std::string& text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    };
  }
  start_ = options_.clock();
}

void Progbar::set_target(std::optional<std::int64_t> target) {
  check_target(target);
  target_ = target;
}

bool Progbar::is_averaged(const std::string& name) const {
  const auto among = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return !among(options_.stateful_metrics) && (!options_.stateless_metrics || among(*options_.stateless_metrics));
}

// The last values of a loop stand for all of it, as they are.
void Progbar::take(std::int64_t current, const Values& values, bool ends) {
  for (const auto& [name, value] : values) {
    const std::string& its_name = name;
    auto average = std::find_if(averages_.begin(), averages_.end(),
                                [&its_name](const Average& one) { return one.name == its_name; });
    if (average == averages_.end()) average = averages_.insert(average, Average{name});
    const bool adds = !ends && is_averaged(name);
    if (!adds) *average = {name};
    const double weight = adds ? static_cast<double>(std::max<std::int64_t>(current - seen_, 1)) : 1;
    average->sum += value * weight;
    average->count += weight;
  }
  seen_ = current;
}

// Without the first step, which traces.
double Progbar::seconds_per_step(std::int64_t current, double now) {
  if (current == 0) return 0;
  const double result = first_ && current > 1 ? (now - *first_) / static_cast<double>(current - 1)
                                              : (now - start_) / static_cast<double>(current);
  if (current == 1) first_ = now;
  return result;
}

// A single line has the sign of small numbers taken for their size, as Keras's has.
std::string Progbar::values_text(bool is_line) const {
  std::string text;
  for (const Average& one : averages_) {
    const double value = one.sum / std::max(1.0, one.count);
    text += " - " + one.name + ": " + formatted((is_line ? value : std::abs(value)) > 1e-3 ? "%.4f" : "%.4e", value);
  }
  return text;
}

bool Progbar::is_due() const { return options_.verbose == 1 && options_.clock() - drawn_ >= options_.interval; }

void Progbar::update(std::int64_t current, const Values& values, std::optional<bool> finalize) {
  const bool ends = finalize.value_or(target_ && current >= *target_);
  take(current, values, ends);
  const double now = options_.clock();
  const double per_step = seconds_per_step(current, now);
  if (options_.verbose == 1) {
    if (now - drawn_ < options_.interval && !ends) return;
    draw(current, now, per_step, ends);
  } else if (options_.verbose == 2 && ends) {
    options_.print(count_of(current, target_.value_or(current)) + " - " + formatted("%.0fs", now - start_) + " - " +
                   step_time(per_step, options_.unit_name) + values_text(true) + "\n");
  }
  drawn_ = now;
}

void Progbar::draw(std::int64_t current, double now, double per_step, bool finalize) {
  std::string text(static_cast<std::size_t>(shown_), '\b');
  text += '\r';
  std::int64_t shown = 0;
  if (target_) {
    const std::string count = count_of(current, *target_);
    const double part = *target_ == 0 ? 1 : static_cast<double>(current) / static_cast<double>(*target_);
    const auto filled = static_cast<std::int64_t>(options_.width * std::clamp(part, 0.0, 1.0));
    text += bold(count) + " ";
    if (filled > 0) text += "\x1b[32m" + cells(filled) + "\x1b[0m";
    text += "\x1b[37m" + cells(options_.width - filled) + "\x1b[0m";
    shown += static_cast<std::int64_t>(count.size()) + 1 + options_.width;
  } else {
    char count[40];
    std::snprintf(count, sizeof count, "%7lld/Unknown", static_cast<long long>(current));
    text += count;
    shown += static_cast<std::int64_t>(std::strlen(count));
  }
  const std::string time = target_ && !finalize ? duration(per_step * static_cast<double>(*target_ - current))
                                                : formatted("%.0fs", now - start_);
  const std::string rest = " " + step_time(per_step, options_.unit_name) + values_text(false);
  text += " " + bold(time) + rest;
  shown += 1 + static_cast<std::int64_t>(time.size()) +
           static_cast<std::int64_t>(std::count_if(rest.begin(), rest.end(), utf8::is_begin));
  if (shown < shown_) text.append(static_cast<std::size_t>(shown_ - shown), ' ');
  if (finalize) text += '\n';
  shown_ = shown;
  options_.print(text);
}

}  // namespace capstan
