#include "src/checkpoint/checkpoint_list.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "capstan/error.h"
#include "src/io/byte_source.h"
#include "src/io/file_sink.h"

namespace capstan {

namespace {

constexpr const char* kReader = "read_checkpoint_list";
constexpr const char* kFile = "checkpoint";
// More names than this are no list of a manager.
constexpr std::uint64_t kLongest = 1 << 24;

std::string quoted_name(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string text_of(double seconds) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, seconds);
  return {text, end};
}

class Lines {
 public:
  Lines(const io::ByteSource& source, std::string_view text) : source_(source), text_(text) {}

  CheckpointList read() {
    CheckpointList list;
    while (!text_.empty()) {
      ++number_;
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      read_line(text_.substr(0, end), list);
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    if (list.latest.empty()) source_.fail("it names no latest checkpoint");
    if (!list.timestamps.empty() && list.timestamps.size() != list.names.size()) {
      source_.fail("it has " + std::to_string(list.names.size()) + " paths and " +
                   std::to_string(list.timestamps.size()) + " timestamps");
    }
    return list;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    source_.fail("line " + std::to_string(number_) + ": " + problem);
  }

  void read_line(std::string_view line, CheckpointList& list) const {
    if (line.empty()) return;
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) fail("it is not `key: value`");
    const std::string_view key = line.substr(0, colon), value = line.substr(colon + 2);
    if (key == "model_checkpoint_path") {
      list.latest = name(value);
    } else if (key == "all_model_checkpoint_paths") {
      list.names.push_back(name(value));
    } else if (key == "all_model_checkpoint_timestamps") {
      list.timestamps.push_back(seconds(value));
    } else if (key == "last_preserved_timestamp") {
      list.last_preserved = seconds(value);
    } else {
      fail("the key " + io::in_quotes(key) + " is not known");
    }
  }

  std::string name(std::string_view value) const {
    if (value.size() < 2 || value.front() != '"' || value.back() != '"') fail("expected a path in quotes");
    std::string name;
    for (std::size_t i = 1; i + 1 < value.size(); ++i) {
      if (value[i] == '\\') ++i;
      if (i + 1 >= value.size()) fail("expected a path in quotes");
      name += value[i];
    }
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      fail("the path " + io::in_quotes(name) + " is not the name of a file in the directory");
    }
    return name;
  }

  double seconds(std::string_view value) const {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number)) {
      fail(io::in_quotes(value) + " is no time");
    }
    return number;
  }

  const io::ByteSource& source_;
  std::string_view text_;
  int number_ = 0;
};

}  // namespace

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string path_in(const std::string& directory, const std::string& name) {
  return (std::filesystem::path(directory) / name).string();
}

std::optional<CheckpointList> read_checkpoint_list(const std::string& directory) {
  const std::string path = path_in(directory, kFile);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const std::unique_ptr<io::ByteSource> source = io::open_plain_file(kReader, path);
  if (source->most_bytes() > kLongest) source->fail("it is too long for a list of checkpoints");
  const std::vector<std::byte> bytes = io::read_exactly(*source, source->most_bytes(), "list");
  return Lines(*source, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}).read();
}

void write_checkpoint_list(const std::string& directory, const CheckpointList& list) {
  std::string text = "model_checkpoint_path: " + quoted_name(list.latest) + "\n";
  for (const std::string& name : list.names) text += "all_model_checkpoint_paths: " + quoted_name(name) + "\n";
  for (const double time : list.timestamps) text += "all_model_checkpoint_timestamps: " + text_of(time) + "\n";
  if (list.last_preserved) text += "last_preserved_timestamp: " + text_of(*list.last_preserved) + "\n";
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(text))};
  io::write_file_durably("save", path_in(directory, kFile), pieces);
}

}  // namespace capstan
