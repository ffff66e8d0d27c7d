// Examples: features by name, as protocol buffers.
//
// Example {Features features = 1}, Features {map<string, Feature> feature = 1}, whose entries are messages {key = 1,
// value = 2}, Feature {oneof BytesList = 1, FloatList = 2, Int64List = 3}, and lists {repeated value = 1}. As the
// format wants it, numbers may be packed or not, messages that come twice are joined, and fields of later versions are
// left out.
#include <bit>
#include <cstring>

#include "capstan/error.h"
#include "capstan/records.h"
#include "src/core/check.h"
#include "src/core/utf8.h"
#include "src/io/wire.h"

namespace capstan::io {

namespace {

constexpr std::string_view kParse = "example";

void read_bytes(wire::Message message, Feature::Bytes& values) {
  while (const auto field = message.next()) {
    if (field->number != 1) continue;
    message.expect(*field, wire::Kind::kBytes);
    values.emplace_back(field->bytes);
  }
}

void read_floats(wire::Message message, Feature::Floats& values) {
  while (const auto field = message.next()) {
    if (field->number != 1) continue;
    if (field->kind == wire::Kind::kFixed32) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(field->value)));
      continue;
    }
    message.expect(*field, wire::Kind::kBytes);
    if (field->bytes.size() % sizeof(float) != 0) {
      message.fail("a list of floats of 4 bytes each has " + std::to_string(field->bytes.size()) + " bytes");
    }
    const std::size_t before = values.size();
    values.resize(before + field->bytes.size() / sizeof(float));
    if (!field->bytes.empty()) std::memcpy(values.data() + before, field->bytes.data(), field->bytes.size());
  }
}

void read_integers(wire::Message message, Feature::Integers& values) {
  while (const auto field = message.next()) {
    if (field->number != 1) continue;
    if (field->kind == wire::Kind::kVarint) {
      values.push_back(static_cast<std::int64_t>(field->value));
      continue;
    }
    wire::Message packed = message.inside(*field);
    while (const auto value = packed.next_varint()) values.push_back(static_cast<std::int64_t>(*value));
  }
}

// The list of a feature, which takes the place of one of another kind.
template <class List, class Values>
List& list_of(Values& values) {
  if (!std::holds_alternative<List>(values)) values = List();
  return std::get<List>(values);
}

template <class Values>
void read_feature(wire::Message message, Values& values) {
  while (const auto field = message.next()) {
    switch (field->number) {
      case 1:
        read_bytes(message.inside(*field), list_of<Feature::Bytes>(values));
        break;
      case 2:
        read_floats(message.inside(*field), list_of<Feature::Floats>(values));
        break;
      case 3:
        read_integers(message.inside(*field), list_of<Feature::Integers>(values));
        break;
      default:
        break;
    }
  }
}

}  // namespace

Feature::Feature(const char* value) : Feature(std::string(value)) {}
Feature::Feature(std::string value) { values_.emplace<Bytes>().push_back(std::move(value)); }
Feature::Feature(Integers values) : values_(std::move(values)) {}
Feature::Feature(Floats values) : values_(std::move(values)) {}
Feature::Feature(Bytes values) : values_(std::move(values)) {}

Feature::Feature(const Tensor& tensor) {
  CAPSTAN_CHECK(!is_complex(tensor.dtype()), DTypeError, "feature: a feature holds integers or floats, not ",
                describe(tensor));
  if (is_floating(tensor.dtype())) {
    values_ = tensor.to_vector<float>();
  } else {
    values_ = tensor.to_vector<std::int64_t>();
  }
}

std::string_view Feature::kind() const {
  constexpr std::string_view kNames[] = {"nothing", "bytes", "floats", "integers"};
  return kNames[values_.index()];
}

namespace {

template <class List, class Values>
const List& checked_list(const Values& values, std::string_view kind, std::string_view asked) {
  static const List nothing;
  if (std::holds_alternative<std::monostate>(values)) return nothing;
  CAPSTAN_CHECK(std::holds_alternative<List>(values), ValueError, "feature: it holds ", kind, ", not ", asked);
  return std::get<List>(values);
}

}  // namespace

const Feature::Integers& Feature::integers() const { return checked_list<Integers>(values_, kind(), "integers"); }
const Feature::Floats& Feature::floats() const { return checked_list<Floats>(values_, kind(), "floats"); }
const Feature::Bytes& Feature::bytes() const { return checked_list<Bytes>(values_, kind(), "bytes"); }

Tensor Feature::tensor() const {
  if (std::holds_alternative<Integers>(values_)) return constant(integers());
  return constant(floats());
}

Example::Example(std::initializer_list<std::pair<const std::string, Feature>> features) : features_(features) {}
Example::Example(std::map<std::string, Feature> features) : features_(std::move(features)) {}

Example Example::parse(std::string_view message, std::string_view file) {
  Example example;
  wire::Message top(kParse, file, message);
  while (const auto features = top.next()) {
    if (features->number != 1) continue;
    wire::Message map = top.inside(*features);
    while (const auto entry = map.next()) {
      if (entry->number != 1) continue;
      wire::Message parts = map.inside(*entry);
      std::string name;
      Feature feature;
      while (const auto part = parts.next()) {
        if (part->number == 1) {
          parts.expect(*part, wire::Kind::kBytes);
          if (!utf8::is_valid(part->bytes)) parts.fail("a name of a feature is not UTF-8");
          name = part->bytes;
        } else if (part->number == 2) {
          read_feature(parts.inside(*part), feature.values_);
        }
      }
      example.set(name, std::move(feature));
    }
  }
  return example;
}

std::string Example::serialize() const {
  wire::Writer map;
  for (const auto& [name, feature] : features_) {
    CAPSTAN_CHECK(utf8::is_valid(name), ValueError, "example: a name of a feature is not UTF-8");
    wire::Writer list, value, entry;
    if (const auto* bytes = std::get_if<Feature::Bytes>(&feature.values_)) {
      for (const std::string& text : *bytes) list.bytes(1, text);
    } else if (const auto* floats = std::get_if<Feature::Floats>(&feature.values_)) {
      if (!floats->empty()) list.packed(1, *floats);
    } else if (const auto* integers = std::get_if<Feature::Integers>(&feature.values_)) {
      if (!integers->empty()) list.packed(1, *integers);
    }
    if (const auto number = static_cast<std::uint32_t>(feature.values_.index()); number != 0) {
      value.bytes(number, list.text());
    }
    entry.bytes(1, name);
    entry.bytes(2, value.text());
    map.bytes(1, entry.text());
  }
  wire::Writer message;
  message.bytes(1, map.text());
  return message.take();
}

bool Example::contains(const std::string& name) const { return features_.contains(name); }
void Example::set(const std::string& name, Feature feature) { features_.insert_or_assign(name, std::move(feature)); }

const Feature& Example::operator[](const std::string& name) const {
  const auto found = features_.find(name);
  if (found != features_.end()) return found->second;
  std::string names;
  for (const auto& [other, feature] : features_) names += (names.empty() ? "\"" : ", \"") + other + "\"";
  detail::fail<IndexError>("example: there is no feature \"", name, "\"\n  features: ", names.empty() ? "none" : names);
}

}  // namespace capstan::io
