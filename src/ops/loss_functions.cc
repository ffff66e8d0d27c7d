// Losses as functions: what Keras computes from labels and predictions of one shape, over the last axis.
//
// They are composites, and so are their gradients. At the kinks the choice is that of the ops they are made of: hinge
// passes the gradient where labels * predictions is exactly 1, the absolute value has the gradient 0 at 0.
#include <algorithm>
#include <cmath>
#include <vector>

#include "capstan/ops/array.h"
#include "capstan/ops/linalg.h"
#include "capstan/ops/loss.h"
#include "capstan/ops/math.h"
#include "capstan/ops/reduce.h"
#include "src/core/apply.h"
#include "src/core/check.h"
#include "src/core/named_errors.h"
#include "src/core/op_test.h"
#include "src/ops/axis.h"
#include "src/ops/families.h"

namespace capstan {

namespace {

// Keras's smallest number that still counts.
constexpr double kEpsilon = 1e-7;

struct Pair {
  Tensor labels;
  Tensor predictions;
};

// Both as tensors of one dtype.
Pair pair_of(Operand labels, Operand predictions) {
  if (labels.is_literal() && !predictions.is_literal()) {
    const Tensor p = to_tensor(predictions);
    return {to_tensor(labels, p.dtype()), p};
  }
  const Tensor t = to_tensor(labels);
  return {t, predictions.is_literal() ? to_tensor(predictions, t.dtype()) : to_tensor(predictions)};
}

// These are functions of `losses::` for programs, which do not broadcast.
Tensor mean_squared_error(Operand labels, Operand predictions) {
  return with_errors_of("mean_squared_error", [&] { return reduce_mean(squared_difference(predictions, labels), -1); });
}
Tensor mean_absolute_error(Operand labels, Operand predictions) {
  return with_errors_of("mean_absolute_error", [&] { return reduce_mean(abs(subtract(predictions, labels)), -1); });
}
Tensor huber(Operand labels, Operand predictions, double delta) {
  CAPSTAN_CHECK(delta >= 0, ValueError, "huber: delta must not be negative, it is ", delta);
  return with_errors_of("huber", [&] {
    const Tensor error = subtract(predictions, labels);
    const Tensor size = abs(error);
    return reduce_mean(where(less_equal(size, delta), 0.5 * square(error), delta * size - 0.5 * delta * delta), -1);
  });
}

template <Tensor (*function)(Operand, Operand)>
void compose_pair(std::span<const Operand> inputs, const void*, std::vector<Tensor>& outputs) {
  outputs.push_back(function(inputs[0], inputs[1]));
}

struct HuberAttributes {
  double delta = 1;
};
constexpr AttributeType kHuberAttributes = attribute_type<HuberAttributes>({field<&HuberAttributes::delta>("delta")});

struct CosineAttributes {
  Axis axis = -1;
};
constexpr AttributeType kCosineAttributes = attribute_type<CosineAttributes>({field<&CosineAttributes::axis>("axis")});

struct LogPoissonAttributes {
  bool compute_full_loss = false;
};
constexpr AttributeType kLogPoissonAttributes =
    attribute_type<LogPoissonAttributes>({field<&LogPoissonAttributes::compute_full_loss>("compute_full_loss")});

#if CAPSTAN_TESTING

// Away from zero and from each other, so that no kink is near.
constexpr Domain kLabels{0.1, 0.6};
constexpr Domain kPredictions{0.7, 1.6};

std::vector<OpSample> pair_samples() {
  return {
      {.inputs = {{.shape = {2, 3}, .domain = kLabels}, {.shape = {2, 3}, .domain = kPredictions}}},
      {.inputs = {{.shape = {4}, .domain = kLabels}, {.shape = {4}, .domain = kPredictions}}},
      {.inputs = {{.shape = {2, 1, 3}, .domain = kLabels}, {.shape = {4, 3}, .domain = kPredictions}}},
      {.inputs = {{.shape = {2, 3}}, {.shape = {2}}}, .error = "broadcast"},
      {.inputs = {{.shape = {}}, {.shape = {}}}, .error = "axis -1 is out of range for rank 0"},
  };
}

// The labels and predictions of one row.
struct Row {
  std::vector<double> labels;
  std::vector<double> predictions;
  std::size_t size() const { return labels.size(); }
};

// One value per row of the broadcast operands, of rank 3 at most.
template <class Value>
void rows_reference(const std::vector<ReferenceTensor>& inputs, std::vector<ReferenceTensor>& outputs,
                    const Value& value) {
  const Shape shape = broadcast_shapes("reference", inputs[0].shape, inputs[1].shape);
  const auto element = [&](const ReferenceTensor& x, std::int64_t i) {
    std::int64_t index = 0;
    std::int64_t stride = 1;
    for (int axis = 1; axis <= x.shape.rank(); ++axis) {
      const std::int64_t position = i % shape[-axis];
      i /= shape[-axis];
      if (x.shape[-axis] != 1) index += position * stride;
      stride *= x.shape[-axis];
    }
    return x.values[static_cast<std::size_t>(index)];
  };
  Shape rows;
  for (int i = 0; i + 1 < shape.rank(); ++i) rows.push_back(shape[i]);
  ReferenceTensor result{inputs[1].dtype, rows, {}};
  const std::int64_t n = shape[-1];
  for (std::int64_t i = 0; i < shape.size(); i += n) {
    Row row;
    for (std::int64_t k = i; k < i + n; ++k) {
      row.labels.push_back(element(inputs[0], k));
      row.predictions.push_back(element(inputs[1], k));
    }
    result.values.push_back(value(row));
  }
  outputs.push_back(result);
}

// The mean of value(label, prediction).
template <double (*value)(double, double)>
void mean_reference(const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                    std::vector<ReferenceTensor>& outputs) {
  rows_reference(inputs, outputs, [](const Row& row) {
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) sum += value(row.labels[i], row.predictions[i]);
    return sum / static_cast<double>(row.size());
  });
}

double squared(double t, double p) { return (p - t) * (p - t); }
double absolute(double t, double p) { return std::abs(p - t); }
double percentage(double t, double p) { return 100 * std::abs((t - p) / t); }
double logarithmic(double t, double p) { return squared(std::log1p(t), std::log1p(p)); }
double hinge_of(double t, double p) { return std::max(0.0, 1 - t * p); }
double squared_hinge_of(double t, double p) { return hinge_of(t, p) * hinge_of(t, p); }
double log_cosh_of(double t, double p) { return std::log(std::cosh(p - t)); }
double poisson_of(double t, double p) { return p - t * std::log(p + 1e-7); }

const OpTest kSquaredTest = {.samples = pair_samples, .reference = mean_reference<squared>};
const OpTest kAbsoluteTest = {.samples = pair_samples, .reference = mean_reference<absolute>};
const OpTest kPercentageTest = {.samples = pair_samples, .reference = mean_reference<percentage>};
const OpTest kLogarithmicTest = {.samples = pair_samples, .reference = mean_reference<logarithmic>};
const OpTest kHingeTest = {.samples = pair_samples, .reference = mean_reference<hinge_of>};
const OpTest kSquaredHingeTest = {.samples = pair_samples, .reference = mean_reference<squared_hinge_of>};
const OpTest kLogCoshTest = {.samples = pair_samples, .reference = mean_reference<log_cosh_of>};
const OpTest kPoissonTest = {.samples = pair_samples, .reference = mean_reference<poisson_of>};

const OpTest kCategoricalHingeTest = [] {
  OpTest test;
  test.samples = pair_samples;
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    rows_reference(inputs, outputs, [](const Row& row) {
      double right = 0;
      double wrong = -INFINITY;
      for (std::size_t i = 0; i < row.size(); ++i) {
        right += row.labels[i] * row.predictions[i];
        wrong = std::max(wrong, (1 - row.labels[i]) * row.predictions[i]);
      }
      return std::max(0.0, 1 + wrong - right);
    });
  };
  return test;
}();
const OpTest kDivergenceTest = [] {
  OpTest test;
  test.samples = [] {
    std::vector<OpSample> samples = pair_samples();
    for (OpSample& sample : samples) sample.inputs[1].domain = {0.2, 0.9};
    return samples;
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    rows_reference(inputs, outputs, [](const Row& row) {
      double sum = 0;
      for (std::size_t i = 0; i < row.size(); ++i) sum += row.labels[i] * std::log(row.labels[i] / row.predictions[i]);
      return sum;
    });
  };
  return test;
}();
const OpTest kHuberTest = [] {
  OpTest test;
  test.samples = [] {
    std::vector<OpSample> samples = pair_samples();
    samples.push_back(
        {.inputs = {{.shape = {4}, .values = {0, 0, 0, 0}}, {.shape = {4}, .values = {0.25, -0.4, 3, -2}}},
         .attributes = {{"delta", 0.5}}});
    samples.push_back({.inputs = {{.shape = {2}}, {.shape = {2}}},
                       .attributes = {{"delta", -1.0}},
                       .error = "delta must not be negative"});
    return samples;
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    const double delta = attributes.empty() ? 1 : attributes.begin()->second.number;
    rows_reference(inputs, outputs, [&](const Row& row) {
      double sum = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double e = absolute(row.labels[i], row.predictions[i]);
        sum += e <= delta ? e * e / 2 : delta * e - delta * delta / 2;
      }
      return sum / static_cast<double>(row.size());
    });
  };
  return test;
}();
const OpTest kCosineTest = [] {
  OpTest test;
  test.samples = [] {
    std::vector<OpSample> samples = pair_samples();
    samples.push_back({.inputs = {{.shape = {2, 2}}, {.shape = {2, 2}}},
                       .attributes = {{"axis", 2}},
                       .error = "axis 2 is out of range for rank 2"});
    return samples;
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap&,
                      std::vector<ReferenceTensor>& outputs) {
    rows_reference(inputs, outputs, [](const Row& row) {
      double dot = 0;
      double a = 0;
      double b = 0;
      for (std::size_t i = 0; i < row.size(); ++i) {
        dot += row.labels[i] * row.predictions[i];
        a += row.labels[i] * row.labels[i];
        b += row.predictions[i] * row.predictions[i];
      }
      return -dot / std::sqrt(a * b);
    });
  };
  return test;
}();
const OpTest kLogPoissonTest = [] {
  OpTest test;
  test.samples = [] {
    return std::vector<OpSample>{
        {.inputs = {{.shape = {2, 3}, .domain = {0.2, 3}}, {.shape = {2, 3}}}},
        {.inputs = {{.shape = {4}, .values = {0.5, 1.5, 2, 5}}, {.shape = {4}}},
         .attributes = {{"compute_full_loss", true}}},
        {.inputs = {{.shape = {2}}, {.shape = {3}}}, .error = "shapes differ, [2] and [3]"},
    };
  };
  test.reference = [](const std::vector<ReferenceTensor>& inputs, const AttributeMap& attributes,
                      std::vector<ReferenceTensor>& outputs) {
    outputs = {inputs[1]};
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
      const double t = inputs[0].values[i];
      const double x = inputs[1].values[i];
      const double stirling = t * std::log(t) - t + 0.5 * std::log(2 * 3.14159265358979323846 * t);
      outputs[0].values[i] = std::exp(x) - x * t + (!attributes.empty() && t > 1 ? stirling : 0);
    }
  };
  return test;
}();

#endif

}  // namespace

#define CAPSTAN_LOSS(constant, function, text_, test_) \
  constinit const OpDef constant = {                   \
      .name = #function,                               \
      .text = text_,                                   \
      .kind = OpKind::kComposite,                      \
      .arity = 2,                                      \
      .input_names = "labels, predictions",            \
      .compose = &compose_pair<function>,              \
      .test = CAPSTAN_OP_TEST(test_),                  \
  }
CAPSTAN_LOSS(kMeanSquaredError, mean_squared_error, "The mean of squared differences.", kSquaredTest);
CAPSTAN_LOSS(kMeanAbsoluteError, mean_absolute_error, "The mean of absolute differences.", kAbsoluteTest);
CAPSTAN_LOSS(kMeanAbsolutePercentageError, mean_absolute_percentage_error,
             "The mean of absolute differences in percent of the labels.", kPercentageTest);
CAPSTAN_LOSS(kMeanSquaredLogarithmicError, mean_squared_logarithmic_error,
             "The mean of squared differences of logarithms.", kLogarithmicTest);
CAPSTAN_LOSS(kHinge, hinge, "The mean of max(1 - labels * predictions, 0).", kHingeTest);
CAPSTAN_LOSS(kSquaredHinge, squared_hinge, "The mean of max(1 - labels * predictions, 0)^2.", kSquaredHingeTest);
CAPSTAN_LOSS(kCategoricalHinge, categorical_hinge, "The margin between the right class and the best wrong one.",
             kCategoricalHingeTest);
CAPSTAN_LOSS(kLogCosh, log_cosh, "The mean of log(cosh(predictions - labels)).", kLogCoshTest);
CAPSTAN_LOSS(kKlDivergence, kl_divergence, "The sum of labels * log(labels / predictions).", kDivergenceTest);
CAPSTAN_LOSS(kPoissonLoss, poisson_loss, "The mean of predictions - labels * log(predictions).", kPoissonTest);
#undef CAPSTAN_LOSS

Tensor mean_absolute_percentage_error(Operand labels, Operand predictions) {
  return with_errors_of("mean_absolute_percentage_error", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    return 100.0 * reduce_mean(abs((t - p) / maximum(abs(t), kEpsilon)), -1);
  });
}
Tensor mean_squared_logarithmic_error(Operand labels, Operand predictions) {
  return with_errors_of("mean_squared_logarithmic_error", [&] {
    return reduce_mean(squared_difference(log1p(maximum(predictions, kEpsilon)), log1p(maximum(labels, kEpsilon))), -1);
  });
}
Tensor hinge(Operand labels, Operand predictions) {
  return with_errors_of("hinge", [&] { return reduce_mean(maximum(1.0 - multiply(labels, predictions), 0.0), -1); });
}
Tensor squared_hinge(Operand labels, Operand predictions) {
  return with_errors_of("squared_hinge",
                        [&] { return reduce_mean(square(maximum(1.0 - multiply(labels, predictions), 0.0)), -1); });
}
Tensor categorical_hinge(Operand labels, Operand predictions) {
  return with_errors_of("categorical_hinge", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    return maximum(reduce_max((1.0 - t) * p, -1) - reduce_sum(t * p, -1) + 1.0, 0.0);
  });
}
Tensor log_cosh(Operand labels, Operand predictions) {
  return with_errors_of("log_cosh", [&] {
    constexpr double kLog2 = 0.69314718055994530942;
    const Tensor error = subtract(predictions, labels);
    return reduce_mean(error + softplus(-2.0 * error) - kLog2, -1);
  });
}
Tensor kl_divergence(Operand labels, Operand predictions) {
  return with_errors_of("kl_divergence", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    const Tensor wanted = clip_by_value(t, kEpsilon, 1.0);
    return reduce_sum(wanted * log(wanted / clip_by_value(p, kEpsilon, 1.0)), -1);
  });
}
Tensor poisson_loss(Operand labels, Operand predictions) {
  return with_errors_of("poisson_loss", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    return reduce_mean(p - t * log(p + kEpsilon), -1);
  });
}

// --- Losses with attributes ---

constinit const OpDef kHuber = {
    .name = "huber",
    .text = "The mean of squares of small errors and absolute values of large ones.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "labels, predictions",
    .attributes = &kHuberAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          outputs.push_back(huber(inputs[0], inputs[1], static_cast<const HuberAttributes*>(attributes)->delta));
        },
    .test = CAPSTAN_OP_TEST(kHuberTest),
};

constinit const OpDef kCosineSimilarity = {
    .name = "cosine_similarity",
    .text = "Minus the cosine of the angle between labels and predictions.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "labels, predictions",
    .attributes = &kCosineAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const int axis = static_cast<const CosineAttributes*>(attributes)->axis;
          outputs.push_back(cosine_similarity(inputs[0], inputs[1], axis));
        },
    .test = CAPSTAN_OP_TEST(kCosineTest),
};

Tensor cosine_similarity(Operand labels, Operand predictions, int axis) {
  return with_errors_of("cosine_similarity", [&] {
    const auto [t, p] = pair_of(labels, predictions);
    return -reduce_sum(l2_normalize(t, axis) * l2_normalize(p, axis), axis);
  });
}

constinit const OpDef kLogPoissonLoss = {
    .name = "log_poisson_loss",
    .text = "The loss of counts whose mean is exp(log_input), elementwise.",
    .kind = OpKind::kComposite,
    .arity = 2,
    .input_names = "targets, log_input",
    .attributes = &kLogPoissonAttributes,
    .compose =
        [](std::span<const Operand> inputs, const void* attributes, std::vector<Tensor>& outputs) {
          const bool full = static_cast<const LogPoissonAttributes*>(attributes)->compute_full_loss;
          outputs.push_back(log_poisson_loss(inputs[0], inputs[1], full));
        },
    .test = CAPSTAN_OP_TEST(kLogPoissonTest),
};

Tensor log_poisson_loss(Operand targets, Operand log_input, bool compute_full_loss) {
  return with_errors_of("log_poisson_loss", [&] {
    const auto [t, x] = pair_of(targets, log_input);
    CAPSTAN_CHECK(t.shape() == x.shape(), ShapeError, "log_poisson_loss: shapes differ, ", t.shape(), " and ",
                  x.shape(), arguments({{"targets", t}, {"log_input", x}}));
    const Tensor loss = exp(x) - x * t;
    if (!compute_full_loss) return loss;
    const Tensor stirling = t * log(t) - t + 0.5 * log(2 * 3.14159265358979323846 * t);
    return loss + where(logical_and(greater_equal(t, 0.0), less_equal(t, 1.0)), zeros_like(t), stirling);
  });
}

OpFamily loss_function_ops() {
  static constexpr const OpDef* ops[] = {&kMeanSquaredError,
                                         &kMeanAbsoluteError,
                                         &kMeanAbsolutePercentageError,
                                         &kMeanSquaredLogarithmicError,
                                         &kHinge,
                                         &kSquaredHinge,
                                         &kCategoricalHinge,
                                         &kLogCosh,
                                         &kKlDivergence,
                                         &kPoissonLoss,
                                         &kHuber,
                                         &kCosineSimilarity,
                                         &kLogPoissonLoss};
  return ops;
}

}  // namespace capstan
