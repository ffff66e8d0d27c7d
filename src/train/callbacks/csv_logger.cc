// CSVLogger.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>

#include "capstan/callbacks.h"
#include "src/core/check.h"
#include "src/train/callbacks/classes.h"

namespace capstan {
namespace callbacks {

std::span<const OptionField> CSVLoggerOptions::fields() {
  using O = CSVLoggerOptions;
  static constexpr OptionField all[] = {option<&O::separator>("separator"), option<&O::append>("append")};
  return all;
}

namespace {

constexpr const char* kLineEnd = "\r\n";  // as Keras writes them

// With the digits that read back as the same number.
std::string text_of(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  std::string result(text, end);
  if (result.find_first_not_of("-0123456789") == result.npos) result += ".0";
  return result;
}

struct CSVLoggerConfig : CSVLoggerOptions {
  std::string filename;
  static std::span<const OptionField> fields() {
    using O = CSVLoggerConfig;
    static constexpr OptionField all[] = {option<&O::filename>("filename", true), option<&O::separator, O>("separator"),
                                          option<&O::append, O>("append")};
    return all;
  }
};

struct CSVLoggerBody final : Configured<CSVLoggerBody, CallbackBody, CSVLoggerConfig> {
  using Configured::Configured;
  static constexpr std::string_view kName = "CSVLogger";
  static constexpr std::string_view kText = "Writes the values of each epoch to a file.";

  void on_train_begin() override {
    std::error_code ignored;
    const bool has_lines = std::filesystem::file_size(options.filename, ignored) > 0 && !ignored;
    needs_header = !options.append || !has_lines;
    file.open(options.filename, options.append ? std::ios::app : std::ios::trunc);
    CAPSTAN_CHECK(file.is_open(), IoError, "csv_logger: the file \"", options.filename, "\" cannot be written");
    columns.clear();
  }

  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    if (columns.empty()) {
      for (const auto& [name, value] : logs) columns.push_back(name);
      // Validation may be missing in this epoch and not in others.
      const bool has_validation =
          std::any_of(columns.begin(), columns.end(), [](const std::string& name) { return name.starts_with("val_"); });
      if (!has_validation) {
        for (const auto& [name, value] : logs) columns.push_back("val_" + name);
      }
      if (needs_header) {
        file << "epoch";
        for (const std::string& name : columns) file << options.separator << name;
        file << kLineEnd;
      }
    }
    file << epoch;
    for (const std::string& name : columns) {
      const auto found = logs.find(name);
      file << options.separator << (found == logs.end() ? "NA" : text_of(found->second));
    }
    file << kLineEnd << std::flush;
    CAPSTAN_CHECK(file.good(), IoError, "csv_logger: the file \"", options.filename, "\" cannot be written");
  }

  void on_train_end(const Logs&) override { file.close(); }

  std::ofstream file;
  bool needs_header = true;
  std::vector<std::string> columns;
};

}  // namespace

CSVLogger::CSVLogger(const std::string& filename, const CSVLoggerOptions& options)
    : Callback(make_configurable<CSVLoggerBody>(CSVLoggerConfig{options, filename})) {}

}  // namespace callbacks

const ClassInfo& detail::csv_logger_class() { return callbacks::CSVLoggerBody::info(); }

}  // namespace capstan
