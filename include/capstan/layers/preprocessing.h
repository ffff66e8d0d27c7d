// Layers that prepare data: numbers, ids and texts.
//
// Layers of texts (StringLookup, TextVectorization, and where they are given texts Hashing and HashedCrossing) take
// Texts and give tensors, outside of a model: in front of it, batch by batch with text_batches(), or once for all data.
// As part of a model they are an error. Layers of numbers and ids take tensors, in models and traced functions, too.
//
// What `adapt` learns is part of a layer's configuration, with which it is made again. A traced function, fit() among
// them, keeps the vocabulary that a layer had when it was traced: adapt layers first.
//
// A layer that was made by its name is a Layer; `of` gives the handle with the class's own members:
//
//     Layer any = layer_from("Normalization");
//     layers::Normalization::of(any).adapt(x);
//
// There are no sparse and no ragged tensors, so the options `sparse` and `ragged` must be false in configurations.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "capstan/layer.h"
#include "capstan/texts.h"

namespace capstan {

class BatchSource;

namespace detail {
[[noreturn]] CAPSTAN_EXPORT void throw_no_list(const AttributeValue& value, std::string_view owner,
                                               std::string_view name);
}

namespace layers {

// --- Types of options ---

/// Numbers of any shape, or nothing: one number, a list, or the elements of a tensor.
class CAPSTAN_EXPORT Numbers {
 public:
  Numbers() = default;
  Numbers(double number) : values_{number}, is_given_(true) {}
  Numbers(std::initializer_list<double> numbers) : Numbers(std::vector<double>(numbers)) {}
  Numbers(std::vector<double> numbers);
  Numbers(const Tensor& tensor);

  bool is_given() const { return is_given_; }
  const std::vector<double>& values() const { return values_; }
  const Shape& shape() const { return shape_; }

 private:
  friend CAPSTAN_EXPORT void set_field(Numbers& field, const AttributeValue& value, std::string_view owner,
                                       std::string_view name);
  std::vector<double> values_;
  Shape shape_;
  bool is_given_ = false;
};

/// In configurations: none, a number or nested lists of equal lengths. Errors: ValueError for anything else.
CAPSTAN_EXPORT void set_field(Numbers& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const Numbers& field);

/// A list that is not given as long as it is empty; then it is none in configurations.
template <class T>
struct OptionalList : std::vector<T> {
  using std::vector<T>::vector;
  OptionalList(std::vector<T> items) : std::vector<T>(std::move(items)) {}
};

template <class T>
void set_field(OptionalList<T>& field, const AttributeValue& value, std::string_view owner, std::string_view name) {
  field.clear();
  if (!value.has_value()) return;
  if (value.kind != AttributeValue::Kind::kList) capstan::detail::throw_no_list(value, owner, name);
  for (const AttributeValue& item : value.list) capstan::set_field(field.emplace_back(), item, owner, name);
}
template <class T>
AttributeValue get_field(const OptionalList<T>& field) {
  if (field.empty()) return {};
  std::vector<AttributeValue> list;
  for (const T& item : field) list.push_back(capstan::get_field(item));
  return list;
}

/// The dtype of a result that may be integral; that of the class unless given.
class CAPSTAN_EXPORT ResultDType {
 public:
  ResultDType() = default;
  ResultDType(DType dtype) : dtype_(dtype) {}

  bool is_given() const { return dtype_.has_value(); }
  DType value_or(DType other) const { return dtype_.value_or(other); }

 private:
  std::optional<DType> dtype_;
};

/// In configurations: a name, or a policy as Keras writes it. Errors: ValueError for what is no dtype.
CAPSTAN_EXPORT void set_field(ResultDType& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const ResultDType& field);

// --- Numbers ---

/// Options of Normalization.
struct NormalizationOptions {
  Axes axis = -1;         ///< these have a mean and variance for each place; Axes() stands for one over all elements
  Numbers mean = {};      ///< given together with `variance`, in the same shape: then nothing is learned
  Numbers variance = {};  ///< broadcast, from the right, along the axes that are kept
  bool invert = false;    ///< from normalised numbers back to those before
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// (x - mean) / max(sqrt(variance), 1e-7), with mean and variance (divided by the count) of the data that `adapt` was
/// given, over all axes but `axis`; inverted, x * max(sqrt(variance), 1e-7) + mean. Masks are passed on.
///
///     layers::Normalization normalize;
///     normalize.adapt(x);                    // [examples, features]: a mean and a variance for each feature
///     Tensor y = normalize(x);
///     layers::Normalization({.axis = Axes(), .mean = 3.0, .variance = 2.0})(x);
///
/// Weights, none of them trainable: mean, variance [lengths of the axes], and count [], an int64 that stays 0, as in
/// Keras; a layer that was given its mean has none. Before `adapt` the mean is 0 and the variance 1, so that a model
/// can be built and then given its weights. Errors: ValueError for a mean without variance, or of another shape or a
/// higher rank than there are axes; IndexError for an axis out of range; ShapeError for an axis of unknown or another
/// length.
class CAPSTAN_EXPORT Normalization final : public Layer {
 public:
  explicit Normalization(const NormalizationOptions& options = {});
  /// Errors: ValueError for a layer of another class.
  static Normalization of(const Layer& layer);

  /// Replaces mean and variance by those of all examples. Errors: ValueError for no examples, or for a layer that was
  /// given its mean.
  void adapt(const Tensor& data) const;
  /// The same for the inputs of a pass over batches, or of its first `steps`.
  void adapt(const BatchSource& data, std::int64_t steps = -1) const;

 private:
  explicit Normalization(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
};

/// Options of Rescaling.
struct RescalingOptions {
  Numbers offset = 0.0;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = floatx();
};

/// x * scale + offset. Lists broadcast along the last axis. Integers become floating. Masks are passed on.
///
///     layers::Rescaling(1.0 / 127.5, {.offset = -1.0})(images);   // from 0..255 to -1..1
///
/// Errors: ValueError for a scale or an offset that is not given.
class CAPSTAN_EXPORT Rescaling final : public Layer {
 public:
  explicit Rescaling(const Numbers& scale, const RescalingOptions& options = {});
};

}  // namespace layers
}  // namespace capstan
