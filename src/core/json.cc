// Dynamic values as JSON text.
//
// A reader of its own: configurations are small, and the library has no other use for one of the JSON libraries, which
// would be a tenth of its size.
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "capstan/registry.h"
#include "src/core/check.h"
#include "src/core/utf8.h"

namespace capstan {

namespace {

using Kind = AttributeValue::Kind;

void append_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    } else {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto code = static_cast<unsigned char>(c);
      out += "\\u00";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
    }
  }
  out += '"';
}

void append(std::string& out, const AttributeValue& value) {
  switch (value.kind) {
    case Kind::kNone:
      out += "null";
      return;
    case Kind::kString:
      append_text(out, value.text);
      return;
    case Kind::kFloat:
      if (!std::isfinite(value.number)) return append_text(out, value.to_string());
      [[fallthrough]];
    case Kind::kBool:
    case Kind::kInt:
      out += value.to_string();
      return;
    case Kind::kList:
    case Kind::kMap:
      break;
  }
  const bool is_map = value.kind == Kind::kMap;
  out += is_map ? '{' : '[';
  const std::size_t count = is_map ? value.items.size() : value.list.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) out += ", ";
    if (is_map) {
      append_text(out, value.items[i].first);
      out += ": ";
    }
    append(out, is_map ? value.items[i].second : value.list[i]);
  }
  out += is_map ? '}' : ']';
}

class Reader {
 public:
  explicit Reader(std::string_view json) : json_(json) {}

  AttributeValue read_all() {
    AttributeValue value = read(0);
    skip_space();
    check(at_ == json_.size(), "the end of the text");
    return value;
  }

 private:
  // Deeper nesting is refused, since the reader recurses.
  static constexpr int kMostLevels = 100;

  void check(bool condition, std::string_view wanted) const {
    CAPSTAN_CHECK(condition, ValueError, "from_json: there should be ", wanted, " at position ", at_);
  }

  char peek() const { return at_ < json_.size() ? json_[at_] : '\0'; }

  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++at_;
  }

  bool take(char c) {
    skip_space();
    if (peek() != c || at_ == json_.size()) return false;
    ++at_;
    return true;
  }

  bool take(std::string_view word) {
    if (!json_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  AttributeValue read(int level) {
    check(level < kMostLevels, "less nesting");
    skip_space();
    if (peek() == '"') return read_text();
    if (take("true")) return true;
    if (take("false")) return false;
    if (take("null")) return {};
    if (take('[')) return read_list(level);
    if (take('{')) return read_map(level);
    return read_number();
  }

  AttributeValue read_list(int level) {
    AttributeValue value{std::vector<AttributeValue>()};
    if (take(']')) return value;
    do value.list.push_back(read(level + 1));
    while (take(','));
    check(take(']'), "\",\" or \"]\"");
    return value;
  }

  AttributeValue read_map(int level) {
    AttributeValue value = AttributeValue::map();
    if (take('}')) return value;
    do {
      skip_space();
      std::string key = read_text();
      check(take(':'), "\":\"");
      value.set(key, read(level + 1));
    } while (take(','));
    check(take('}'), "\",\" or \"}\"");
    return value;
  }

  AttributeValue read_number() {
    const std::size_t begin = at_;
    while (std::string_view("+-0123456789.eE").find(peek()) != std::string_view::npos && at_ < json_.size()) ++at_;
    const std::string_view text = json_.substr(begin, at_ - begin);
    const char* const end = text.data() + text.size();
    std::int64_t integer = 0;
    if (const auto read = std::from_chars(text.data(), end, integer); read.ec == std::errc() && read.ptr == end) {
      return integer;
    }
    double number = 0;
    const auto read = std::from_chars(text.data(), end, number);
    at_ = begin;
    check(read.ec == std::errc() && read.ptr == end, "a value");
    at_ += text.size();
    return number;
  }

  unsigned read_code() {
    unsigned code = 0;
    const std::string_view digits = json_.substr(at_, 4);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    check(digits.size() == 4 && read.ec == std::errc() && read.ptr == digits.data() + 4, "four hexadecimal digits");
    at_ += 4;
    return code;
  }

  void read_escape(std::string& text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const std::size_t which = kLetters.find(peek());
    if (which != std::string_view::npos && at_ < json_.size()) {
      text += kMeant[which];
      ++at_;
      return;
    }
    check(take("u"), "an escape sequence");
    unsigned code = read_code();
    check(code < 0xdc00 || code >= 0xe000, "a character, not the second half of one");
    if (code >= 0xd800 && code < 0xdc00) {
      const unsigned low = take("\\u") ? read_code() : 0;
      check(low >= 0xdc00 && low < 0xe000, "the second half of a character");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    utf8::append(text, code);
  }

  std::string read_text() {
    check(take('"'), "a text in quotes");
    std::string text;
    while (at_ < json_.size() && json_[at_] != '"') {
      const char c = json_[at_++];
      if (c == '\\') {
        read_escape(text);
      } else {
        text += c;
      }
    }
    check(peek() == '"', "a quote at the end of the text");
    ++at_;
    return text;
  }

  std::string_view json_;
  std::size_t at_ = 0;
};

}  // namespace

std::string AttributeValue::to_json() const {
  std::string out;
  append(out, *this);
  return out;
}

AttributeValue AttributeValue::from_json(std::string_view json) { return Reader(json).read_all(); }

}  // namespace capstan
