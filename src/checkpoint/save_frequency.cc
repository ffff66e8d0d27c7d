#include "src/checkpoint/save_frequency.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "src/core/check.h"

namespace capstan {

SaveFrequency::SaveFrequency(const char* text) {
  CAPSTAN_CHECK(std::string_view(text) == "epoch", ValueError, "save_freq must be \"epoch\" or a number, not \"", text,
                "\"");
}

SaveFrequency::SaveFrequency(std::int64_t batches) : batches_(batches) {
  CAPSTAN_CHECK(batches >= 1, ValueError, "save_freq must be \"epoch\" or at least 1, not ", batches);
}

void set_field(SaveFrequency& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  const bool is_text = value.kind == AttributeValue::Kind::kString;
  CAPSTAN_CHECK(is_text || value.kind == AttributeValue::Kind::kInt, ValueError, owner, ": option \"", name,
                "\" must be \"epoch\" or a number, not ", value.to_string());
  field = is_text ? SaveFrequency(value.text) : SaveFrequency(value.integer);
}

AttributeValue get_field(const SaveFrequency& field) {
  if (field.is_epoch()) return "epoch";
  return field.batches();
}

namespace {

// What {name:format} says: [0][width][.precision][type].
struct Format {
  bool has_zeros = false;
  int width = 0;
  int precision = -1;
  char type = '\0';
};

constexpr int kWidest = 100;

Format parse_format(std::string_view text, std::string_view whole) {
  Format format;
  const auto fail = [&] {
    throw ValueError(detail::join("model_checkpoint: the format in \"{", whole, "}\" is not known",
                                  help("formats are [0][width][.precision][d, e, f or g]")));
  };
  const auto number = [&](int& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0 || value > kWidest) fail();
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  };
  if (text.starts_with('0')) {
    format.has_zeros = true;
    text.remove_prefix(1);
  }
  if (!text.empty() && text[0] >= '0' && text[0] <= '9') number(format.width);
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    number(format.precision);
  }
  if (!text.empty() && std::string_view("defg").find(text[0]) != std::string_view::npos) {
    format.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) fail();
  return format;
}

std::string padded(std::string text, const Format& format) {
  const auto width = static_cast<std::size_t>(format.width);
  if (text.size() >= width) return text;
  const bool is_negative = text.starts_with('-');
  const std::size_t at = format.has_zeros && is_negative ? 1 : 0;
  return text.insert(at, width - text.size(), format.has_zeros ? '0' : ' ');
}

std::string text_of(double value, const Format& format) {
  char text[512];
  if (format.type == '\0' && format.precision < 0) {
    // As Python: the shortest digits that read back as the same number.
    const auto [end, error] = std::to_chars(text, text + sizeof text, value);
    std::string result(text, end);
    if (result.find_first_not_of("-0123456789") == std::string::npos) result += ".0";
    return padded(result, format);
  }
  const char type = format.type == '\0' ? 'g' : format.type;
  const int precision = format.precision < 0 ? 6 : format.precision;
  const char* const pattern = type == 'e' ? "%.*e" : type == 'f' ? "%.*f" : "%.*g";
  std::snprintf(text, sizeof text, pattern, precision, value);
  return padded(text, format);
}

}  // namespace

std::string file_name(const std::string& pattern, std::int64_t epoch, std::optional<std::int64_t> batch,
                      const Logs& logs) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c != '{' && c != '}') {
      name += c;
      continue;
    }
    if (i + 1 < pattern.size() && pattern[i + 1] == c) {
      name += c;
      ++i;
      continue;
    }
    const std::size_t end = pattern.find('}', i);
    CAPSTAN_CHECK(c == '{' && end != std::string::npos, ValueError, "model_checkpoint: the braces in \"", pattern,
                  "\" do not match");
    const std::string_view whole = std::string_view(pattern).substr(i + 1, end - i - 1);
    i = end;
    const std::size_t colon = std::min(whole.find(':'), whole.size());
    const std::string key(whole.substr(0, colon));
    const Format format = parse_format(whole.substr(std::min(colon + 1, whole.size())), whole);
    const bool is_count = key == "epoch" || (key == "batch" && batch);
    if (is_count && (format.type == 'd' || format.type == '\0') && format.precision < 0) {
      name += padded(std::to_string((key == "epoch" ? epoch : *batch) + 1), format);
      continue;
    }
    const auto found = logs.find(key);
    std::string known = "epoch";
    for (const auto& [other, value] : logs) known += ", " + other;
    CAPSTAN_CHECK(is_count || found != logs.end(), ValueError, "model_checkpoint: \"", pattern, "\" names \"", key,
                  "\", which is not among the values: ", known);
    CAPSTAN_CHECK(format.type != 'd', ValueError, "model_checkpoint: \"{", whole, "}\" is for whole numbers, and \"",
                  key, "\" is none");
    name += text_of(is_count ? static_cast<double>((key == "epoch" ? epoch : *batch) + 1) : found->second, format);
  }
  return name;
}

}  // namespace capstan
