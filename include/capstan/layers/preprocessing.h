// Layers that prepare data: numbers, ids and texts.
//
// Layers of texts (StringLookup, TextVectorization, and where they are given texts Hashing and HashedCrossing) take
// Texts and give tensors, outside of a model: in front of it, batch by batch with text_batches(), or once for all data.
// As part of a model they are an error. Layers of numbers and ids take tensors, in models and traced functions, too.
//
// What `adapt` learns is part of a layer's configuration, with which it is made again; of Normalization it is the
// weights. A traced function, fit() among them, keeps the vocabulary that a layer had then: adapt layers first.
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
#include <type_traits>
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
  /// The dtypes of a layer with such a result.
  operator DTypePolicy() const;

 private:
  std::optional<DType> dtype_;
};

/// In configurations: a name, or a policy as Keras writes it. Errors: ValueError for what is no dtype.
CAPSTAN_EXPORT void set_field(ResultDType& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const ResultDType& field);

/// The key of a keyed hash: nothing, one integer, which is used twice, or two.
class CAPSTAN_EXPORT Salt {
 public:
  Salt() = default;
  Salt(std::int64_t both) : Salt(both, both) {}
  Salt(std::int64_t first, std::int64_t second) : key_{first, second}, is_given_(true) {}

  bool is_given() const { return is_given_; }
  const std::array<std::int64_t, 2>& key() const { return key_; }

 private:
  std::array<std::int64_t, 2> key_ = {};
  bool is_given_ = false;
};

/// In configurations: none, an integer or a list of two. Errors: ValueError for anything else.
CAPSTAN_EXPORT void set_field(Salt& field, const AttributeValue& value, std::string_view owner, std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const Salt& field);

/// An id or a text that stands for a masked input, or nothing.
class CAPSTAN_EXPORT MaskValue {
 public:
  MaskValue() = default;
  // A template, for 0 is a null pointer, too.
  template <detail::Integer T>
  MaskValue(T id) : id_(static_cast<std::int64_t>(id)) {}
  MaskValue(const char* text) : text_(text) {}
  MaskValue(std::string text) : text_(std::move(text)) {}

  bool is_given() const { return id_.has_value() || text_.has_value(); }
  const std::optional<std::int64_t>& id() const { return id_; }
  const std::optional<std::string>& text() const { return text_; }

 private:
  std::optional<std::int64_t> id_;
  std::optional<std::string> text_;
};

/// In configurations: none, an integer or a text. Errors: ValueError for anything else.
CAPSTAN_EXPORT void set_field(MaskValue& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const MaskValue& field);

/// How many words in a row make a token: nothing, all counts up to a number, or those of a list.
class CAPSTAN_EXPORT Ngrams {
 public:
  Ngrams() = default;
  Ngrams(std::int64_t most) : most_(most) {}
  Ngrams(std::initializer_list<std::int64_t> widths) : widths_(widths) {}
  Ngrams(std::vector<std::int64_t> widths) : widths_(std::move(widths)) {}

  bool is_given() const { return most_.has_value() || !widths_.empty(); }
  const std::optional<std::int64_t>& most() const { return most_; }
  const std::vector<std::int64_t>& widths() const { return widths_; }

 private:
  std::optional<std::int64_t> most_;
  std::vector<std::int64_t> widths_;
};

/// In configurations: none, an integer or a list of integers. Errors: ValueError for anything else.
CAPSTAN_EXPORT void set_field(Ngrams& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const Ngrams& field);

/// What is done with a text, by a name or by a function of the program; std::nullopt does nothing.
template <class Result>
class TextFunction {
 public:
  using Function = std::function<Result(const std::string&)>;
  TextFunction(std::nullopt_t) {}
  TextFunction(const char* name) : name_(name) {}
  TextFunction(std::string name) : name_(std::move(name)) {}
  template <class F>
  requires std::is_invocable_r_v<Result, const F&, const std::string&> TextFunction(F function)
      : function_(std::move(function)) {}

  /// The name, or "" for a function or nothing.
  const std::string& name() const { return name_; }
  const Function& function() const { return function_; }

 private:
  std::string name_;
  Function function_;
};
using TextStandardization = TextFunction<std::string>;
using TextSplitting = TextFunction<std::vector<std::string>>;

/// In configurations: none or a name. Errors: ValueError for anything else, and for a function of the program, which
/// has no configuration.
CAPSTAN_EXPORT void set_field(TextStandardization& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT void set_field(TextSplitting& field, const AttributeValue& value, std::string_view owner,
                              std::string_view name);
CAPSTAN_EXPORT AttributeValue get_field(const TextStandardization& field);
CAPSTAN_EXPORT AttributeValue get_field(const TextSplitting& field);

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
  DTypePolicy dtype = {};
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
  void adapt(const BatchSource& data, std::optional<std::int64_t> steps = {}) const;

 private:
  explicit Normalization(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
};

/// Options of Rescaling.
struct RescalingOptions {
  Numbers offset = 0.0;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
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

/// Options of Discretization.
struct DiscretizationOptions {
  OptionalList<double> bin_boundaries = {};   ///< in ascending order; either these are given or `num_bins`
  std::optional<std::int64_t> num_bins = {};  ///< then `adapt` finds the boundaries
  double epsilon = 0.01;                      ///< how far, as a part of the data, boundaries may be from the quantiles
  std::string output_mode = "int";            ///< or "one_hot", "multi_hot", "count"
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// The number of the bin that each element lies in: with boundaries b, bin i holds b[i - 1] <= x < b[i], and the first
/// and the last bin have no end. The result is int32 with the shape of the input; in the other modes it is of the
/// layer's dtype, as CategoryEncoding gives it, for one bin more than there are boundaries.
///
///     layers::Discretization({.bin_boundaries = {0.0, 1.0, 2.0}})(constant({-1.5, 1.0, 3.4}));   // 0 2 3
///     layers::Discretization quarters({.num_bins = 4});
///     quarters.adapt(x);
///
/// Errors: ValueError for both of boundaries and num_bins or neither, for boundaries that do not ascend, an epsilon
/// outside of (0, 1], an unknown mode, and a call before `adapt`.
class CAPSTAN_EXPORT Discretization final : public Layer {
 public:
  explicit Discretization(const DiscretizationOptions& options);
  /// Errors: ValueError for a layer of another class.
  static Discretization of(const Layer& layer);

  /// Puts the boundaries at the quantiles of all elements. Few elements give fewer boundaries. Errors: ValueError for a
  /// layer that was given its boundaries, for no elements, and for elements that are not finite.
  void adapt(const Tensor& data) const;
  /// The same for the inputs of a pass over batches, or of its first `steps`.
  void adapt(const BatchSource& data, std::optional<std::int64_t> steps = {}) const;
  /// The boundaries that were given or found; none before.
  std::vector<double> bin_boundaries() const;

 private:
  explicit Discretization(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
};

// --- Ids ---

/// Options of CategoryEncoding.
struct CategoryEncodingOptions {
  std::string output_mode = "multi_hot";  ///< or "one_hot", "count"
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Ids from 0 to num_tokens - 1 as vectors of that length. "one_hot" has a vector for each id: [...] or [..., 1] become
/// [..., num_tokens]. "multi_hot" has one for the ids along the last axis, with ones for those that appear, and "count"
/// how often they do: [..., ids] become [..., num_tokens].
///
///     layers::CategoryEncoding encode(4, {.output_mode = "count"});
///     encode(constant({{0, 1}, {3, 3}}));              // {{1, 1, 0, 0}, {0, 0, 0, 2}}
///     encode({ids, weights});                          // adds up weights, of the shape of ids, instead of ones
///
/// Ids of other dtypes than int32 and int64 are cast to int64. Errors: ValueError for num_tokens < 1, an unknown mode,
/// an id out of range, or weights in another mode than "count"; ShapeError for weights of another shape.
class CAPSTAN_EXPORT CategoryEncoding final : public Layer {
 public:
  explicit CategoryEncoding(std::int64_t num_tokens, const CategoryEncodingOptions& options = {});
};

/// Options of Hashing.
struct HashingOptions {
  MaskValue mask_value = {};        ///< goes to bin 0, and all others to the bins after it
  Salt salt = {};                   ///< hashes with SipHash-2-4 under this key instead of FarmHash64
  std::string output_mode = "int";  ///< or "one_hot", "multi_hot", "count", as CategoryEncoding gives them
  ResultDType dtype = {};           ///< int64 for "int", else floatx()
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
};

/// Numbers of bins, from 0 to num_bins - 1, by hashes: the same for the same text or integer in every program, those of
/// TensorFlow. Integers are hashed as their decimal digits; numbers that are not integral are cut off first.
///
///     layers::Hashing(3)({"a", "b", "a"});           // int64: of "a" and "b" whatever their hashes are
///     layers::Hashing(3)(constant({7, 8, 9}));
///
/// The elements of a tensor have to be known, so in a traced function it is an error; texts are hashed outside of
/// models in any case. Errors: ValueError for num_bins < 1, an unknown mode, a mask_value of another kind than the
/// input; DTypeError for a dtype that does not fit the mode.
class CAPSTAN_EXPORT Hashing final : public Layer {
 public:
  explicit Hashing(std::int64_t num_bins, const HashingOptions& options = {});
  /// Errors: ValueError for a layer of another class.
  static Hashing of(const Layer& layer);

  using Layer::operator();
  Tensor operator()(const Texts& texts) const;

 private:
  explicit Hashing(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
};

/// Options of HashedCrossing.
struct HashedCrossingOptions {
  std::string output_mode = "int";  ///< or "one_hot"
  ResultDType dtype = {};           ///< int64 for "int", else floatx()
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
};

/// One of the features that are crossed.
using CrossedFeature = std::variant<Tensor, Texts>;

/// Numbers of bins for combinations of two or more features, by hashes: those of TensorFlow. Features are integers or
/// texts of one shape, [], [batch] or [batch, 1].
///
///     layers::HashedCrossing cross(5);
///     cross({Texts{"A", "B", "A"}, constant({101, 101, 102})});   // int64[3]
///     cross({ids, ids});
///
/// Errors: ValueError for num_bins < 1, an unknown mode, or less than two features; ShapeError and DTypeError for those
/// that do not fit. In a traced function it is an error, as Hashing is.
class CAPSTAN_EXPORT HashedCrossing final : public Layer {
 public:
  explicit HashedCrossing(std::int64_t num_bins, const HashedCrossingOptions& options = {});
  /// Errors: ValueError for a layer of another class.
  static HashedCrossing of(const Layer& layer);

  Tensor operator()(const std::vector<CrossedFeature>& features) const;

 private:
  explicit HashedCrossing(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
};

/// Options of IntegerLookup.
struct IntegerLookupOptions {
  std::optional<std::int64_t> max_tokens = {};  ///< the largest size of the vocabulary, with mask and unknown
  std::int64_t num_oov_indices = 1;             ///< places of tokens that are unknown; 0: these are an error
  std::optional<std::int64_t> mask_token = {};
  std::int64_t oov_token = -1;                 ///< what an inverted layer gives for an unknown token
  OptionalList<std::int64_t> vocabulary = {};  ///< then `adapt` is an error
  OptionalList<double> idf_weights = {};       ///< with a vocabulary and "tf_idf"
  bool invert = false;                         ///< from indices back to tokens
  std::string output_mode = "int";             ///< or "one_hot", "multi_hot", "count", "tf_idf"
  bool pad_to_max_tokens = false;              ///< vectors have the length max_tokens
  std::string oov_method = "floormod";         ///< how unknown tokens get one of several places; or "farmhash"
  Salt salt = {};                              ///< of "farmhash": hashes with SipHash-2-4 under this key
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};  ///< of "tf_idf"; other results are int64
};

/// The places of integers in a vocabulary: 0 for the mask token if there is one and the mode is "int", then
/// num_oov_indices places for unknown tokens, then the vocabulary. The other modes give vectors with an element for
/// each place, as CategoryEncoding does, without masked tokens; "tf_idf" counts, times how telling a token is.
///
///     layers::IntegerLookup look_up({.vocabulary = {12, 36, 1138}});
///     look_up(constant({36, 5, 12}));                            // 2 0 1
///
/// Errors: ValueError for options that do not go together, a vocabulary that has a token twice, does not fit
/// max_tokens or holds the mask token, a call without a vocabulary, and, with num_oov_indices = 0, an unknown token.
class CAPSTAN_EXPORT IntegerLookup final : public Layer {
 public:
  explicit IntegerLookup(const IntegerLookupOptions& options = {});
  /// Errors: ValueError for a layer of another class.
  static IntegerLookup of(const Layer& layer);

  /// Makes a vocabulary of the tokens of the data, the most frequent first; of equally frequent ones the largest. Rows
  /// are documents, and so is each element of a vector. Errors: ValueError for a layer that was given its vocabulary,
  /// and for data without tokens.
  void adapt(const Tensor& data) const;
  /// The same for the inputs of a pass over batches, or of its first `steps`; a vector is one document there.
  void adapt(const BatchSource& data, std::optional<std::int64_t> steps = {}) const;
  /// Replaces the vocabulary. It may begin with the mask token and the unknown ones, as get_vocabulary() has them.
  /// `idf_weights` has a weight for each token, with "tf_idf" only.
  void set_vocabulary(const std::vector<std::int64_t>& vocabulary, const std::vector<double>& idf_weights = {}) const;
  /// The token of each place, or the vocabulary alone.
  std::vector<std::int64_t> get_vocabulary(bool include_special_tokens = true) const;
  /// With the special tokens.
  std::int64_t vocabulary_size() const;

 private:
  explicit IntegerLookup(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
};

// --- Texts ---

/// Options of StringLookup.
struct StringLookupOptions {
  std::optional<std::int64_t> max_tokens = {};  ///< the largest size of the vocabulary, with mask and unknown
  std::int64_t num_oov_indices = 1;             ///< places of tokens that are unknown; 0: these are an error
  std::optional<std::string> mask_token = {};
  std::optional<std::string> oov_token = "[UNK]";  ///< what stands for an unknown token
  OptionalList<std::string> vocabulary = {};       ///< then `adapt` is an error
  OptionalList<double> idf_weights = {};           ///< with a vocabulary and "tf_idf"
  bool invert = false;                             ///< from indices back to tokens: to_texts()
  std::string output_mode = "int";                 ///< or "one_hot", "multi_hot", "count", "tf_idf"
  bool pad_to_max_tokens = false;                  ///< vectors have the length max_tokens
  Salt salt = {};  ///< unknown tokens get one of several places by SipHash-2-4 under this key instead of FarmHash64
  std::string name = {};
  DTypePolicy dtype = {};  ///< of "tf_idf"; other results are int64
};

/// The places of texts in a vocabulary, as IntegerLookup has those of integers.
///
///     layers::StringLookup look_up;
///     look_up.adapt({"red", "blue", "red"});
///     look_up.get_vocabulary();                    // "[UNK]", "red", "blue"
///     Tensor ids = look_up({"blue", "green"});     // 2 0
///     look_up.to_texts(ids);                       // "blue", "[UNK]"
///
/// Rows of different lengths make vectors, but no ids: ShapeError. Errors: otherwise those of IntegerLookup; ValueError
/// for a call with a tensor.
class CAPSTAN_EXPORT StringLookup final : public Layer {
 public:
  explicit StringLookup(const StringLookupOptions& options = {});
  /// Errors: ValueError for a layer of another class.
  static StringLookup of(const Layer& layer);

  /// Errors: ValueError for a layer with `invert`.
  Tensor operator()(const Texts& texts) const;
  /// The tokens at places, with a shape of rank 2 at most; places that there are not give oov_token. With and without
  /// `invert`. Errors: ValueError in another mode than "int".
  Texts to_texts(const Tensor& indices) const;

  /// Makes a vocabulary of the tokens of the data, the most frequent first; of equally frequent ones the last in the
  /// order of their bytes. Rows are documents, and so is each text of a list. Errors: ValueError for a layer that was
  /// given its vocabulary, and for data without tokens.
  void adapt(const Texts& data) const;
  /// The same in parts: reset_state(), then update_state() with each batch, in which a list is one document, then
  /// finalize_state().
  void reset_state() const;
  void update_state(const Texts& data) const;
  void finalize_state() const;

  /// Replaces the vocabulary. It may begin with the mask token and the unknown ones, as get_vocabulary() has them.
  /// `idf_weights` has a weight for each token, with "tf_idf" only.
  void set_vocabulary(const std::vector<std::string>& vocabulary, const std::vector<double>& idf_weights = {}) const;
  /// The token of each place, or the vocabulary alone.
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  /// With the special tokens.
  std::int64_t vocabulary_size() const;

 private:
  explicit StringLookup(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
};

/// Options of TextVectorization.
struct TextVectorizationOptions {
  std::optional<std::int64_t> max_tokens = {};  ///< the largest size of the vocabulary, with mask and unknown
  /// Or "lower", "strip_punctuation" (both of ASCII alone), std::nullopt, or a function from text to text.
  TextStandardization standardize = "lower_and_strip_punctuation";
  /// Or "character", std::nullopt, or a function from text to a list of them.
  TextSplitting split = "whitespace";
  Ngrams ngrams = {};               ///< 2 makes tokens of single words and of two, {2} of two only
  std::string output_mode = "int";  ///< or "multi_hot", "count", "tf_idf"
  std::optional<std::int64_t> output_sequence_length = {};  ///< of "int": rows are cut or filled up with zeros to it
  bool pad_to_max_tokens = false;                           ///< vectors have the length max_tokens
  OptionalList<std::string> vocabulary = {};                ///< then `adapt` is an error
  OptionalList<double> idf_weights = {};                    ///< with a vocabulary and "tf_idf"
  std::string name = {};
  DTypePolicy dtype = {};  ///< of "tf_idf"; other results are int64
};

/// Texts as places of their words in a vocabulary. Each text is made even (lower case, no punctuation), split into
/// words, which may be joined to n-grams, and looked up: 0 is padding and the empty word, 1 the unknown word. The
/// result is int64 [texts, longest text or output_sequence_length]; in the other modes [texts, vocabulary_size()],
/// without padding and empty words.
///
///     layers::TextVectorization vectorize({.output_sequence_length = 4});
///     vectorize.adapt({"foo bar", "bar baz", "baz bada boom"});
///     vectorize({"foo qux bar", "qux baz"});   // {{4, 1, 3, 0}, {1, 2, 0, 0}}
///
/// Without `split`, texts are tokens and rows of them are texts; with it, rows have one text each. Errors: ValueError
/// for options that do not go together, a call without a vocabulary, and a call with a tensor; ShapeError for rows of
/// several texts that would be split.
class CAPSTAN_EXPORT TextVectorization final : public Layer {
 public:
  explicit TextVectorization(const TextVectorizationOptions& options = {});
  /// Errors: ValueError for a layer of another class.
  static TextVectorization of(const Layer& layer);

  Tensor operator()(const Texts& texts) const;

  /// Makes a vocabulary of the words of the data, as StringLookup does. Errors: ValueError for a layer that was given
  /// its vocabulary, and for data without words.
  void adapt(const Texts& data) const;
  /// The same in parts: reset_state(), then update_state() with each batch, then finalize_state().
  void reset_state() const;
  void update_state(const Texts& data) const;
  void finalize_state() const;

  /// As StringLookup has them.
  void set_vocabulary(const std::vector<std::string>& vocabulary, const std::vector<double>& idf_weights = {}) const;
  std::vector<std::string> get_vocabulary(bool include_special_tokens = true) const;
  std::int64_t vocabulary_size() const;

 private:
  explicit TextVectorization(std::shared_ptr<LayerBase> body) : Layer(std::move(body)) {}
};

static_assert(capstan::detail::kAddNothing<Normalization, Rescaling, Discretization, CategoryEncoding, Hashing,
                                           HashedCrossing, IntegerLookup, StringLookup, TextVectorization>);

}  // namespace layers
}  // namespace capstan
