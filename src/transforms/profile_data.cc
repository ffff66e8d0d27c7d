// What a profile shows: rows, a table of them, and the trace that other programs draw.
#include "src/transforms/profile_data.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

#include "capstan/registry.h"
#include "src/core/check.h"
#include "src/core/op_for_programs.h"

namespace capstan {

namespace {

constexpr std::string_view kKinds[] = {"op",    "loop",  "rule",  "gradient", "function",
                                       "trace", "scope", "stage", "wait",     "call"};
std::string_view name_of(SpanKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::int64_t count_of(const SpanTensor& tensor) {
  std::int64_t count = 1;
  for (int i = 0; i < tensor.rank; ++i) count *= tensor.dims[i];
  return count;
}

std::string text_of(const SpanTensor& tensor) {
  if (tensor.is_number) return "number";
  Shape shape;
  for (int i = 0; i < tensor.rank; ++i) shape.push_back(tensor.dims[i]);
  return describe(tensor.dtype, shape);
}

double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

// --- Texts of numbers ---

std::string number(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

std::string text_of_seconds(double value) {
  if (value >= 1) return number("%.3f s", value);
  if (value >= 1e-3) return number("%.3f ms", value * 1e3);
  return number("%.3f us", value * 1e6);
}

std::string text_of_bytes(std::int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (value >= 1 << 30) return number("%.1f GiB", value / (1 << 30));
  if (value >= 1 << 20) return number("%.1f MiB", value / (1 << 20));
  if (value >= 1 << 10) return number("%.1f KiB", value / (1 << 10));
  return number("%.0f B", value);
}

std::string percent(double share) { return number("%.1f %%", share * 100); }

// As a text of JSON.
std::string json_text(std::string_view text) { return AttributeValue(std::string(text)).to_json(); }

std::string list_of(std::span<const SpanTensor> tensors) {
  std::string json = "[";
  for (const SpanTensor& tensor : tensors) json += (json.size() > 1 ? ", " : "") + json_text(text_of(tensor));
  return json + "]";
}

// Microseconds, which traces count in.
std::string microseconds(std::int64_t nanoseconds) { return number("%.3f", static_cast<double>(nanoseconds) * 1e-3); }

// A table whose first column is text and whose others are numbers.
std::string table(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths(lines[0].size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      text += i == 0 ? line[i] + space : "  " + space + line[i];
    }
    text += '\n';
  }
  return text;
}

}  // namespace

std::int64_t bytes_of(std::span<const SpanTensor> tensors) {
  std::int64_t bytes = 0;
  for (const SpanTensor& tensor : tensors) {
    if (!tensor.is_number) bytes += count_of(tensor) * static_cast<std::int64_t>(size_of(tensor.dtype));
  }
  return bytes;
}

double flops_of(const OpDef* op, std::span<const SpanTensor> inputs, std::span<const SpanTensor> outputs) {
  const CostRule rule = op == nullptr ? nullptr : for_programs(*op).cost;
  if (rule == nullptr || outputs.empty()) return 0;
  const auto shapes_of = [](std::span<const SpanTensor> tensors) {
    std::vector<Shape> shapes(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      for (int axis = 0; axis < tensors[i].rank; ++axis) shapes[i].push_back(tensors[i].dims[axis]);
    }
    return shapes;
  };
  return 2 * rule(shapes_of(inputs), shapes_of(outputs)).multiply_adds;
}

void ProfileData::sum_up() {
  std::map<std::pair<SpanKind, std::string>, ProfileRow> by_name;
  std::int64_t all = 0;
  for (const ThreadSpans& thread : threads) {
    for (const auto& [key, name] : thread.names) {
      if (name.count == 0) continue;
      ProfileRow& row = by_name[key];
      row.name = name.text;
      row.kind = name_of(name.kind);
      row.count += name.count;
      row.self_seconds += seconds(name.self);
      row.total_seconds += seconds(name.total);
      row.result_bytes += name.bytes;
      row.flops += name.flops;
      all += name.self;
    }
  }
  span_seconds = seconds(all);
  for (auto& [key, row] : by_name) {
    row.mean_seconds = row.total_seconds / static_cast<double>(row.count);
    row.share = all > 0 ? row.self_seconds / span_seconds : 1.0 / static_cast<double>(by_name.size());
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.self_seconds > b.self_seconds; });
}

void write_trace(std::ostream& out, const ProfileData& data) {
  const std::string process = "\"pid\": " + std::to_string(getpid());
  out << "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n";
  out << R"({"ph": "M", "name": "process_name", )" << process << R"(, "args": {"name": "capstan"}})";
  std::int64_t left_out = 0;
  for (std::size_t t = 0; t < data.threads.size(); ++t) {
    const ThreadSpans& thread = data.threads[t];
    const std::string of_thread = process + ", \"tid\": " + std::to_string(t);
    const std::string name = t == 0 ? "thread 0 (of profile)" : "thread " + std::to_string(t);
    out << ",\n"
        << R"({"ph": "M", "name": "thread_name", )" << of_thread << R"(, "args": {"name": )" << json_text(name) << "}}";
    left_out += thread.left_out;
    for (const SpanEvent& event : thread.events) {
      const std::span<const SpanTensor> tensors(thread.tensors.data() + event.first_tensor, event.tensors);
      const auto inputs = tensors.first(event.inputs);
      const auto outputs = tensors.subspan(event.inputs);
      out << ",\n"
          << R"({"ph": "X", "name": )" << json_text(event.name->text) << R"(, "cat": ")" << name_of(event.name->kind)
          << "\", \"ts\": " << microseconds(event.begin - data.begin) << ", \"dur\": " << microseconds(event.duration)
          << ", " << of_thread << ", \"args\": {";
      if (!inputs.empty()) out << "\"inputs\": " << list_of(inputs);
      if (!outputs.empty()) out << (inputs.empty() ? "" : ", ") << "\"outputs\": " << list_of(outputs);
      if (event.flops > 0) out << ", \"flops\": " << number("%.0f", event.flops);
      out << "}}";
    }
  }
  out << "\n], \"otherData\": {\"left_out\": " << left_out << "}}\n";
}

// --- Profile ---

const std::vector<ProfileRow>& Profile::rows() const {
  static const std::vector<ProfileRow> none;
  return data_ == nullptr ? none : data_->rows;
}
double Profile::wall_seconds() const { return data_ == nullptr ? 0 : seconds(data_->wall); }
double Profile::span_seconds() const { return data_ == nullptr ? 0 : data_->span_seconds; }

std::string Profile::to_string(int limit) const {
  CAPSTAN_CHECK(limit >= 0, ValueError, "profile: the limit of rows must not be negative, but is ", limit);
  std::vector<std::vector<std::string>> lines;
  lines.push_back({"name", "kind", "self", "share", "total", "calls", "mean", "results", "GFLOP/s"});
  ProfileRow others;
  std::size_t left = 0;
  for (const ProfileRow& row : rows()) {
    if (std::ssize(lines) > limit) {
      ++left;
      others.self_seconds += row.self_seconds;
      others.share += row.share;
      others.count += row.count;
      others.result_bytes += row.result_bytes;
      continue;
    }
    const std::string speed =
        row.flops > 0 && row.total_seconds > 0 ? number("%.1f", row.flops / row.total_seconds * 1e-9) : "";
    lines.push_back({row.name, row.kind, text_of_seconds(row.self_seconds), percent(row.share),
                     text_of_seconds(row.total_seconds), std::to_string(row.count), text_of_seconds(row.mean_seconds),
                     text_of_bytes(row.result_bytes), speed});
  }
  if (left > 0) {
    lines.push_back({std::to_string(left) + " more", "", text_of_seconds(others.self_seconds), percent(others.share),
                     "", std::to_string(others.count), "", text_of_bytes(others.result_bytes), ""});
  }
  const std::size_t threads =
      data_ == nullptr
          ? 0
          : static_cast<std::size_t>(std::count_if(data_->threads.begin(), data_->threads.end(),
                                                   [](const ThreadSpans& thread) { return !thread.names.empty(); }));
  return table(lines) + text_of_seconds(span_seconds()) + " in " + std::to_string(threads) +
         (threads == 1 ? " thread" : " threads") + ", " + text_of_seconds(wall_seconds()) + " on the clock\n";
}

void Profile::save(const std::string& path) const {
  const auto check = [&](const std::ofstream& file) {
    if (file) return;
    throw IoError(detail::join("profile: the trace cannot be written\n  file: ", path,
                               "\n  reason: ", std::generic_category().message(errno)));
  };
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  check(file);
  write_trace(file, data_ == nullptr ? ProfileData() : *data_);
  file.close();
  check(file);
}

}  // namespace capstan
