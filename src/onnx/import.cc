#include "src/onnx/import.h"

#include <unordered_map>
#include <algorithm>
#include <array>

#include "src/core/apply.h"
#include "src/core/check.h"

namespace capstan::onnx {

const Value* Scope::find(const std::string& name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->around) {
    if (const auto found = scope->values.find(name); found != scope->values.end()) return &found->second;
  }
  return nullptr;
}

void not_supported(const std::string& what) { throw ValueError("onnx: " + what + " is not supported"); }

std::vector<int> to_last(int rank) {
  std::vector<int> order = {0};
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  return order;
}

std::vector<int> to_second(int rank) {
  std::vector<int> order = {0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) order.push_back(i);
  return order;
}

std::vector<int> filter_to_onnx(int rank) {
  std::vector<int> order = {rank - 1, rank - 2};
  for (int i = 0; i < rank - 2; ++i) order.push_back(i);
  return order;
}

std::vector<int> filter_from_onnx(int rank) {
  std::vector<int> order;
  for (int i = 2; i < rank; ++i) order.push_back(i);
  order.push_back(1);
  order.push_back(0);
  return order;
}

Tensor onnx_layout(const Value& value) {
  if (value.is_filter) return transpose(value.tensor, filter_to_onnx(value.tensor.rank()));
  if (!value.channels_last) return value.tensor;
  return transpose(value.tensor, to_second(value.tensor.rank()));
}

const Value& NodeCall::value(std::size_t i) const {
  CAPSTAN_CHECK(has(i), ValueError, "onnx: input ", i, " is missing");
  const Value* found = scope_.find(node_.inputs[i]);
  CAPSTAN_CHECK(found != nullptr, ValueError, "onnx: there is no value \"", node_.inputs[i], "\"");
  return *found;
}

Tensor NodeCall::tensor(std::size_t i) const { return onnx_layout(value(i)); }

Tensor NodeCall::channels_last(std::size_t i) const {
  const Value& x = value(i);
  CAPSTAN_CHECK(x.tensor.rank() >= 3, ShapeError, "onnx: an image has three axes or more, not ", x.tensor.rank());
  return x.channels_last ? x.tensor : transpose(x.tensor, to_last(x.tensor.rank()));
}

Tensor NodeCall::filters(std::size_t i) const {
  const Value& x = value(i);
  CAPSTAN_CHECK(x.tensor.rank() >= 3, ShapeError, "onnx: filters have three axes or more, not ", x.tensor.rank());
  return x.is_filter ? x.tensor : transpose(onnx_layout(x), filter_from_onnx(x.tensor.rank()));
}

std::vector<std::int64_t> NodeCall::integers_of(std::size_t i) const {
  const Tensor x = tensor(i);
  if (!has_elements(x)) not_supported("input " + std::to_string(i) + " that depends on the values of a trace");
  return x.to_vector<std::int64_t>();
}

std::int64_t NodeCall::integer_of(std::size_t i) const {
  const std::vector<std::int64_t> values = integers_of(i);
  CAPSTAN_CHECK(values.size() == 1, ShapeError, "onnx: input ", i, " has ", values.size(), " elements, not one");
  return values[0];
}

std::vector<double> NodeCall::numbers_of(std::size_t i) const {
  const Tensor x = tensor(i);
  if (!has_elements(x)) not_supported("input " + std::to_string(i) + " that depends on the values of a trace");
  return x.to_vector<double>();
}

std::vector<Tensor> NodeCall::tensors() const {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < input_count(); ++i) all.push_back(tensor(i));
  return all;
}

namespace {
template <class T>
const T& present(const std::optional<T>& value, std::string_view name) {
  CAPSTAN_CHECK(value.has_value(), ValueError, "onnx: attribute ", name, " has another type than it should");
  return *value;
}
}  // namespace

std::int64_t NodeCall::integer(std::string_view name, std::int64_t otherwise) const {
  const Attribute* found = node_.find(name);
  return found == nullptr ? otherwise : present(found->integer, name);
}

std::int64_t NodeCall::integer(std::string_view name) const {
  CAPSTAN_CHECK(has_attribute(name), ValueError, "onnx: attribute ", name, " is missing");
  return integer(name, 0);
}

double NodeCall::number(std::string_view name, double otherwise) const {
  const Attribute* found = node_.find(name);
  return found == nullptr ? otherwise : present(found->number, name);
}

std::string NodeCall::text(std::string_view name, std::string_view otherwise) const {
  const Attribute* found = node_.find(name);
  return found == nullptr ? std::string(otherwise) : found->text;
}

std::vector<std::int64_t> NodeCall::integers(std::string_view name, std::vector<std::int64_t> otherwise) const {
  const Attribute* found = node_.find(name);
  if (found == nullptr) return otherwise;
  return found->integers;
}

std::vector<double> NodeCall::numbers(std::string_view name) const {
  const Attribute* found = node_.find(name);
  return found == nullptr ? std::vector<double>() : found->numbers;
}

const GraphProto& NodeCall::graph(std::string_view name) const {
  const Attribute* found = node_.find(name);
  CAPSTAN_CHECK(found != nullptr && found->graph != nullptr, ValueError, "onnx: the graph ", name, " is missing");
  return *found->graph;
}

DType NodeCall::dtype(std::string_view name, DType otherwise) const {
  if (!has_attribute(name)) return otherwise;
  if (const std::optional<DType> dtype = find_dtype(integer(name))) return *dtype;
  not_supported("type " + type_name(integer(name)));
}

int NodeCall::axis(std::int64_t axis, int rank) const {
  CAPSTAN_CHECK(axis >= -rank && axis < rank, IndexError, "onnx: axis ", axis, " is out of range for ", rank, " axes");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<std::vector<std::int64_t>> NodeCall::axes(std::size_t input) const {
  if (has(input)) return integers_of(input);
  if (has_attribute("axes")) return integers("axes");
  return std::nullopt;
}

Builder find_builder(std::string_view name) {
  static const std::unordered_map<std::string_view, Builder> table = [] {
    std::unordered_map<std::string_view, Builder> all;
    for (const auto list : {elementwise_operators(), logic_operators(), shape_operators(), index_operators(),
                            reduction_operators(), product_operators(), convolution_operators(), pooling_operators(),
                            normalization_operators(), recurrent_operators(), control_operators(), resize_operators(),
                            attention_operators(), affine_grid_operators()}) {
      for (const Operator& one : list) all.emplace(one.name, one.build);
    }
    return all;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace capstan::onnx
