#include "tests/golden/case_runner.h"

#include <set>
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <optional>
#include <vector>

#include "capstan/error.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "capstan/registry.h"
#include "capstan/tape.h"
#include "tests/golden/column_sign.h"
#include "tests/support/compare.h"
#include "tests/support/function_name.h"

namespace capstan::testing {

namespace {

// What a case found wrong.
struct Failure {
  std::string reason;
};

const OpInfo& find_info(const std::string& name) {
  static const std::vector<OpInfo> ops = list_ops();
  const auto found = std::find_if(ops.begin(), ops.end(), [&](const OpInfo& op) { return op.name == name; });
  if (found == ops.end()) throw Lacking{"op " + name};
  return *found;
}

// What the files call an operation although it is an expression of several: here it is written as a user writes it.
using Expression = Tensor (*)(const std::vector<Tensor>& x);
const std::map<std::string_view, Expression>& expressions() {
  static const std::map<std::string_view, Expression> all = {
      {"operator_eq", [](const std::vector<Tensor>& x) { return equal(x[0], x[1]); }},
      {"operator_ne", [](const std::vector<Tensor>& x) { return not_equal(x[0], x[1]); }},
      {"guarded_xlogx",
       [](const std::vector<Tensor>& x) { return where(x[0] > 0, x[0] * log(x[0]), zeros_like(x[0])); }},
      {"double_where_xlogx",
       [](const std::vector<Tensor>& x) {
         const Tensor safe = where(x[0] > 0, x[0], ones_like(x[0]));
         return where(x[0] > 0, x[0] * log(safe), zeros_like(x[0]));
       }},
      {"where_sqrt", [](const std::vector<Tensor>& x) { return where(x[0] > 0, sqrt(x[0]), zeros_like(x[0])); }},
      {"where_reciprocal", [](const std::vector<Tensor>& x) { return where(x[0] < 1, zeros_like(x[0]), 1 / x[0]); }},
  };
  return all;
}

// Cases without a meaning here, with the reason.
const std::map<std::string_view, const char*> kWithoutMeaning = {
    {"operator_eq/incompatible_shapes", "there is no operator == of tensors"},
    {"operator_ne/incompatible_shapes", "there is no operator != of tensors"},
};

// The attributes of a call as the op takes them. One that the op does not have is no loss if it is
// turned off.
AttributeMap attributes_of(const OpInfo& op, const Json& json) {
  AttributeMap attributes;
  for (const auto& [name, value] : json.items()) {
    const bool known = std::find(op.attributes.begin(), op.attributes.end(), name) != op.attributes.end();
    if (!known && (value.is_null() || value == false)) continue;
    if (!known) throw Lacking{"attribute " + name};
    attributes.emplace(name, attribute_from_json(value));
  }
  return attributes;
}

// The largest finite magnitude in a list of tensors, and at least 1.
double largest(const Json& json, const char* field) {
  double result = 1;
  if (!json.contains(field)) return result;
  for (const Json& tensor : json.at(field)) {
    if (!tensor.is_object() || !tensor.contains("data")) continue;
    for (const Json& number : tensor.at("data")) {
      if (number.is_number()) result = std::max(result, std::abs(number.get<double>()));
    }
  }
  return result;
}

// Where terms cancel only their rounding is left, in the library as in the original.
double rounding(DType dtype, double scale) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kComplex128:
      return 0x1p-50 * scale;
    case DType::kFloat32:
    case DType::kComplex64:
      return 0x1p-21 * scale;
    case DType::kBFloat16:
      return 0x1p-8 * scale;
    default:
      return 0;
  }
}

// Numbers of the files that are not what this library gives, with the reason. Everything else of these cases is
// compared. Where it says "right" the original is wrong; docs/differences.md lists what a user can notice.
struct Correction {
  const char* name;     // of the case
  const char* pointer;  // to the number in it
  const char* value;    // what is expected instead, as JSON
  const char* why;
};
constexpr const char* kLinear =
    "right: the gradient of a resize is linear in the cotangent; the original has no rule for it";
constexpr Correction kCorrections[] = {
    {"nn.leaky_relu/special", "/attrs/alpha", "0.20000000298023224",
     "right is 0.2: the original rounds the default to float32, which is asked for here"},
    {"math.erfinv/special", "/gradients/0/data/3", "61224.376543751803",
     "right: the original rounds (x + 1) / 2, and x is near 1"},
    {"math.erfinv/special_f32", "/outputs/0/data/3", "3.4570747", "right: the same in float32"},
    {"math.erfinv/special_f32", "/gradients/0/data/3", "270659.53", "right: the same in float32"},
    {"keras.activations.celu/at_zero", "/gradients/0/data/0", "1.62",
     "right: the original passes the gradient twice at 0"},
    {"nn.gelu/special", "/outputs/0/data/0", "\"inf\"", "right: the original's erf of infinity is NaN in float64"},
    {"math.squared_difference/special", "/second/cotangent_gradients/0/data/1", "\"nan\"",
     "the weighted infinities of both gradients meet here; the original adds the weights before it multiplies"},
    {"math.xdivy/special", "/second/gradients/1/data/2", "0",
     "right: x / y is 0 for x = 0 whatever y is, and so are all its derivatives; the original multiplies 0 by "
     "infinity"},
    {"nn.max_pool3d/ties", "/gradients/0/data/5", "-1.77",
     "right: the original gives every one of several maxima the whole gradient, which adds up to more than it is"},
    {"nn.max_pool3d/ties", "/gradients/0/data/6", "0.58", "right: as above"},
    {"nn.max_pool3d/ties", "/gradients/0/data/7", "0.96", "right: as above"},
    {"image.resize/f32[1x3x3x1],size=[4,4],method=bilinear", "/second/cotangent_gradients/0",
     R"({"dtype": "float32", "shape": [1, 4, 4, 1], "data": [-0.63, 0.70125, 1.46625, 1.41, -1.09875, 0.6270312,
         1.621719, 1.55375, -0.60375, 0.5501563, 1.418281, 1.71125, 0.69, 0.49625, 0.92375, 1.83]})",
     kLinear},
    {"image.resize/f32[1x3x3x1],size=[2,3],method=bilinear", "/second/cotangent_gradients/0",
     R"({"dtype": "float32", "shape": [1, 2, 3, 1], "data": [1.5, -0.67, -0.9825, 1.1175, -0.28, 0.48]})", kLinear},
    {"image.resize/f32[1x3x3x1],size=[3,3],method=bilinear", "/second/cotangent_gradients/0",
     R"({"dtype": "float32", "shape": [1, 3, 3, 1], "data": [-1.7, 1.63, 0.31, 1.73, 0.52, -1.85, 0.7, 0.59, 0.34]})",
     kLinear},
    {"image.resize/one_image", "/second/cotangent_gradients/0",
     R"({"dtype": "float32", "shape": [3, 2, 1], "data": [-0.31, -0.72, -1.065, -0.06, -1.82, 0.6]})", kLinear},
    {"image.adjust_brightness/f64[2x2x1],delta=0.25", "/rtol", "1e-7",
     "the original computes images of float64 in float32"},
};

// The case with its corrections.
Json corrected(const Json& given) {
  Json json = given;
  for (const Correction& correction : kCorrections) {
    if (json.value("name", "") == correction.name)
      json[Json::json_pointer(correction.pointer)] = Json::parse(correction.value);
  }
  return json;
}

// Cases in which terms of this size cancel inside the op, where its numbers do not show it.
const std::map<std::string, double> kCancelling = {
    {"math.cumulative_logsumexp/large", 1000},
};

std::vector<Tensor> tensors(const Json& list) {
  std::vector<Tensor> result;
  for (const Json& item : list) result.push_back(tensor_from_json(item));
  return result;
}

struct Case {
  explicit Case(const Json& source) : json(source), op(op_name(source.at("op").get<std::string>())) {
    if (!expressions().contains(op)) attributes = attributes_of(find_info(op), json.at("attrs"));
    if (json.contains("compare") && json.at("compare") != "column_sign") {
      throw Lacking{"comparison by " + json.at("compare").get<std::string>()};
    }
    // The cases have the batch first; time is first unless the call says so.
    if (op == "ctc_loss") attributes.emplace("logits_time_major", false);
    for (const Json& input : json.at("inputs")) inputs.push_back(tensor_from_json(input));
    if (json.contains("constant")) {
      for (const Json& i : json.at("constant")) constant.insert(i.get<std::size_t>());
    }
    if (json.contains("rtol")) looser = json.at("rtol").get<double>();
    scale = std::max(largest(json, "cotangents"), largest(json, "gradients"));
    if (json.contains("second")) scale = std::max(scale, largest(json.at("second"), "weights"));
    if (const auto known = kCancelling.find(json.value("name", "")); known != kCancelling.end()) scale *= known->second;
  }

  // Inputs whose gradient can be asked for.
  bool is_source(std::size_t i) const { return inputs[i].has_value() && is_differentiable(inputs[i].dtype()); }
  bool is_watched(std::size_t i) const { return is_source(i) && !constant.contains(i); }

  void watch(GradientTape& tape) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_watched(i)) tape.watch(inputs[i]);
    }
  }

  std::vector<Tensor> run() const {
    if (const auto known = expressions().find(op); known != expressions().end()) return {known->second(inputs)};
    std::vector<Tensor> outputs = call(op, inputs, attributes);
    return json.contains("compare") ? with_signs_of(op, outputs, tensors(json.at("outputs"))) : outputs;
  }

  // The gradients for all inputs, missing where there is none.
  std::vector<Tensor> gradient(GradientTape& tape, const std::vector<Tensor>& outputs,
                               const std::vector<Tensor>& cotangents) const {
    std::vector<Tensor> targets;
    GradientOptions options;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i < cotangents.size() && !cotangents[i].has_value()) continue;
      targets.push_back(outputs[i]);
      if (i < cotangents.size()) options.output_gradients.push_back(cotangents[i]);
    }
    std::vector<Tensor> sources;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (is_source(i)) sources.push_back(inputs[i]);
    }
    const std::vector<Tensor> found = tape.gradient(targets, sources, options);
    std::vector<Tensor> gradients(inputs.size());
    for (std::size_t i = 0, k = 0; i < inputs.size(); ++i) {
      if (is_source(i)) gradients[i] = found[k++];
    }
    return gradients;
  }

  Tolerance tolerance(DType dtype, bool second_order = false) const {
    Tolerance tolerance = golden_tolerance(dtype);
    if (second_order && real_dtype(dtype) == DType::kFloat64) tolerance = {1e-9, 1e-11};
    if (second_order && real_dtype(dtype) == DType::kFloat32) tolerance = {1e-4, 1e-5};
    if (looser) tolerance = {std::max(*looser, tolerance.relative), std::max(*looser / 100, tolerance.floor)};
    tolerance.absolute = rounding(dtype, second_order ? 16 * scale : scale);
    return tolerance;
  }

  const Json& json;
  std::string op;
  AttributeMap attributes;
  std::vector<Tensor> inputs;
  std::set<std::size_t> constant;
  std::optional<double> looser;
  double scale = 1;  // of the terms that gradients are sums of
};

void expect(const std::string& problem, const std::string& what) {
  if (!problem.empty()) throw Failure{what + ": " + problem};
}

void compare_outputs(const Case& c, const std::vector<Tensor>& outputs) {
  const Json& expected = c.json.at("outputs");
  if (outputs.size() != expected.size()) {
    throw Failure{"got " + std::to_string(outputs.size()) + " outputs, want " + std::to_string(expected.size())};
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor want = tensor_from_json(expected[i]);
    expect(difference(outputs[i], want, c.tolerance(want.dtype())), "output " + std::to_string(i));
  }
}

void compare_gradient(const Tensor& got, const Json& json, const Case& c, const std::string& what) {
  if (json.is_null()) {
    if (got.has_value()) throw Failure{what + ": got a gradient, want a missing one"};
    return;
  }
  if (!json.contains("sparse")) {
    const Tensor want = tensor_from_json(json);
    if (got.has_value() && got.is_row_sparse()) throw Failure{what + ": got a row-sparse gradient, want a dense one"};
    expect(difference(got, want, c.tolerance(want.dtype())), what);
    return;
  }
  if (!got.has_value()) throw Failure{what + ": got a missing gradient, want a row-sparse one"};
  if (!got.is_row_sparse()) throw Failure{what + ": got a dense gradient, want a row-sparse one"};
  const Tensor values = tensor_from_json(json.at("values"));
  const Tolerance tolerance = c.tolerance(values.dtype());
  expect(difference(got.indices(), tensor_from_json(json.at("indices")), {}), what + ", indices");
  expect(difference(got.values(), values, tolerance), what + ", values");
  expect(difference(got.to_dense(), tensor_from_json(json.at("dense")), tolerance), what + ", dense");
}

// A gradient of second order, where a missing one and zeros are the same.
void compare_second(const Tensor& got, const Json& json, Tolerance tolerance, const std::string& what) {
  if (json.is_null()) {
    if (got.has_value() && !all_zero(got)) throw Failure{what + ": got a gradient, want none or zeros"};
    return;
  }
  const Tensor want = tensor_from_json(json.contains("sparse") ? json.at("dense") : json);
  if (!got.has_value() && all_zero(want)) return;
  expect(difference(got, want, tolerance), what);
}

void run_second(const Case& c, const std::vector<Tensor>& cotangents) {
  const Json& second = c.json.at("second");
  const std::vector<Tensor> weights = tensors(second.at("weights"));
  GradientTape outer;
  c.watch(outer);
  for (const Tensor& cotangent : cotangents) {
    if (cotangent.has_value()) outer.watch(cotangent);
  }
  std::vector<Tensor> gradients;
  {
    GradientTape inner;
    c.watch(inner);
    const std::vector<Tensor> outputs = c.run();
    gradients = c.gradient(inner, outputs, cotangents);
  }
  // S is given by its terms and their weights.
  std::vector<Tensor> targets;
  GradientOptions options;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].has_value() || i >= weights.size() || !weights[i].has_value()) continue;
    targets.push_back(gradients[i].to_dense());
    options.output_gradients.push_back(weights[i]);
  }
  std::vector<Tensor> sources;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    if (c.is_source(i)) sources.push_back(c.inputs[i]);
  }
  for (const Tensor& cotangent : cotangents) {
    if (cotangent.has_value()) sources.push_back(cotangent);
  }
  const std::vector<Tensor> found = outer.gradient(targets, sources, options);
  std::size_t k = 0;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Tensor got = c.is_source(i) ? found[k++] : Tensor();
    const Json& want = second.at("gradients").at(i);
    if (!c.is_watched(i)) continue;
    compare_second(got, want, c.tolerance(c.inputs[i].dtype(), true), "second order, input " + std::to_string(i));
  }
  for (std::size_t i = 0; i < cotangents.size(); ++i) {
    if (!cotangents[i].has_value()) continue;
    compare_second(found[k++], second.at("cotangent_gradients").at(i), c.tolerance(cotangents[i].dtype(), true),
                   "second order, cotangent " + std::to_string(i));
  }
}

// True if an exception of this type is what the library throws for a category of mistakes.
bool fits(const Error& error, const std::string& category) {
  const auto is = [&](auto* type) {
    return dynamic_cast<std::remove_reference_t<decltype(*type)>*>(&error) != nullptr;
  };
  const bool shape = is(static_cast<const ShapeError*>(nullptr));
  const bool dtype = is(static_cast<const DTypeError*>(nullptr));
  const bool index = is(static_cast<const IndexError*>(nullptr));
  const bool value = is(static_cast<const ValueError*>(nullptr));
  if (category.starts_with("dtype")) return dtype;
  if (category == "shapes_not_broadcastable" || category == "not_square") return shape;
  if (category == "size_mismatch" || category.starts_with("rank")) return shape || value || index;
  if (category.starts_with("axis") || category == "index_out_of_range") return index || value;
  return true;
}

CaseResult run_error(const Case& c) {
  const Json& error = c.json.at("error");
  const auto category = error.at("category").get<std::string>();
  if (error.at("type").is_null() || category == "missing_gradient" || category == "not_implemented") {
    return {Verdict::kNoWish, "a limit of the original: " + category};
  }
  const bool in_gradient = error.at("stage") == "gradient";
  try {
    GradientTape tape;
    c.watch(tape);
    const std::vector<Tensor> outputs = c.run();
    if (in_gradient) c.gradient(tape, outputs, tensors(c.json.value("cotangents", Json::array())));
  } catch (const Error& thrown) {
    const std::string text = thrown.what();
    if (!fits(thrown, category)) throw Failure{"the wrong type of error for " + category + ": " + text};
    // A call by name has the op's own name in errors of attributes.
    if (!text.starts_with(function_name(c.op) + ": ") && !text.starts_with(c.op + ": "))
      throw Failure{"the error does not start with the name of the function: " + text};
    return {};
  }
  throw Failure{"no error, want one of " + category};
}

// Runs `body` and sorts what it throws.
template <class Body>
CaseResult judge(const Body& body) {
  try {
    return body();
  } catch (const Lacking& lacking) {
    return {Verdict::kLacking, lacking.reason};
  } catch (const Failure& failure) {
    return {Verdict::kFailed, failure.reason};
  } catch (const std::exception& error) {
    const std::string text = error.what();
    // The library says so itself: a dtype or the value of an attribute.
    if (text.find("is not supported") != std::string::npos) {
      return {Verdict::kLacking, text.substr(0, text.find('\n'))};
    }
    return {Verdict::kFailed, "threw " + text};
  }
}

}  // namespace

std::string op_name(std::string_view name) {
  // Functions of Keras, which has other arguments than TensorFlow or another name.
  static const std::map<std::string_view, const char*> others = {
      {"keras.activations.relu", "general_relu"},
      {"keras.activations.exponential", "exp"},
      {"keras.activations.linear", "identity"},
  };
  if (const auto other = others.find(name); other != others.end()) return other->second;
  if (name.starts_with("image.")) return "image_" + std::string(name.substr(6));
  if (name.starts_with("random.")) return "random_" + std::string(name.substr(7));
  for (const std::string_view module : {"nn.", "math.", "linalg.", "signal.", "keras.activations.", "loss."}) {
    if (name.starts_with(module)) return std::string(name.substr(module.size()));
  }
  return std::string(name);
}

CaseResult run_case(const Json& given) {
  return judge([&]() -> CaseResult {
    const Json json = corrected(given);
    if (const auto known = kWithoutMeaning.find(json.at("name").get<std::string>()); known != kWithoutMeaning.end()) {
      return {Verdict::kNoWish, known->second};
    }
    const Case c(json);
    if (json.contains("error")) return run_error(c);
    {
      GradientTape tape;
      c.watch(tape);
      const std::vector<Tensor> outputs = c.run();
      compare_outputs(c, outputs);
      if (!json.contains("gradients")) return {};
      const std::vector<Tensor> gradients = c.gradient(tape, outputs, tensors(json.at("cotangents")));
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (c.constant.contains(i) && gradients[i].has_value())
          throw Failure{"a gradient for an input that nobody watches"};
        compare_gradient(gradients[i], json.at("gradients").at(i), c, "gradient " + std::to_string(i));
      }
    }
    // Without numbers where the original has no second order.
    const bool has_second = json.contains("second") && json.at("second").contains("gradients");
    if (has_second) run_second(c, tensors(json.at("cotangents")));
    return {};
  });
}

CaseResult run_program(const Json& json) {
  return judge([&]() -> CaseResult {
    const std::vector<Tensor> inputs = tensors(json.at("inputs"));
    struct Node {
      std::string op;
      std::vector<std::size_t> in;
      AttributeMap attributes;
    };
    std::vector<Node> nodes;
    for (const Json& node : json.at("nodes")) {
      const std::string name = op_name(node.at("op").get<std::string>());
      nodes.push_back(
          {name, node.at("in").get<std::vector<std::size_t>>(), attributes_of(find_info(name), node.at("attrs"))});
    }
    std::vector<Tensor> sources;
    for (const Tensor& input : inputs) {
      if (is_differentiable(input.dtype())) sources.push_back(input);
    }
    const double looser = json.value("rtol", 0.0);
    const auto tolerance = [&](const Tensor& want, bool second_order) -> Tolerance {
      Tolerance result = golden_tolerance(want.dtype());
      if (second_order) result = {1e-9, 1e-11};
      const double scale =
          std::max(largest(json, "gradients"), largest(json.value("second", Json::object()), "vectors"));
      return {std::max(result.relative, looser), std::max(result.floor, looser / 100),
              rounding(want.dtype(), second_order ? 256 * scale : scale)};
    };
    GradientTape outer;
    outer.watch(sources);
    std::vector<Tensor> gradients;
    {
      GradientTape inner;
      inner.watch(sources);
      std::vector<Tensor> values = inputs;
      for (const Node& node : nodes) {
        std::vector<Tensor> arguments;
        for (const std::size_t i : node.in) arguments.push_back(values.at(i));
        values.push_back(call(node.op, arguments, node.attributes).at(0));
      }
      const Tensor want = tensor_from_json(json.at("result"));
      expect(difference(values.back(), want, tolerance(want, false)), "result");
      gradients = inner.gradient(values.back(), sources);
    }
    const Json& want_gradients = json.at("gradients");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string what = "gradient " + std::to_string(i);
      if (want_gradients.at(i).is_null()) {
        if (gradients[i].has_value()) throw Failure{what + ": got a gradient, want a missing one"};
        continue;
      }
      const Json& json_want = want_gradients[i].contains("sparse") ? want_gradients[i].at("dense") : want_gradients[i];
      const Tensor want = tensor_from_json(json_want);
      expect(difference(gradients[i], want, tolerance(want, false)), what);
    }
    if (!json.contains("second")) return {};
    const std::vector<Tensor> vectors = tensors(json.at("second").at("vectors"));
    std::vector<Tensor> targets;
    GradientOptions options;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].has_value() || !vectors.at(i).has_value()) continue;
      targets.push_back(gradients[i]);
      options.output_gradients.push_back(vectors[i]);
    }
    const std::vector<Tensor> second = outer.gradient(targets, sources, options);
    for (std::size_t i = 0; i < second.size(); ++i) {
      compare_second(second[i], json.at("second").at("gradients").at(i), tolerance(sources[i], true),
                     "second order, input " + std::to_string(i));
    }
    return {};
  });
}

std::set<std::string> known_ops(const Json& file) {
  std::set<std::string> ops;
  for (const Json& json : file.at("cases")) {
    if (json.contains("nodes")) {
      for (const Json& node : json.at("nodes")) ops.insert(op_name(node.at("op").get<std::string>()));
    } else if (json.contains("op")) {
      ops.insert(op_name(json.at("op").get<std::string>()));
    }
  }
  std::erase_if(ops, [](const std::string& op) { return !has_op(op); });
  return ops;
}

}  // namespace capstan::testing
