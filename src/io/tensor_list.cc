#include "src/io/tensor_list.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <set>

#include "capstan/error.h"
#include "capstan/memory.h"
#include "capstan/registry.h"
#include "src/core/check.h"
#include "src/core/unfilled.h"
#include "src/core/utf8.h"
#include "src/io/crc32c.h"
#include "src/io/raw_array.h"

namespace capstan::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they stand");

// What one element of a file is, and what it becomes.
struct StoredType {
  std::string_view name;
  std::size_t size;
  DType dtype;
  bool is_as_stored;  // otherwise it is converted
};

constexpr std::array<StoredType, 15> kTypes = {{{"F32", 4, DType::kFloat32, true},
                                                {"F64", 8, DType::kFloat64, true},
                                                {"BF16", 2, DType::kBFloat16, true},
                                                {"I32", 4, DType::kInt32, true},
                                                {"I64", 8, DType::kInt64, true},
                                                {"U8", 1, DType::kUInt8, true},
                                                {"BOOL", 1, DType::kBool, true},
                                                {"C64", 8, DType::kComplex64, true},
                                                {"C128", 16, DType::kComplex128, true},
                                                {"F16", 2, DType::kFloat32, false},
                                                {"I8", 1, DType::kInt32, false},
                                                {"I16", 2, DType::kInt32, false},
                                                {"U16", 2, DType::kInt32, false},
                                                {"U32", 4, DType::kInt64, false},
                                                {"U64", 8, DType::kInt64, false}}};

const StoredType* find_type(std::string_view name) {
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const StoredType& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : found;
}

// Each function consumes what it names or fails.
class ListParser {
 public:
  ListParser(const ByteSource& source, std::string_view text) : source_(source), text_(text) {}

  TensorList parse() {
    TensorList list;
    std::set<std::string> names;
    bool has_metadata = false;
    each_member([&](std::string name) {
      if (name == "__metadata__") {
        if (std::exchange(has_metadata, true)) fail("\"__metadata__\" stands there twice");
        list.metadata = metadata();
        return;
      }
      if (!names.insert(name).second) fail("the name " + in_quotes(name) + " stands there twice");
      list.tensors.push_back(tensor(std::move(name)));
    });
    skip_space();
    if (position_ != text_.size()) fail("unexpected " + in_quotes(text_.substr(position_)));
    return list;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    source_.fail("the header is no list of tensors, " + problem + " at byte " + std::to_string(position_), kFetchAgain);
  }

  char peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  void skip_space() {
    constexpr std::string_view kSpace = " \n\t\r";
    while (position_ < text_.size() && kSpace.find(text_[position_]) != std::string_view::npos) ++position_;
  }
  bool accept(char c) {
    if (peek() != c || position_ == text_.size()) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }

  // Of an object: reads the keys, and has `value` read what follows each.
  template <class Value>
  void each_member(const Value& value) {
    expect('{');
    if (accept('}')) return;
    do {
      std::string key = string();
      expect(':');
      value(std::move(key));
    } while (accept(','));
    expect('}');
  }

  std::map<std::string, std::string> metadata() {
    std::map<std::string, std::string> texts;
    each_member([&](std::string key) {
      if (peek() != '"') fail("expected a text under " + in_quotes(key) + " of \"__metadata__\"");
      if (!texts.emplace(key, string()).second) fail("the key " + in_quotes(key) + " stands there twice");
    });
    return texts;
  }

  ListedTensor tensor(std::string name) {
    ListedTensor tensor;
    tensor.name = std::move(name);
    bool has_dtype = false, has_shape = false, has_offsets = false;
    each_member([&](const std::string& key) {
      if (key == "dtype" && !has_dtype) {
        has_dtype = true;
        tensor.dtype = string();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        tensor.shape = lengths();
      } else if (key == "data_offsets" && !has_offsets) {
        has_offsets = true;
        expect('[');
        tensor.begin = number();
        expect(',');
        tensor.end = number();
        expect(']');
      } else if (key == "crc32c" && !tensor.checksum) {
        const std::uint64_t sum = number();
        if (sum > std::numeric_limits<std::uint32_t>::max()) fail("a checksum does not fit into 32 bits");
        tensor.checksum = static_cast<std::uint32_t>(sum);
      } else {
        fail("unknown or repeated key " + in_quotes(key) + " of " + in_quotes(tensor.name));
      }
    });
    if (!has_dtype || !has_shape || !has_offsets) {
      fail("one of dtype, shape, data_offsets is missing of " + in_quotes(tensor.name));
    }
    return tensor;
  }

  std::vector<std::int64_t> lengths() {
    std::vector<std::int64_t> items;
    expect('[');
    if (accept(']')) return items;
    do {
      if (items.size() == kMaxRank) fail("more than " + std::to_string(kMaxRank) + " axes");
      const std::uint64_t length = number();
      if (length > std::numeric_limits<std::int64_t>::max()) fail("a length does not fit into 63 bits");
      items.push_back(static_cast<std::int64_t>(length));
    } while (accept(','));
    expect(']');
    return items;
  }

  std::uint64_t number() {
    if (peek() < '0' || peek() > '9') fail("expected a whole number that is not negative");
    std::uint64_t value = 0;
    const char* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("a number does not fit into 64 bits");
    if (*begin == '0' && end - begin > 1) fail("a number begins with 0");
    position_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string string() {
    if (!accept('"')) fail("expected a text in quotes");
    std::string out;
    while (position_ < text_.size() && text_[position_] != '"') {
      const char c = text_[position_];
      if (c == '\\') {
        ++position_;
        append_escaped(out);
        continue;
      }
      const utf8::Sequence character = utf8::sequence_at(text_.substr(position_));
      if (!character.is_valid || static_cast<unsigned char>(c) < 0x20) fail("a text has a byte that is no character");
      out += text_.substr(position_, character.length);
      position_ += character.length;
    }
    if (position_ == text_.size()) fail("a text has no end");
    ++position_;
    return out;
  }

  void append_escaped(std::string& out) {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
    const char c = position_ < text_.size() ? text_[position_++] : '\0';
    if (const std::size_t which = kLetters.find(c); which != std::string_view::npos) {
      out += kMeant[which];
      return;
    }
    if (c != 'u') fail("an escape sequence is not known");
    unsigned code = four_digits();
    if (code >= 0xd800 && code < 0xe000) {
      const bool is_pair = code < 0xdc00 && text_.substr(position_).starts_with("\\u");
      if (is_pair) position_ += 2;
      const unsigned low = is_pair ? four_digits() : 0;
      if (low < 0xdc00 || low >= 0xe000) fail("half of a character stands alone");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    utf8::append(out, code);
  }

  unsigned four_digits() {
    unsigned code = 0;
    const std::string_view digits = text_.substr(position_, 4);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || error != std::errc() || end != digits.data() + 4) fail("expected four hexadecimal digits");
    position_ += 4;
    return code;
  }

  const ByteSource& source_;
  std::string_view text_;
  std::size_t position_ = 0;
};

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000) << 16;
  const std::uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  if (exponent == 0) {
    // Zero, or a number below the smallest normal one.
    const float size = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

// The elements of a stored type T as those of a wider one.
template <class T, class To, class Convert>
Tensor converted(std::span<const std::byte> bytes, const Shape& shape, const Convert& convert_one) {
  Tensor tensor = detail::unfilled(kDTypeOf<To>, shape);
  auto* const values = static_cast<To*>(const_cast<void*>(tensor.raw_data()));
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = convert_one(value);
  }
  return tensor;
}

template <class T, class To>
Tensor widened(std::span<const std::byte> bytes, const Shape& shape) {
  return converted<T, To>(bytes, shape, [](T value) { return static_cast<To>(value); });
}

std::string description(const ListedTensor& listed) {
  std::string text = listed.dtype + "[";
  for (std::size_t axis = 0; axis < listed.shape.size(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(listed.shape[axis]);
  }
  return text + "]";
}

}  // namespace

TensorList parse_tensor_list(const ByteSource& source, std::string_view json) {
  return ListParser(source, json).parse();
}

std::string tensor_list_text(const TensorList& list) {
  const auto text = [](const std::string& value) { return AttributeValue(value).to_json(); };
  std::string out = "{";
  const auto separate = [&] {
    if (out.back() != '{') out += ',';
  };
  if (!list.metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& [key, value] : list.metadata) {
      separate();
      out += text(key) + ":" + text(value);
    }
    out += '}';
  }
  for (const ListedTensor& tensor : list.tensors) {
    separate();
    out += text(tensor.name) + ":{\"dtype\":\"" + tensor.dtype + "\",\"shape\":[";
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      out += (axis > 0 ? "," : "") + std::to_string(tensor.shape[axis]);
    }
    out += "],\"data_offsets\":[" + std::to_string(tensor.begin) + "," + std::to_string(tensor.end) + "]";
    if (tensor.checksum) out += ",\"crc32c\":" + std::to_string(*tensor.checksum);
    out += '}';
  }
  return out + "}";
}

ListedTensor listed_at(const std::string& name, const Tensor& tensor, std::uint64_t begin) {
  const auto* const type = std::find_if(kTypes.begin(), kTypes.end(), [&](const StoredType& one) {
    return one.dtype == tensor.dtype() && one.is_as_stored;
  });
  const Shape shape = tensor.shape();
  return {name, std::string(type->name), {shape.begin(), shape.end()}, begin, begin + bytes_of(tensor).size(), {}};
}

void check_listed(const ByteSource& source, const ListedTensor& listed) {
  const auto fail = [&](const std::string& problem) {
    source.fail("tensor " + in_quotes(listed.name) + ": " + problem, kFetchAgain);
  };
  const StoredType* const type = find_type(listed.dtype);
  if (type == nullptr) {
    std::string known;
    for (const StoredType& other : kTypes) known += (known.empty() ? "" : " ") + std::string(other.name);
    source.fail("tensor " + in_quotes(listed.name) + ": dtype " + in_quotes(listed.dtype) +
                " is not supported, expected one of " + known);
  }
  if (listed.begin > listed.end) {
    fail("its bytes run backwards, from " + std::to_string(listed.begin) + " to " + std::to_string(listed.end));
  }
  const std::uint64_t size = listed.end - listed.begin;
  const std::optional<std::int64_t> count = checked_count(listed.shape);
  if (!count || static_cast<std::uint64_t>(*count) > size / type->size ||
      static_cast<std::uint64_t>(*count) * type->size != size) {
    fail("its " + std::to_string(size) + " bytes are not those of " + description(listed));
  }
  for (const std::int64_t length : listed.shape) {
    constexpr std::int64_t kLongest = std::numeric_limits<std::uint32_t>::max() - 1;
    if (length > kLongest) fail("an axis is longer than " + std::to_string(kLongest) + ": " + description(listed));
  }
}

namespace {

void check_sum(const ByteSource& source, const ListedTensor& listed, std::span<const std::byte> bytes) {
  if (!listed.checksum || crc32c(bytes.data(), bytes.size()) == *listed.checksum) return;
  source.fail("the checksum of tensor " + in_quotes(listed.name) + " differs", kFetchAgain);
}

}  // namespace

Tensor read_listed(ByteSource& source, const ListedTensor& listed) {
  const StoredType& type = *find_type(listed.dtype);
  const Shape shape{std::span<const std::int64_t>(listed.shape)};
  const std::string what = "tensor " + in_quotes(listed.name);
  const std::size_t size = listed.end - listed.begin;
  if (type.is_as_stored && type.dtype != DType::kBool) {
    if (std::shared_ptr<const std::byte> lent = source.lend(size, size_of(type.dtype))) {
      check_sum(source, listed, {lent.get(), size});
      return from_memory(std::move(lent), type.dtype, shape);
    }
  }
  // What needs no conversion is read to where it stays: a second copy costs as much as the reading.
  Tensor tensor;
  std::vector<std::byte> stored;
  std::span<std::byte> bytes;
  if (type.is_as_stored) {
    tensor = detail::unfilled(type.dtype, shape);
    if (size > 0) bytes = {static_cast<std::byte*>(const_cast<void*>(tensor.raw_data())), size};
  } else {
    stored.resize(size);
    bytes = stored;
  }
  read_into(source, bytes, what);
  check_sum(source, listed, bytes);
  if (type.is_as_stored) {
    if (type.dtype == DType::kBool) {
      for (std::byte& value : bytes) value = std::byte{value != std::byte{0}};
    }
    return tensor;
  }
  if (type.name == "F16") return converted<std::uint16_t, float>(bytes, shape, half_to_float);
  if (type.name == "I8") return widened<std::int8_t, std::int32_t>(bytes, shape);
  if (type.name == "I16") return widened<std::int16_t, std::int32_t>(bytes, shape);
  if (type.name == "U16") return widened<std::uint16_t, std::int32_t>(bytes, shape);
  if (type.name == "U32") return widened<std::uint32_t, std::int64_t>(bytes, shape);
  return converted<std::uint64_t, std::int64_t>(bytes, shape, [&](std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      source.fail(what + ": its element " + std::to_string(value) + " does not fit into int64");
    }
    return static_cast<std::int64_t>(value);
  });
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  const auto size = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype());
  // An empty span may have no address.
  return {size == 0 ? nullptr : static_cast<const std::byte*>(tensor.raw_data()), size};
}

Tensor writable(const char* writer, const std::string& name, const Tensor& tensor) {
  CAPSTAN_CHECK(!name.empty(), ValueError, writer, ": a tensor has no name");
  CAPSTAN_CHECK(utf8::is_valid(name), ValueError, writer, ": the name ", in_quotes(name), " is no UTF-8");
  CAPSTAN_CHECK(tensor.has_value(), ValueError, writer, ": the tensor ", in_quotes(name), " is empty");
  Tensor dense = tensor.to_dense();
  // Throws for a tensor of a trace.
  static_cast<void>(dense.raw_data());
  return dense;
}

}  // namespace capstan::io
