#include "tests/ops/random_calls.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "capstan/ops/array.h"
#include "src/ops/registry.h"
#include "tests/support/make_tensor.h"
#include "tests/support/strange.h"

namespace capstan::testing {

namespace {

AttributeValue strange_attribute(Random& random, int depth = 0) {
  switch (random.integer(0, depth < 2 ? 6 : 4)) {
    case 0:
      return {};
    case 1:
      return random.integer(0, 1) == 1;
    case 2:
      return strange_number(random);
    case 3: {
      static const std::vector<std::string> texts = {
          "",        "SAME", "VALID",        "float32", "int32", "bool",    "ij,jk->ik", "...,->",
          "REFLECT", "inf",  "no such text", "fro",     "i->ii", "a,a,a->", "%s%n",      std::string(5000, 'a')};
      return AttributeValue(pick(texts, random));
    }
    case 4:
      return strange_integer(random);
    default: {
      std::vector<AttributeValue> list;
      const std::int64_t size = random.integer(0, 19) == 0 ? 300 : random.integer(0, 9);
      const bool integers = random.integer(0, 3) > 0;
      // Lengths that each make sense and have a product that does not.
      const bool same = random.integer(0, 3) == 0;
      for (std::int64_t i = 0; i < size; ++i) {
        if (same && i > 0) {
          list.push_back(list.back());
        } else {
          list.push_back(integers ? AttributeValue(strange_integer(random)) : strange_attribute(random, depth + 1));
        }
      }
      return list;
    }
  }
}

// The same kind of value with other numbers in it, which gets further into an op than a value of
// another kind.
void disturb(AttributeValue& value, Random& random) {
  switch (value.kind) {
    case AttributeValue::Kind::kInt:
      value = strange_integer(random);
      break;
    case AttributeValue::Kind::kList:
      if (!value.list.empty() && random.integer(0, 7) == 0) {
        for (AttributeValue& item : value.list) disturb(item, random);
      } else if (!value.list.empty() && random.integer(0, 3) > 0) {
        disturb(
            value.list[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(value.list.size()) - 1))],
            random);
      } else if (random.integer(0, 1) == 0 && !value.list.empty()) {
        value.list.pop_back();
      } else {
        value.list.push_back(value.list.empty() ? AttributeValue(1) : value.list.back());
      }
      break;
    default:
      value = strange_attribute(random);
  }
}

bool one_in(std::int64_t n, Random& random) { return random.integer(0, n - 1) == 0; }

// The same kind of value, of which most still make sense.
AttributeValue varied(const AttributeValue& value, Random& random) {
  switch (value.kind) {
    case AttributeValue::Kind::kBool:
      return !value.truth;
    case AttributeValue::Kind::kInt:
      return one_in(4, random) ? strange_integer(random) : random.integer(-3, 5);
    case AttributeValue::Kind::kFloat:
      return one_in(2, random) ? strange_number(random) : random.uniform(-1, 2);
    case AttributeValue::Kind::kList: {
      AttributeValue list = value;
      if (one_in(6, random)) {
        disturb(list, random);
      } else if (!list.list.empty()) {
        const std::int64_t last = static_cast<std::int64_t>(list.list.size()) - 1;
        AttributeValue& item = list.list[static_cast<std::size_t>(random.integer(0, last))];
        item = varied(item, random);
      }
      return list;
    }
    case AttributeValue::Kind::kNone:
      if (one_in(3, random)) return std::vector<AttributeValue>{random.integer(-3, 3), random.integer(-3, 3)};
      return random.integer(-3, 3);
    case AttributeValue::Kind::kString:
    case AttributeValue::Kind::kMap:  // no op takes one
      break;
  }
  static const std::vector<std::string> texts = {"SAME",    "VALID",    "float32", "float64", "int32",
                                                 "int64",   "bfloat16", "reflect", "bool",    "linear",
                                                 "nearest", "REFLECT",  "none",    "NHWC"};
  return one_in(3, random) ? AttributeValue(pick(texts, random)) : value;
}

// What the attributes are when they are not given.
AttributeMap defaults_of(const OpDef& op) {
  AttributeMap map;
  if (op.attributes == nullptr) return map;
  alignas(8) std::byte bytes[64];
  op.attributes->construct(bytes);
  for (int i = 0; i < op.attributes->field_count; ++i) {
    const AttributeField& field = op.attributes->fields[i];
    map[std::string(field.name)] = field.get(bytes);
  }
  return map;
}

void vary_attributes(const OpDef& op, Sample& sample, Random& random) {
  AttributeMap all = defaults_of(op);
  if (all.empty()) return;
  for (const auto& [name, value] : sample.attributes) all[name] = value;
  auto chosen = all.begin();
  std::advance(chosen, random.integer(0, static_cast<std::int64_t>(all.size()) - 1));
  sample.attributes[chosen->first] = varied(chosen->second, random);
}

constexpr std::int64_t kMostElements = 4000;

// Another length for all axes that have one, so that what fitted still does.
void change_length(std::vector<Shape>& shapes, Random& random) {
  static const std::vector<std::int64_t> lengths = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 64, 100};
  std::vector<std::int64_t> present;
  for (const Shape& shape : shapes) present.insert(present.end(), shape.begin(), shape.end());
  if (present.empty()) return;
  const std::int64_t from = pick(present, random);
  const std::int64_t to = pick(lengths, random);
  std::vector<Shape> changed = shapes;
  for (Shape& shape : changed) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == from) shape.set(axis, to);
    }
    if (shape.size() > kMostElements) return;
  }
  shapes = std::move(changed);
}

// One axis of one input as an axis that is broadcast.
void broadcast_one(std::vector<Shape>& shapes, Random& random) {
  Shape& shape = shapes[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(shapes.size()) - 1))];
  if (shape.rank() > 0) shape.set(static_cast<int>(random.integer(0, shape.rank() - 1)), 1);
}

double special_number(DType dtype, Random& random) {
  const bool narrow = dtype == DType::kFloat32 || dtype == DType::kBFloat16 || dtype == DType::kComplex64;
  const double largest = dtype == DType::kBFloat16 ? 0x1.fep127 : narrow ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
  const double least = dtype == DType::kBFloat16 ? 0x1p-133 : narrow ? 0x1p-149 : 0x1p-1074;
  const double infinity = std::numeric_limits<double>::infinity();
  const double numbers[] = {0,        -0.0,      std::numeric_limits<double>::quiet_NaN(),
                            infinity, -infinity, 1,
                            -1,       largest,   -largest,
                            least,    -least,    narrow ? 0x1p-126 : 0x1p-1022};
  return numbers[random.integer(0, std::ssize(numbers) - 1)];
}

double special_integer(Random& random) {
  const double numbers[] = {0, 0, 1, -1, 2, 7, 1000, -1000, 2147483647, -2147483648.0};
  return numbers[random.integer(0, std::ssize(numbers) - 1)];
}

// Elements like those of `like`, or wilder ones.
Tensor elements_like(const Tensor& like, const Shape& shape, Random& random) {
  const DType dtype = like.dtype();
  double low = -2, high = 2;
  if (!is_complex(dtype) && like.size() > 0) {
    const std::vector<double> values = like.to_vector<double>();
    low = *std::min_element(values.begin(), values.end());
    high = *std::max_element(values.begin(), values.end());
  }
  if (!(std::abs(low) < 1e6 && std::abs(high) < 1e6)) low = -2, high = 2;
  const std::int64_t kind = random.integer(0, 5);
  if (kind == 0) low = -100, high = 100;
  std::vector<double> values(static_cast<std::size_t>(shape.size() * (is_complex(dtype) ? 2 : 1)));
  for (double& value : values) {
    if (dtype == DType::kBool) {
      value = static_cast<double>(random.integer(0, 1));
    } else if (!is_differentiable(dtype)) {
      value = static_cast<double>(random.integer(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
      if (kind == 1 && one_in(4, random)) value = special_integer(random);
    } else {
      value = random.uniform(low, high);
      if (kind <= 2 && one_in(kind == 1 ? 4 : 20, random)) value = special_number(dtype, random);
    }
  }
  return make_tensor(dtype, shape, values);
}

}  // namespace

std::string describe(const OpDef& op, const Sample& sample) {
  std::string text = std::string(op.name) + "(";
  for (const Tensor& input : sample.inputs) {
    text += (text.back() == '(' ? "" : ", ") +
            (input.has_value() ? std::string(name_of(input.dtype())) + input.shape().to_string() : "empty");
  }
  for (const auto& [name, value] : sample.attributes) text += ", " + name + "=" + value.to_string();
  return text + ")";
}

Sample disturbed(const OpDef& op, Sample sample, Random& random) {
  for (Tensor& input : sample.inputs) {
    if (random.integer(0, 2) == 0) input = strange_tensor(random, input);
  }
  for (auto& [name, value] : sample.attributes) {
    if (random.integer(0, 2) == 0) disturb(value, random);
  }
  for (int i = 0; op.attributes != nullptr && i < op.attributes->field_count; ++i) {
    if (random.integer(0, 3) == 0)
      sample.attributes[std::string(op.attributes->fields[i].name)] = strange_attribute(random);
  }
  switch (sample.inputs.empty() ? 9 : random.integer(0, 20)) {
    case 0:
      sample.inputs.pop_back();
      break;
    case 1:
      sample.inputs.push_back(sample.inputs[0]);
      break;
    case 2:
      sample.inputs.back() = Tensor();
      break;
    case 3:
      if (random.integer(0, 3) == 0) sample.inputs.assign(100, sample.inputs[0]);
      break;
    case 4:
      if (random.integer(0, 1) == 0) sample.inputs.clear();
      break;
    default:
      break;
  }
  return sample;
}

std::vector<const OpDef*> ops_with_samples() {
  std::vector<const OpDef*> ops;
  for (const OpDef* op : all_ops()) {
    if (testing::test_of(*op) != nullptr) ops.push_back(op);
  }
  return ops;
}

CallsOf::CallsOf(const OpDef& op) : op_(op) {
  for (const DType dtype : dtypes_of(op)) {
    for (Sample& sample : samples_of(op, dtype)) samples_.push_back(std::move(sample));
  }
}

Sample CallsOf::next(Random& random) const {
  Sample sample = pick(samples_, random);
  if (!sample.inputs.empty()) {
    std::vector<Shape> shapes;
    for (const Tensor& input : sample.inputs) shapes.push_back(input.shape());
    const std::vector<Shape> given = shapes;
    for (std::int64_t i = random.integer(0, 2); i > 0; --i) change_length(shapes, random);
    if (one_in(8, random)) broadcast_one(shapes, random);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      Tensor& input = sample.inputs[i];
      if (one_in(24, random)) {
        input = strange_tensor(random, input).to_dense();
      } else if (!(shapes[i] == given[i]) || one_in(2, random)) {
        input = elements_like(input, shapes[i], random);
      }
      sample.differentiable[i] = sample.differentiable[i] && is_differentiable(input.dtype());
    }
  }
  if (one_in(2, random)) vary_attributes(op_, sample, random);
  return sample;
}

}  // namespace capstan::testing
