#include "src/onnx/proto.h"

#include <bit>
#include <cstring>

#include "capstan/error.h"

#include "src/io/byte_source.h"
#include "src/io/raw_array.h"
#include "src/io/wire.h"

namespace capstan::onnx {
namespace {

constexpr int kBFloat16Type = 16;

using io::in_quotes;
using io::wire::Field;
using io::wire::Kind;
using io::wire::Message;

constexpr const char* kTypes[] = {"undefined", "float32", "uint8",     "int8",       "uint16",  "int16",
                                  "int32",     "int64",   "string",    "bool",       "float16", "float64",
                                  "uint32",    "uint64",  "complex64", "complex128", "bfloat16"};

std::string text_of(const Message& message, const Field& field) {
  message.expect(field, Kind::kBytes);
  return std::string(field.bytes);
}

std::int64_t integer_of(const Message& message, const Field& field) {
  message.expect(field, Kind::kVarint);
  return static_cast<std::int64_t>(field.value);
}

// Integers, packed or one in each field.
void add_integers(const Message& message, const Field& field, std::vector<std::int64_t>& list) {
  if (field.kind == Kind::kVarint) {
    list.push_back(static_cast<std::int64_t>(field.value));
    return;
  }
  message.expect(field, Kind::kBytes);
  Message inside = message.inside(field);
  while (const auto value = inside.next_varint()) list.push_back(static_cast<std::int64_t>(*value));
}

// Numbers of four or eight bytes, packed or one in each field.
template <class T, class Bits>
void add_numbers(const Message& message, const Field& field, Kind kind, std::vector<T>& list) {
  if (field.kind == kind) {
    list.push_back(std::bit_cast<T>(static_cast<Bits>(field.value)));
    return;
  }
  message.expect(field, Kind::kBytes);
  if (field.bytes.size() % sizeof(T) != 0) {
    message.fail("a list of numbers of " + std::to_string(sizeof(T)) + " bytes has " +
                 std::to_string(field.bytes.size()) + " bytes");
  }
  const std::size_t before = list.size();
  list.resize(before + field.bytes.size() / sizeof(T));
  if (!field.bytes.empty()) std::memcpy(list.data() + before, field.bytes.data(), field.bytes.size());
}

Message message_of(const Origin& origin, std::string_view bytes) { return {origin.reader, origin.file, bytes}; }

class Reader {
 public:
  explicit Reader(const Origin& origin) : origin_(origin) {}

  GraphProto graph(std::string_view bytes, int depth) const {
    if (depth > kDeepestGraph) {
      origin_.fail("graphs are nested more than " + std::to_string(kDeepestGraph) + " deep");
    }
    GraphProto graph;
    Message message = message_of(origin_, bytes);
    while (const auto field = message.next()) {
      switch (field->number) {
        case 1:
          message.expect(*field, Kind::kBytes);
          graph.nodes.push_back(node(field->bytes, depth));
          break;
        case 2:
          graph.name = text_of(message, *field);
          break;
        case 5: {
          message.expect(*field, Kind::kBytes);
          std::string name;
          Tensor tensor = read_tensor(origin_, field->bytes, &name);
          graph.initializers.emplace_back(std::move(name), std::move(tensor));
          break;
        }
        case 11:
        case 12:
          message.expect(*field, Kind::kBytes);
          (field->number == 11 ? graph.inputs : graph.outputs).push_back(value(field->bytes));
          break;
        case 15:
          origin_.fail("sparse initializers are not supported");
        default:
          break;
      }
    }
    return graph;
  }

 private:
  NodeProto node(std::string_view bytes, int depth) const {
    NodeProto node;
    Message message = message_of(origin_, bytes);
    std::vector<std::string_view> attributes;
    while (const auto field = message.next()) {
      switch (field->number) {
        case 1:
          node.inputs.push_back(text_of(message, *field));
          break;
        case 2:
          node.outputs.push_back(text_of(message, *field));
          break;
        case 3:
          node.name = text_of(message, *field);
          break;
        case 4:
          node.op = text_of(message, *field);
          break;
        case 5:
          message.expect(*field, Kind::kBytes);
          attributes.push_back(field->bytes);
          break;
        case 7:
          node.domain = text_of(message, *field);
          break;
        default:
          break;
      }
    }
    for (const std::string_view one : attributes) node.attributes.push_back(attribute(one, node, depth));
    return node;
  }

  Attribute attribute(std::string_view bytes, const NodeProto& node, int depth) const {
    Attribute attribute;
    Message message = message_of(origin_, bytes);
    while (const auto field = message.next()) {
      switch (field->number) {
        case 1:
          attribute.name = text_of(message, *field);
          break;
        case 2:
          message.expect(*field, Kind::kFixed32);
          attribute.number = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(field->value)));
          break;
        case 3:
          attribute.integer = integer_of(message, *field);
          break;
        case 4:
          attribute.text = text_of(message, *field);
          break;
        case 5:
          message.expect(*field, Kind::kBytes);
          attribute.tensor = read_tensor(origin_, field->bytes);
          break;
        case 6:
          message.expect(*field, Kind::kBytes);
          attribute.graph = std::make_shared<GraphProto>(graph(field->bytes, depth + 1));
          break;
        case 7: {
          std::vector<float> numbers;
          add_numbers<float, std::uint32_t>(message, *field, Kind::kFixed32, numbers);
          attribute.numbers.insert(attribute.numbers.end(), numbers.begin(), numbers.end());
          break;
        }
        case 8:
          add_integers(message, *field, attribute.integers);
          break;
        case 9:
          attribute.texts.push_back(text_of(message, *field));
          break;
        case 10:
        case 11:
        case 22:
        case 23:
          origin_.fail(node.title() +
                       ": an attribute that is a sparse tensor or a list of tensors or graphs is not "
                       "supported");
        default:
          break;
      }
    }
    return attribute;
  }

  ValueProto value(std::string_view bytes) const {
    ValueProto value;
    Message message = message_of(origin_, bytes);
    while (const auto field = message.next()) {
      if (field->number == 1) {
        value.name = text_of(message, *field);
      } else if (field->number == 2) {
        Message type = message.inside(*field);
        while (const auto part = type.next()) {
          if (part->number == 1) tensor_type(type.inside(*part), value);
        }
      }
    }
    return value;
  }

  void tensor_type(Message message, ValueProto& value) const {
    while (const auto field = message.next()) {
      if (field->number == 1) {
        value.type = static_cast<int>(integer_of(message, *field));
      } else if (field->number == 2) {
        value.shape.emplace();
        Message shape = message.inside(*field);
        while (const auto part = shape.next()) {
          if (part->number != 1) continue;
          std::int64_t length = -1;
          Message dimension = shape.inside(*part);
          while (const auto entry = dimension.next()) {
            if (entry->number == 1) length = integer_of(dimension, *entry);
          }
          value.shape->push_back(length < 0 ? -1 : length);
        }
        if (value.shape->size() > static_cast<std::size_t>(kMaxRank)) {
          origin_.fail("value " + in_quotes(value.name) + " has " + std::to_string(value.shape->size()) +
                       " axes; more than " + std::to_string(kMaxRank) + " are not supported");
        }
      }
    }
  }

  const Origin& origin_;
};

template <class T, class From>
Tensor converted(const std::vector<From>& values, const Shape& shape) {
  std::vector<T> elements;
  elements.reserve(values.size());
  for (const From value : values) elements.push_back(static_cast<T>(value));
  return constant(elements, shape);
}

}  // namespace

void Origin::fail(const std::string& problem, const std::string& help) const {
  io::fail_file(reader, problem, file, help);
}

const Attribute* NodeProto::find(std::string_view attribute) const {
  for (const Attribute& one : attributes) {
    if (one.name == attribute) return &one;
  }
  return nullptr;
}

std::string NodeProto::title() const {
  const std::string shown = !name.empty() ? name : outputs.empty() ? std::string() : outputs[0];
  return "node " + in_quotes(shown) + " (" + (domain.empty() ? "" : domain + ".") + op + ")";
}

std::string type_name(std::int64_t type) {
  if (type >= 0 && type < static_cast<std::int64_t>(std::size(kTypes))) return kTypes[type];
  return "type " + std::to_string(type);
}

namespace {
// TensorProto's numbers of the dtypes, in the order of DType.
constexpr int kNumbers[kDTypes] = {1, 11, kBFloat16Type, 6, 7, 2, 9, 14, 15};
}  // namespace

std::optional<DType> find_dtype(std::int64_t type) {
  for (int i = 0; i < kDTypes; ++i) {
    if (kNumbers[i] == type) return static_cast<DType>(i);
  }
  return std::nullopt;
}

DType dtype_of(const Origin& origin, std::int64_t type, const std::string& what) {
  if (const std::optional<DType> dtype = find_dtype(type)) return *dtype;
  origin.fail(what + " is " + type_name(type) + ", which is not supported");
}

int type_number(DType dtype) { return kNumbers[static_cast<int>(dtype)]; }

Tensor read_tensor(const Origin& origin, std::string_view bytes, std::string* name) {
  std::vector<std::int64_t> dims, int32s, int64s, uint64s;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::optional<std::string_view> raw;
  std::int64_t type = 0, location = 0;
  std::string own;
  Message message = message_of(origin, bytes);
  while (const auto field = message.next()) {
    switch (field->number) {
      case 1:
        add_integers(message, *field, dims);
        break;
      case 2:
        type = integer_of(message, *field);
        break;
      case 4:
        add_numbers<float, std::uint32_t>(message, *field, Kind::kFixed32, floats);
        break;
      case 5:
        add_integers(message, *field, int32s);
        break;
      case 7:
        add_integers(message, *field, int64s);
        break;
      case 8:
        own = text_of(message, *field);
        break;
      case 9:
        message.expect(*field, Kind::kBytes);
        raw = field->bytes;
        break;
      case 10:
        add_numbers<double, std::uint64_t>(message, *field, Kind::kFixed64, doubles);
        break;
      case 11:
        add_integers(message, *field, uint64s);
        break;
      case 14:
        location = integer_of(message, *field);
        break;
      default:
        break;
    }
  }
  const std::string what = "tensor " + in_quotes(own);
  if (name != nullptr) *name = own;
  if (location != 0) {
    origin.fail(what +
                " has its elements in another file, which is not supported: only what is in the file itself is "
                "read");
  }
  const DType dtype = dtype_of(origin, type, what);
  if (dims.size() > static_cast<std::size_t>(kMaxRank)) {
    origin.fail(what + " has " + std::to_string(dims.size()) + " axes; more than " + std::to_string(kMaxRank) +
                " are not supported");
  }
  const auto count = io::checked_count(dims);
  constexpr std::int64_t kLongest = 0xffffffff;
  bool fits = count.has_value();
  for (const std::int64_t length : dims) fits = fits && length <= kLongest;
  if (!fits) origin.fail(what + " has lengths that no tensor can have");
  const Shape shape{dims};
  // A complex number is two numbers in the lists of floats and doubles.
  const std::int64_t parts = is_complex(dtype) ? 2 : 1;
  const auto check = [&](std::size_t has, std::int64_t each) {
    if (*count <= (INT64_MAX >> 5) && static_cast<std::uint64_t>(*count * each) == has) return;
    origin.fail(what + " should have " + std::to_string(*count) + " elements of " + std::to_string(each) +
                (raw ? " bytes" : " numbers") + ", but has " + std::to_string(has) + (raw ? " bytes" : " numbers"));
  };
  if (raw) {
    check(raw->size(), static_cast<std::int64_t>(size_of(dtype)));
    if (dtype == bool_) {
      std::vector<std::uint8_t> truth;
      for (const char byte : *raw) truth.push_back(byte != 0 ? 1 : 0);
      return detail::copy_of(truth.data(), *count, dtype, shape);
    }
    return detail::copy_of(raw->data(), *count, dtype, shape);
  }
  switch (dtype) {
    case DType::kFloat32:
    case DType::kComplex64:
      check(floats.size(), parts);
      return detail::copy_of(floats.data(), *count, dtype, shape);
    case DType::kFloat64:
    case DType::kComplex128:
      check(doubles.size(), parts);
      return detail::copy_of(doubles.data(), *count, dtype, shape);
    case DType::kInt64:
      check(int64s.size(), 1);
      return detail::copy_of(int64s.data(), *count, dtype, shape);
    default:
      break;
  }
  check(int32s.size(), 1);
  if (dtype == int32) return converted<std::int32_t>(int32s, shape);
  if (dtype == bfloat16) {
    const std::vector<std::uint16_t> bits(int32s.begin(), int32s.end());
    return detail::copy_of(bits.data(), *count, dtype, shape);
  }
  std::vector<std::uint8_t> elements;
  for (const std::int64_t value : int32s) {
    elements.push_back(dtype == bool_ ? static_cast<std::uint8_t>(value != 0) : static_cast<std::uint8_t>(value));
  }
  return detail::copy_of(elements.data(), *count, dtype, shape);
}

ModelProto read_model(const Origin& origin, std::string_view bytes) {
  ModelProto model;
  Message message = message_of(origin, bytes);
  std::optional<std::string_view> graph;
  while (const auto field = message.next()) {
    if (field->number == 7) {
      message.expect(*field, Kind::kBytes);
      graph = field->bytes;
    } else if (field->number == 8) {
      Message set = message.inside(*field);
      std::string domain;
      std::int64_t version = 0;
      while (const auto part = set.next()) {
        if (part->number == 1) domain = text_of(set, *part);
        if (part->number == 2) version = integer_of(set, *part);
      }
      if (domain.empty() || domain == "ai.onnx") model.opset = version;
    } else if (field->number == 25) {
      origin.fail("functions of the model's own are not supported");
    }
  }
  if (!graph) origin.fail("there is no graph in the file");
  if (model.opset < kOldestOpset || model.opset > kNewestOpset) {
    origin.fail("opset " + std::to_string(model.opset) + " is not supported; " + std::to_string(kOldestOpset) + " to " +
                std::to_string(kNewestOpset) + " are");
  }
  model.graph = Reader(origin).graph(*graph, 1);
  return model;
}

}  // namespace capstan::onnx
