#include "src/transforms/call_key.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "capstan/function.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/live.h"
#include "src/core/variable_state.h"

namespace capstan {

namespace {

// After the word for the types of all arguments, the first word of an entry of a key says what it is. Words from
// kNumber on are numbers, of the type that follows from the word.
enum KeyWord : std::uint64_t { kList, kText, kTensor, kVariable, kNumber };

// At every call, so without a Shape.
template <class Length>
void add_type(CallKey& key, KeyWord word, DType dtype, const Length* lengths, int rank) {
  key.push_back(word);
  key.push_back(static_cast<std::uint64_t>(dtype));
  key.push_back(static_cast<std::uint64_t>(rank));
  for (int i = 0; i < rank; ++i) key.push_back(static_cast<std::uint64_t>(lengths[i]));
}

std::string shape_text(const std::uint64_t* lengths, std::uint64_t rank) {
  std::string text = "[";
  for (std::uint64_t i = 0; i < rank; ++i) {
    text += (i == 0 ? "" : ", ") + (lengths[i] == kOpenLength ? "?" : std::to_string(lengths[i]));
  }
  return text + "]";
}

// A floating number as it is written, with the digits that tell it from others: "2.5", "3.0".
template <class T>
std::string digits_of(std::uint64_t bits) {
  T number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  char text[40];
  std::string result(text, std::to_chars(text, text + sizeof(text), number).ptr);
  return result.find_first_not_of("-0123456789") == std::string::npos ? result + ".0" : result;
}

std::string number_text(detail::NumberType type, std::uint64_t bits) {
  switch (type) {
    case detail::NumberType::kFloat:
      return digits_of<float>(bits);
    case detail::NumberType::kDouble:
      return digits_of<double>(bits);
    case detail::NumberType::kBool:
      return bits != 0 ? "true" : "false";
    case detail::NumberType::kUnsigned:
      return std::to_string(bits);
    default:
      return std::to_string(static_cast<std::int64_t>(bits));
  }
}

// One entry: what it is, and where its words are.
struct Entry {
  KeyWord word;
  std::size_t at;          // after the word
  std::uint64_t rank = 0;  // of a tensor or variable; its lengths begin at `at` + 2
  std::string text;
};

std::vector<Entry> parse(const CallKey& key) {
  std::vector<Entry> entries;
  for (std::size_t i = 1; i < key.size();) {
    Entry entry{static_cast<KeyWord>(key[i]), i + 1, 0, {}};
    ++i;
    if (entry.word == kTensor || entry.word == kVariable) {
      entry.rank = key[i + 1];
      entry.text = std::string(name_of(static_cast<DType>(key[i]))) + shape_text(key.data() + i + 2, entry.rank);
      i += 2 + entry.rank;
      if (entry.word == kVariable) entry.text = "variable " + std::to_string(key[i++]) + " " + entry.text;
    } else if (entry.word == kText) {
      const std::size_t length = key[i++];
      std::string text(length, '\0');
      std::memcpy(text.data(), key.data() + i, length);
      i += (length + 7) / 8;
      entry.text = "\"" + text + "\"";
    } else if (entry.word == kList) {
      entry.text = "a list of " + std::to_string(key[i++]);
    } else {
      entry.text = number_text(static_cast<detail::NumberType>(entry.word - kNumber), key[i++]);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

// --- TensorSpec ---

TensorSpec::TensorSpec(std::initializer_list<std::optional<std::int64_t>> lengths, DType given_dtype,
                       std::string given_name)
    : TensorSpec(
          [&] {
            Shape given;
            for (const std::optional<std::int64_t>& length : lengths) given.push_back(length.value_or(-1));
            return given;
          }(),
          given_dtype, std::move(given_name)) {}

TensorSpec::TensorSpec(const Shape& given_shape, DType given_dtype, std::string given_name)
    : shape(given_shape), dtype(given_dtype), name(std::move(given_name)) {
  for (const std::int64_t length : given_shape) {
    CAPSTAN_CHECK(length >= -1, ShapeError, "tensor_spec: negative length ", length, " in ", given_shape,
                  help("-1 stands for a length that is open"));
  }
}

TensorSpec::TensorSpec(std::nullopt_t, DType given_dtype, std::string given_name)
    : dtype(given_dtype), name(std::move(given_name)) {}

bool TensorSpec::fits(DType other_dtype, const Shape& other) const {
  if (other_dtype != dtype) return false;
  if (!shape) return true;
  return std::equal(shape->begin(), shape->end(), other.begin(), other.end(),
                    [](std::int64_t length, std::int64_t given) { return length == -1 || length == given; });
}

std::string TensorSpec::to_string() const {
  std::string text(name_of(dtype));
  if (shape) {
    text += "[";
    for (int i = 0; i < shape->rank(); ++i) {
      text += (i == 0 ? "" : ", ") + ((*shape)[i] == -1 ? "?" : std::to_string((*shape)[i]));
    }
    text += "]";
  } else {
    text += "[...]";
  }
  return name.empty() ? text : text + " " + name;
}

// --- Writing keys ---

void detail::CallSignature::add(const Tensor& tensor) {
  if (values_only) return;
  CAPSTAN_CHECK(tensor.has_value(), ValueError, "function: an argument is an empty tensor");
  CAPSTAN_CHECK(!tensor.is_row_sparse(), ValueError, "function: an argument is row-sparse",
                help("convert it with to_dense()"));
  check_live("function", tensor);
  const detail::Block* const block = tensor.block();
  add_type(key, kTensor, block->dtype, block->dims, block->rank);
  leaves.emplace_back(tensor);
}

void detail::CallSignature::add(const TensorSpec& spec) {
  CAPSTAN_CHECK(spec.shape.has_value(), ValueError, "get_concrete: the rank of ", spec.to_string(), " is open",
                help("give a shape, with -1 for lengths that are open"));
  // A trace needs a length; a call with another one shows whether the trace depends on it.
  constexpr std::int64_t kAnyLength = 8;
  Shape shape = *spec.shape;
  const std::size_t begin = key.size() + 3;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] != -1) continue;
    shape.set(i, kAnyLength);
    open.push_back(begin + static_cast<std::size_t>(i));
  }
  add_type(key, kTensor, spec.dtype, shape.begin(), shape.rank());
  // Tensors before it have no names; most calls have no names at all and pay nothing for them.
  names.resize(static_cast<std::size_t>(
      std::count_if(leaves.begin(), leaves.end(), [](const Source& leaf) { return leaf.tensor() != nullptr; })));
  names.push_back(spec.name);
  stand_ins.push_back(std::make_shared<const Tensor>(shape_only(symbolic(spec.dtype, shape))));
  leaves.emplace_back(*stand_ins.back());
}

void detail::CallSignature::add(const Variable& variable) {
  CAPSTAN_CHECK(variable.has_value(), ValueError, "function: an argument is an empty handle of a variable");
  if (values_only) return;
  // Which of the variables before it is the same one.
  std::uint64_t alias = 0;
  for (const Source& leaf : leaves) {
    if (leaf.variable() == nullptr) continue;
    if (*leaf.variable() == variable) break;
    ++alias;
  }
  const detail::Block* const value = variable.state()->value.block();
  add_type(key, kVariable, value->dtype, value->dims, value->rank);
  key.push_back(alias);
  leaves.emplace_back(variable);
}

void detail::CallSignature::add(std::string_view text) {
  key.push_back(kText);
  key.push_back(text.size());
  const std::size_t begin = key.size();
  key.resize(begin + (text.size() + 7) / 8);
  std::memcpy(key.data() + begin, text.data(), text.size());
}

void detail::CallSignature::add_number(NumberType type, std::uint64_t bits) {
  key.insert(key.end(), {kNumber + static_cast<std::uint64_t>(type), bits});
}

void detail::CallSignature::add_list(std::size_t size) { key.insert(key.end(), {kList, size}); }

// --- Reading keys ---

std::vector<std::string> entries_of(const CallKey& key, const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  std::size_t tensor = 0;
  for (Entry& entry : parse(key)) {
    texts.push_back(std::move(entry.text));
    if (entry.word != kTensor) continue;
    if (tensor < names.size() && !names[tensor].empty()) texts.back() += " " + names[tensor];
    ++tensor;
  }
  return texts;
}

std::string difference_of_calls(const CallKey& before, const CallKey& now) {
  if (before[0] != now[0]) {
    return (before[0] ^ now[0]) >> 60 != 0 ? "floatx() is not what it was"
                                           : "the arguments have other types than before";
  }
  const std::vector<std::string> a = entries_of(before);
  const std::vector<std::string> b = entries_of(now);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) return detail::join("argument ", i, " is ", b[i], ", not ", a[i], " as before");
  }
  return detail::join("there are ", b.size(), " arguments, not ", a.size(), " as before");
}

std::vector<std::size_t> lengths_of_tensors(const CallKey& key) {
  std::vector<std::size_t> positions;
  for (const Entry& entry : parse(key)) {
    if (entry.word != kTensor) continue;
    for (std::uint64_t i = 0; i < entry.rank; ++i) positions.push_back(entry.at + 2 + i);
  }
  return positions;
}

std::vector<std::size_t> open_lengths(const std::string& name, const std::vector<TensorSpec>& signature,
                                      const CallKey& key) {
  std::vector<std::size_t> open;
  std::size_t next = 0;
  const std::vector<Entry> entries = parse(key);
  const auto tensors = static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(), [](const Entry& entry) { return entry.word == kTensor; }));
  CAPSTAN_CHECK(tensors == signature.size(), ValueError, name, ": called with ", tensors,
                " tensors, but its input_signature has ", signature.size(),
                help("it has one TensorSpec for each tensor among the arguments, those in structures included"));
  for (const Entry& entry : entries) {
    if (entry.word != kTensor) continue;
    const TensorSpec& spec = signature[next++];
    const auto dtype = static_cast<DType>(key[entry.at]);
    CAPSTAN_CHECK(dtype == spec.dtype, DTypeError, name, ": tensor ", next - 1, " is ", entry.text,
                  ", but its input_signature says ", spec.to_string(), help("convert it with cast(x, dtype)"));
    Shape shape;
    for (std::uint64_t i = 0; i < entry.rank; ++i) shape.push_back(static_cast<std::int64_t>(key[entry.at + 2 + i]));
    CAPSTAN_CHECK(spec.fits(dtype, shape), ShapeError, name, ": tensor ", next - 1, " is ", entry.text,
                  ", but its input_signature says ", spec.to_string());
    for (int i = 0; i < shape.rank(); ++i) {
      const bool is_open = !spec.shape || (*spec.shape)[i] == -1;
      if (is_open) open.push_back(entry.at + 2 + static_cast<std::size_t>(i));
    }
  }
  return open;
}

detail::CallSignature with_lengths(const detail::CallSignature& call, const std::vector<std::size_t>& open,
                                   const std::vector<std::int64_t>& lengths) {
  detail::CallSignature other = call;
  std::size_t next = 0;
  for (const std::size_t position : open) {
    if (call.key[position] >= 2) other.key[position] = static_cast<std::uint64_t>(lengths[next++]);
  }
  other.leaves.clear();
  const std::vector<std::size_t> all = lengths_of_tensors(other.key);
  std::size_t axis = 0;
  for (const Source& leaf : call.leaves) {
    if (leaf.variable() != nullptr) {
      other.leaves.push_back(leaf);
      continue;
    }
    Shape shape = leaf.tensor()->shape();
    for (int i = 0; i < shape.rank(); ++i) shape.set(i, static_cast<std::int64_t>(other.key[all[axis++]]));
    other.stand_ins.push_back(std::make_shared<const Tensor>(shape_only(symbolic(leaf.tensor()->dtype(), shape))));
    other.leaves.emplace_back(*other.stand_ins.back());
  }
  return other;
}

OpenCall open_call(const CallKey& key, const std::vector<std::size_t>& open) {
  OpenCall call{key, {}};
  for (const std::size_t position : open) {
    if (key[position] < 2) continue;
    call.lengths.push_back(static_cast<std::int64_t>(key[position]));
    call.kind[position] = kOpenLength;
  }
  return call;
}

}  // namespace capstan
