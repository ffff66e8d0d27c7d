// Option types of preprocessing layers in configurations.
#include <cmath>

#include "capstan/layers/preprocessing.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"

namespace capstan {

void detail::throw_no_list(const AttributeValue& value, std::string_view owner, std::string_view name) {
  throw ValueError(join(owner, ": option \"", name, "\" must be a list or none, not ", value.to_string()));
}

namespace layers {

using Kind = AttributeValue::Kind;

// --- Numbers ---

Numbers::Numbers(std::vector<double> numbers)
    : values_(std::move(numbers)), shape_{static_cast<std::int64_t>(values_.size())}, is_given_(true) {}

Numbers::Numbers(const Tensor& tensor) {
  CAPSTAN_CHECK(tensor.has_value(), ValueError, "numbers: the tensor is empty");
  values_ = cast(tensor, float64).to_vector<double>();
  shape_ = tensor.shape();
  is_given_ = true;
}

namespace {

[[noreturn, gnu::cold]] void throw_no_numbers(const AttributeValue& value, std::string_view owner,
                                              std::string_view name) {
  throw ValueError(detail::join(owner, ": option \"", name,
                                "\" must be a number or lists of numbers of equal lengths, not ", value.to_string()));
}

// The lengths of the first items, down to a number.
Shape shape_of(const AttributeValue& value, std::string_view owner, std::string_view name) {
  Shape shape;
  for (const AttributeValue* item = &value; item->kind == Kind::kList; item = &item->list[0]) {
    if (shape.rank() == kMaxRank) throw_no_numbers(value, owner, name);
    shape.push_back(static_cast<std::int64_t>(item->list.size()));
    if (item->list.empty()) break;
  }
  return shape;
}

void collect(const AttributeValue& item, int depth, const Shape& shape, std::vector<double>& values, bool& fits) {
  if (depth == shape.rank()) {
    fits = fits && item.is_number();
    values.push_back(item.number);
    return;
  }
  if (item.kind != Kind::kList || static_cast<std::int64_t>(item.list.size()) != shape[depth]) {
    fits = false;
    return;
  }
  for (const AttributeValue& inner : item.list) collect(inner, depth + 1, shape, values, fits);
}

AttributeValue nested(const std::vector<double>& values, const Shape& shape, int depth, std::size_t& next) {
  if (depth == shape.rank()) return values[next++];
  std::vector<AttributeValue> list;
  for (std::int64_t i = 0; i < shape[depth]; ++i) list.push_back(nested(values, shape, depth + 1, next));
  return list;
}

}  // namespace

void set_field(Numbers& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  Numbers numbers;
  if (value.has_value()) {
    numbers.is_given_ = true;
    numbers.shape_ = shape_of(value, owner, name);
    bool fits = true;
    collect(value, 0, numbers.shape_, numbers.values_, fits);
    if (!fits) throw_no_numbers(value, owner, name);
  }
  field = std::move(numbers);
}

AttributeValue get_field(const Numbers& field) {
  if (!field.is_given()) return {};
  std::size_t next = 0;
  return nested(field.values(), field.shape(), 0, next);
}

// --- Dtypes ---

ResultDType::operator DTypePolicy() const { return dtype_ && is_floating(*dtype_) ? *dtype_ : DTypePolicy(); }

void set_field(ResultDType& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  const AttributeValue* const config = value.find("config");
  const AttributeValue* const inner = config == nullptr ? nullptr : config->find("name");
  const AttributeValue& dtype = inner == nullptr ? value : *inner;
  field = ResultDType();
  if (!dtype.has_value()) return;
  CAPSTAN_CHECK(dtype.kind == Kind::kString, ValueError, owner, ": option \"", name,
                "\" must be a dtype, or a map with \"config\" and a \"name\" in it, not ", value.to_string());
  try {
    field = dtype_from_name(dtype.text);
  } catch (const Error& error) {
    throw ValueError(
        detail::join(owner, ": option \"", name, "\" must be a dtype, not ", dtype.to_string(), "; ", error.what()));
  }
}

AttributeValue get_field(const ResultDType& field) {
  if (!field.is_given()) return {};
  AttributeValue config = AttributeValue::map();
  config.set("name", capstan::get_field(field.value_or(float32)));
  AttributeValue value = AttributeValue::map();
  value.set("module", "keras");
  value.set("class_name", "DTypePolicy");
  value.set("config", std::move(config));
  value.set("registered_name", {});
  return value;
}

// --- Hashes ---

void set_field(Salt& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = Salt();
  if (!value.has_value()) return;
  const bool is_pair = value.kind == Kind::kList && value.list.size() == 2 && value.list[0].kind == Kind::kInt &&
                       value.list[1].kind == Kind::kInt;
  CAPSTAN_CHECK(is_pair || value.kind == Kind::kInt, ValueError, owner, ": option \"", name,
                "\" must be an integer, a list of two or none, not ", value.to_string());
  field = is_pair ? Salt(value.list[0].integer, value.list[1].integer) : Salt(value.integer);
}

AttributeValue get_field(const Salt& field) {
  if (!field.is_given()) return {};
  return std::vector<AttributeValue>{field.key()[0], field.key()[1]};
}

void set_field(MaskValue& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = MaskValue();
  if (!value.has_value()) return;
  CAPSTAN_CHECK(value.kind == Kind::kInt || value.kind == Kind::kString, ValueError, owner, ": option \"", name,
                "\" must be an integer, a text or none, not ", value.to_string());
  field = value.kind == Kind::kInt ? MaskValue(value.integer) : MaskValue(value.text);
}

AttributeValue get_field(const MaskValue& field) {
  return field.id() ? AttributeValue(*field.id()) : field.text() ? AttributeValue(*field.text()) : AttributeValue();
}

// --- Texts ---

void set_field(Ngrams& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = Ngrams();
  if (!value.has_value()) return;
  bool fits = value.kind == Kind::kInt || (value.kind == Kind::kList && !value.list.empty());
  std::vector<std::int64_t> widths;
  for (const AttributeValue& item : value.list) {
    fits = fits && item.kind == Kind::kInt;
    widths.push_back(item.integer);
  }
  CAPSTAN_CHECK(fits, ValueError, owner, ": option \"", name, "\" must be an integer, a list of integers or none, not ",
                value.to_string());
  field = value.kind == Kind::kInt ? Ngrams(value.integer) : Ngrams(std::move(widths));
}

AttributeValue get_field(const Ngrams& field) {
  if (field.most()) return *field.most();
  if (!field.is_given()) return {};
  return std::vector<AttributeValue>(field.widths().begin(), field.widths().end());
}

namespace {

template <class Result>
TextFunction<Result> named_function(const AttributeValue& value, std::string_view owner, std::string_view name) {
  if (!value.has_value()) return std::nullopt;
  CAPSTAN_CHECK(value.kind == Kind::kString, ValueError, owner, ": option \"", name, "\" must be a name or none, not ",
                value.to_string());
  return value.text;
}

template <class Result>
AttributeValue name_of_function(const TextFunction<Result>& field) {
  CAPSTAN_CHECK(field.function() == nullptr, ValueError,
                "TextVectorization: get_config: a function of the program has no configuration");
  return field.name().empty() ? AttributeValue() : AttributeValue(field.name());
}

}  // namespace

void set_field(TextStandardization& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = named_function<std::string>(value, owner, name);
}
void set_field(TextSplitting& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field = named_function<std::vector<std::string>>(value, owner, name);
}
AttributeValue get_field(const TextStandardization& field) { return name_of_function(field); }
AttributeValue get_field(const TextSplitting& field) { return name_of_function(field); }

}  // namespace layers

}  // namespace capstan
