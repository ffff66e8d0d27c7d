// A dense layer over any axes.
//
// The lengths of the kernel's letters follow from those of the input and from the result's that are given. With "..."
// in front letters are counted from the end, with "..." at the end from the start.
#include <array>
#include <cctype>

#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "src/train/common.h"
#include "src/train/layers/classes.h"

namespace capstan::layers {

namespace {

struct EinsumDenseConfig : EinsumDenseOptions {
  std::string equation;
  Shape output_shape;
  static std::span<const OptionField> fields();
};

// Of `output_shape`: one length, or a list in which null stands for an open one.
constexpr FieldType kOutputShape = {
    [](void* member, const AttributeValue& value, std::string_view owner, std::string_view name) {
      const bool is_one = value.kind == AttributeValue::Kind::kInt;
      InputShape shape;
      set_field(shape, is_one ? AttributeValue(std::vector<AttributeValue>{value}) : value, owner, name);
      CAPSTAN_CHECK(shape.is_given(), ValueError, owner, ": option \"", name, "\" must be given");
      *static_cast<Shape*>(member) = shape.shape();
    },
    [](const void* member) { return get_field(InputShape(*static_cast<const Shape*>(member))); }};

std::span<const OptionField> EinsumDenseConfig::fields() {
  using O = EinsumDenseConfig;
  static constexpr auto all = with_layer_options<O>(
      {option<&O::equation>("equation", true), option<&O::output_shape>("output_shape", true).with_type(kOutputShape),
       option<&O::activation, O>("activation").changeable(), option<&O::bias_axes, O>("bias_axes"),
       option<&O::kernel_initializer, O>("kernel_initializer"), option<&O::bias_initializer, O>("bias_initializer"),
       option<&O::kernel_regularizer, O>("kernel_regularizer"), option<&O::bias_regularizer, O>("bias_regularizer"),
       option<&O::activity_regularizer, O>("activity_regularizer"),
       option<&O::kernel_constraint, O>("kernel_constraint"), option<&O::bias_constraint, O>("bias_constraint")});
  return all;
}

// The parts of "abc,cd->abd".
struct Equation {
  std::string input, kernel, output;  // letters only
  bool elided_first = false;          // "..." is in front of input and output
  bool elided_last = false;
};

bool all_letters(const std::string& text) {
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) == 0) return false;
  }
  return !text.empty();
}

// Takes "..." away from one end.
bool take_dots(std::string& term, bool first) {
  if (term.size() < 3 || term.compare(first ? 0 : term.size() - 3, 3, "...") != 0) return false;
  term.erase(first ? 0 : term.size() - 3, 3);
  return true;
}

Equation parse(const std::string& text) {
  Equation e;
  const std::size_t comma = text.find(','), arrow = text.find("->");
  bool fits = comma != text.npos && arrow != text.npos && comma < arrow;
  if (fits) {
    e.input = text.substr(0, comma);
    e.kernel = text.substr(comma + 1, arrow - comma - 1);
    e.output = text.substr(arrow + 2);
    e.elided_first = take_dots(e.input, true);
    fits = take_dots(e.output, true) == e.elided_first;
    if (!e.elided_first) {
      e.elided_last = take_dots(e.input, false);
      fits = fits && take_dots(e.output, false) == e.elided_last;
    }
    fits = fits && all_letters(e.input) && all_letters(e.kernel) && all_letters(e.output);
    for (const char c : e.output) fits = fits && (e.input + e.kernel).find(c) != std::string::npos;
  }
  CAPSTAN_CHECK(fits, ValueError, "einsum_dense: the equation \"", text,
                "\" must be of the form \"abc,cd->abd\", \"...x,xy->...y\" or \"ax...,xy->ay...\"");
  return e;
}

class EinsumDenseBody final : public ConfiguredLayer<EinsumDenseBody, EinsumDenseConfig> {
 public:
  static constexpr char kName[] = "EinsumDense", kText[] = "A dense layer over the axes that an equation names.";
  explicit EinsumDenseBody(const EinsumDenseConfig& given) : ConfiguredLayer(given), equation_(parse(given.equation)) {
    converts_integers();
    const std::size_t open = equation_.output.size() - (equation_.elided_first ? 0 : 1);
    CAPSTAN_CHECK(static_cast<std::size_t>(given.output_shape.rank()) == open, ValueError,
                  "einsum_dense: output_shape ", given.output_shape, " must have ", open,
                  " lengths for the equation \"", given.equation, "\"");
    if (!given.bias_axes) return;
    CAPSTAN_CHECK(!given.bias_axes->empty(), ValueError, "einsum_dense: bias_axes are empty",
                  help("without a bias they are not given"));
    for (const char c : *given.bias_axes) {
      CAPSTAN_CHECK(equation_.output.find(c) != std::string::npos, ValueError, "einsum_dense: the bias axis '", c,
                    "' is not in the result of \"", given.equation, "\"");
    }
  }

 protected:
  void build(const Shape& input_shape) override;
  Tensor call(const Tensor& x, const CallOptions& options) override;

 private:
  void check_rank(const Shape& shape) const {
    const int rank = static_cast<int>(equation_.input.size());
    const bool open = equation_.elided_first || equation_.elided_last;
    CAPSTAN_CHECK(open ? shape.rank() >= rank : shape.rank() == rank, ShapeError, name(), ": the input of \"",
                  options.equation, "\" must have rank ", rank, open ? " or more" : "", ", not ", shape.rank(), ": ",
                  shape);
  }

  Equation equation_;
  Variable kernel_, bias_;
};

std::size_t index_of(char letter) { return static_cast<unsigned char>(letter); }

void EinsumDenseBody::build(const Shape& input_shape) {
  check_rank(input_shape);
  const Equation& e = equation_;
  const EinsumDenseConfig& o = options;
  const int elided = input_shape.rank() - static_cast<int>(e.input.size());
  std::array<std::int64_t, 256> in, out;  // by letter; -2: none
  in.fill(-2);
  out.fill(-2);
  for (std::size_t i = 0; i < e.input.size(); ++i) {
    in[index_of(e.input[i])] = input_shape[static_cast<int>(i) + (e.elided_first ? elided : 0)];
  }
  for (std::size_t i = 0; i < e.output.size(); ++i) {
    // The batch is in front unless "..." stands for it.
    const int given = static_cast<int>(i) - (e.elided_first ? 0 : 1);
    const auto letter = index_of(e.output[i]);
    out[letter] = given < 0 ? input_shape[0] : o.output_shape[given];
    if (out[letter] == -1 && in[letter] != -2) out[letter] = in[letter];
    CAPSTAN_CHECK(in[letter] < 0 || out[letter] < 0 || in[letter] == out[letter], ShapeError, name(), ": the letter '",
                  e.output[i], "' of \"", o.equation, "\" has length ", in[letter], " in the input and ", out[letter],
                  " in output_shape");
  }
  Shape kernel;
  for (const char c : e.kernel) {
    const auto letter = index_of(c);
    const std::int64_t length = in[letter] != -2 ? in[letter] : out[letter];
    CAPSTAN_CHECK(length >= 0, ValueError, name(), ": the letter '", c, "' of the kernel in \"", o.equation,
                  "\" has no length", help("give it in output_shape"));
    kernel.push_back(length);
  }
  kernel_ = add_weight({.name = "kernel",
                        .shape = kernel,
                        .initializer = o.kernel_initializer,
                        .regularizer = o.kernel_regularizer,
                        .constraint = o.kernel_constraint});
  if (!o.bias_axes) return;
  Shape bias;
  for (std::size_t i = e.output.find_first_of(*o.bias_axes); i < e.output.size(); ++i) {
    const bool has_bias = o.bias_axes->find(e.output[i]) != std::string::npos;
    const std::int64_t length = has_bias ? out[index_of(e.output[i])] : 1;
    CAPSTAN_CHECK(length >= 0, ValueError, name(), ": the bias axis '", e.output[i], "' of \"", o.equation,
                  "\" has no length", help("give it in output_shape"));
    bias.push_back(length);
  }
  for (int i = 0; e.elided_last && i < elided; ++i) bias.push_back(1);
  bias_ = add_weight({.name = "bias",
                      .shape = bias,
                      .initializer = o.bias_initializer,
                      .regularizer = o.bias_regularizer,
                      .constraint = o.bias_constraint});
}

Tensor EinsumDenseBody::call(const Tensor& x, const CallOptions&) {
  check_rank(x.shape());
  // The kernel has no axes for "...".
  Tensor y = einsum(options.equation, {x, value_of(kernel_)});
  if (options.bias_axes) y = y + value_of(bias_);
  return options.activation(std::move(y));
}

}  // namespace

EinsumDense::EinsumDense(std::string_view equation, const Shape& output_shape, const EinsumDenseOptions& options)
    : Layer(make_configurable<EinsumDenseBody>(EinsumDenseConfig{options, std::string(equation), output_shape})) {}

}  // namespace capstan::layers

const capstan::ClassInfo& capstan::detail::einsum_dense_class() { return layers::EinsumDenseBody::info(); }
