#include "src/io/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include "src/io/pickle.h"
#include "src/io/tensor_list.h"

namespace capstan::io {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they stand");

// NumPy refuses longer headers too; those of the supported dtypes take about 100 bytes.
constexpr uint64_t kMaxHeader = 10000;

struct Header {
  std::string_view descr;  // of the text
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

struct NpyType {
  std::string_view descr;   // without the order of its bytes
  std::string_view stored;  // as tensor_list.h calls it
  std::string_view name;
  std::size_t size;
  std::optional<ElementType> element;  // where tensors have the type and readers of RawArray know it
};

constexpr std::array<NpyType, 14> kTypes = {{{"b1", "BOOL", "bool", 1, ElementType::kBool},
                                             {"u1", "U8", "uint8", 1, ElementType::kUint8},
                                             {"i4", "I32", "int32", 4, ElementType::kInt32},
                                             {"i8", "I64", "int64", 8, ElementType::kInt64},
                                             {"f4", "F32", "float32", 4, ElementType::kFloat32},
                                             {"f8", "F64", "float64", 8, ElementType::kFloat64},
                                             {"i1", "I8", "int8", 1, {}},
                                             {"i2", "I16", "int16", 2, {}},
                                             {"u2", "U16", "uint16", 2, {}},
                                             {"u4", "U32", "uint32", 4, {}},
                                             {"u8", "U64", "uint64", 8, {}},
                                             {"f2", "F16", "float16", 2, {}},
                                             {"c8", "C64", "complex64", 8, {}},
                                             {"c16", "C128", "complex128", 16, {}}}};

// An array as it is stored, in row-major order and in the byte order of this machine.
struct StoredArray {
  const NpyType* type = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};

const NpyType* find_type(std::string_view descr) {
  if (descr.size() < 2) return nullptr;
  const char order = descr[0];
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const NpyType& type) { return type.descr == descr.substr(1); });
  const bool is_known = found != kTypes.end() && (order == '<' || order == '>' || (order == '|' && found->size == 1));
  return is_known ? found : nullptr;
}

// Recursive descent over the header; each function consumes what it names or fails.
class HeaderParser {
 public:
  HeaderParser(const ByteSource& source, std::string_view text) : source_(source), text_(text) {}

  Header parse() {
    Header header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        skip_space();
        if (position_ < text_.size() && text_[position_] == '[') {
          source_.fail("structured arrays are not supported", "save each field as an array of its own");
        }
        header.descr = string();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = tuple();
      } else {
        fail("unknown or repeated key " + in_quotes(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size()) fail("unexpected " + in_quotes(text_.substr(position_)));
    if (!has_descr || !has_order || !has_shape) fail("one of descr, fortran_order, shape is missing");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    source_.fail("the header is not that of an .npy file, " + problem + " at byte " + std::to_string(position_),
                 kFetchAgain);
  }

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) ++position_;
  }

  bool accept(char c) {
    skip_space();
    if (position_ == text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail(std::string("expected '") + c + "'");
  }

  std::string_view string() {
    skip_space();
    const char quote = position_ < text_.size() ? text_[position_] : '\0';
    if (quote != '\'' && quote != '"') fail("expected a string");
    const size_t begin = position_ + 1;
    const size_t end = text_.find(quote, begin);
    if (end == std::string_view::npos) fail("a string has no end");
    position_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  bool boolean() {
    skip_space();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return value;
      }
    }
    fail("expected True or False");
  }

  std::vector<int64_t> tuple() {
    std::vector<int64_t> items;
    bool comma = true;
    expect('(');
    while (!accept(')')) {
      if (!comma) fail("expected ','");
      if (items.size() == kMaxRank) fail("more than " + std::to_string(kMaxRank) + " axes");
      items.push_back(integer());
      comma = accept(',');
    }
    // Python's "(3)" is a number, not a tuple.
    if (items.size() == 1 && !comma) fail("expected ','");
    return items;
  }

  int64_t integer() {
    skip_space();
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    const size_t begin = position_;
    int64_t value = 0;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      const int64_t digit = text_[position_] - '0';
      if (value > (kMax - digit) / 10) fail("a size does not fit into 64 bits");
      value = value * 10 + digit;
      ++position_;
    }
    if (position_ == begin) fail("expected a size");
    return value;
  }

  const ByteSource& source_;
  std::string_view text_;
  size_t position_ = 0;
};

uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

// `text` keeps what the header is read from.
Header read_header(ByteSource& source, std::vector<std::byte>& text) {
  const std::vector<std::byte> magic = read_exactly(source, 8, "magic number");
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (std::string_view(reinterpret_cast<const char*>(magic.data()), kMagic.size()) != kMagic) {
    source.fail("not an .npy array, which begins with \\x93NUMPY", "save the array with numpy.save or numpy.savez");
  }
  const int version = std::to_integer<int>(magic[6]);
  if (version < 1 || version > 3 || magic[7] != std::byte{0}) {
    source.fail("version " + std::to_string(version) + "." + std::to_string(std::to_integer<int>(magic[7])) +
                " of the .npy format is not supported, expected 1.0, 2.0 or 3.0");
  }
  const uint64_t length = little_endian(read_exactly(source, version == 1 ? 2 : 4, "length of the header"));
  if (length > kMaxHeader) {
    source.fail(
        "the header is " + std::to_string(length) + " bytes long, expected at most " + std::to_string(kMaxHeader),
        kFetchAgain);
  }
  text = read_exactly(source, length, "header");
  return HeaderParser(source, {reinterpret_cast<const char*>(text.data()), text.size()}).parse();
}

// The first axis varies fastest in the file and slowest in the result.
std::vector<std::byte> to_row_major(const std::vector<std::byte>& data, std::span<const int64_t> shape, size_t size) {
  std::vector<std::byte> result(data.size());
  std::array<int64_t, kMaxRank> index{}, stride{};
  int64_t step = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    stride[axis] = step;
    step *= shape[axis];
  }
  int64_t from = 0;
  for (size_t to = 0; to < data.size(); to += size) {
    std::copy_n(data.data() + static_cast<size_t>(from) * size, size, result.data() + to);
    for (size_t axis = shape.size(); axis-- > 0;) {
      from += stride[axis];
      if (++index[axis] < shape[axis]) break;
      from -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return result;
}

// Numbers whose first byte is the highest one; a complex number is two of them.
void swap_bytes(std::vector<std::byte>& data, const NpyType& type) {
  const std::size_t size = type.descr[0] == 'c' ? type.size / 2 : type.size;
  for (std::size_t at = 0; size > 1 && at < data.size(); at += size) {
    std::reverse(data.data() + at, data.data() + at + size);
  }
}

std::string description(const NpyType& type, std::span<const std::int64_t> shape) {
  std::string text = std::string(type.name) + "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(shape[axis]);
  }
  return text + "]";
}

// Memory grows with the bytes that arrive.
StoredArray read_stored(ByteSource& source, const char* expected, const auto& is_expected) {
  std::vector<std::byte> text;
  Header header = read_header(source, text);
  StoredArray array{find_type(header.descr), std::move(header.shape), {}};
  if (array.type == nullptr || !is_expected(*array.type, header.descr[0])) {
    source.fail("dtype " + in_quotes(header.descr) + " is not supported, expected " + expected,
                "convert the array with astype() before it is saved");
  }
  const auto count = checked_count(array.shape);
  const std::size_t size = array.type->size;
  if (!count || static_cast<uint64_t>(*count) > source.most_bytes() / size) {
    source.fail("the header announces " + description(*array.type, array.shape) +
                    ", but the file cannot hold more than " + std::to_string(source.most_bytes()) + " bytes",
                kFetchAgain);
  }
  array.data = read_exactly(source, static_cast<uint64_t>(*count) * size, "data");
  expect_end(source);
  if (header.fortran_order && array.shape.size() > 1) array.data = to_row_major(array.data, array.shape, size);
  if (header.descr[0] == '>') swap_bytes(array.data, *array.type);
  return array;
}

// Memory grows with the bytes that arrive.
std::vector<std::byte> read_rest(ByteSource& source) {
  const std::size_t step = piece_of(source, std::size_t{1} << 20);
  std::vector<std::byte> bytes;
  for (std::size_t got = step; got == step;) {
    const std::size_t begin = bytes.size();
    bytes.resize(begin + step);
    got = source.read(bytes.data() + begin, step);
    bytes.resize(begin + got);
  }
  return bytes;
}

}  // namespace

RawArray read_npy(const std::string& path) { return read_npy(*open_file("load_npy", path)); }

RawArray read_npy(ByteSource& source) {
  StoredArray stored = read_stored(source, "one of |b1 |u1 <i4 <i8 <f4 <f8",
                                   [](const NpyType& type, char order) { return type.element && order != '>'; });
  RawArray array{*stored.type->element, std::move(stored.shape), std::move(stored.data)};
  if (array.type == ElementType::kBool) {
    for (std::byte& value : array.data) value = std::byte{value != std::byte{0}};
  }
  return array;
}

Tensor npy_tensor(ByteSource& source) {
  auto stored = std::make_shared<StoredArray>(
      read_stored(source, "bool, or integers, floating or complex numbers of 8 to 64 bits",
                  [](const NpyType&, char) { return true; }));
  const ListedTensor listed{"array", std::string(stored->type->stored), stored->shape, 0, stored->data.size(), {}};
  const std::unique_ptr<ByteSource> bytes = open_memory(source.reader(), source.name(), stored->data, stored);
  check_listed(*bytes, listed);
  return read_listed(*bytes, listed);
}

// NumPy pickles an array as a call of _reconstruct() with a state: version, shape, dtype, order, list of elements.
std::vector<std::vector<std::int32_t>> read_npy_lists(ByteSource& source) {
  using Kind = PickleValue::Kind;
  std::vector<std::byte> text;
  const Header header = read_header(source, text);
  if (header.descr != "|O" || header.shape.size() != 1) {
    source.fail("the array has the dtype " + in_quotes(header.descr) + " and " + std::to_string(header.shape.size()) +
                " axes, expected a list of lists: |O and 1");
  }
  const Pickle pickle = parse_pickle(source, read_rest(source));
  const PickleValue& array = pickle.values[pickle.result];
  const std::string name = array.kind == Kind::kCall ? pickle.values[array.items[0]].text : "";
  if (name != "numpy.core.multiarray _reconstruct" && name != "numpy._core.multiarray _reconstruct") {
    source.fail("the pickle is not that of an array" +
                (name.empty() ? "" : ", it names " + in_quotes(name) + "; nothing of it is run"));
  }
  const PickleValue* const state = array.state ? &pickle.values[*array.state] : nullptr;
  const PickleValue* const list =
      state != nullptr && !state->items.empty() ? &pickle.values[state->items.back()] : nullptr;
  if (list == nullptr || list->kind != Kind::kList) source.fail("the pickle is not that of an array of lists");
  if (list->items.size() != static_cast<std::uint64_t>(header.shape[0])) {
    source.fail("the header announces " + std::to_string(header.shape[0]) + " lists, and the pickle has " +
                std::to_string(list->items.size()));
  }
  // Lists that are shared occur several times; a file may not make more of them than it has bytes.
  std::uint64_t left = source.most_bytes();
  std::vector<std::vector<std::int32_t>> lists(list->items.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const PickleValue& one = pickle.values[list->items[i]];
    if (one.kind != Kind::kList) source.fail("element " + std::to_string(i) + " is no list");
    if (one.items.size() > left) source.fail("the lists have more elements than the file has bytes");
    left -= one.items.size();
    lists[i].reserve(one.items.size());
    for (const std::size_t item : one.items) {
      const PickleValue& number = pickle.values[item];
      if (number.kind != Kind::kInt || number.integer != static_cast<std::int32_t>(number.integer)) {
        source.fail("list " + std::to_string(i) + " holds something else than integers of 32 bits");
      }
      lists[i].push_back(static_cast<std::int32_t>(number.integer));
    }
  }
  return lists;
}

}  // namespace capstan::io
