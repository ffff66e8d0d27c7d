// Losses and metrics inside of traced functions, and what they say of wrong input.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;

// What a class needs to be called, by its name.
struct Example {
  Tensor t;
  Tensor p;
};

Example example_for(const ClassInfo& info) {
  const Tensor scores = constant({{0.2, 0.5, 0.3}, {0.7, 0.1, 0.2}, {0.3, 0.3, 0.4}, {0.1, 0.6, 0.3}});
  const Tensor one_hot_labels = constant({{0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}, {0.0, 0.0, 1.0}, {1.0, 0.0, 0.0}});
  const Tensor classes = constant({1, 2, 2, 0});
  if (info.name == "CTC")
    return {constant({{1, 2}, {2, 0}}),
            constant({{{0.1, 0.2, 0.3}, {0.5, 0.1, 0.2}, {1, 0, 1}}, {{0.4, 0.2, 0.1}, {0.5, 0.3, 0.2}, {0, 1, 1}}})};
  if (info.name.starts_with("Sparse") || info.name == "Circle" || info.name == "CategoricalGeneralizedCrossEntropy") {
    return {classes, scores};
  }
  if (info.name == "IoU" || info.name == "MeanIoU" || info.name == "Accuracy") return {classes, constant({1, 0, 2, 0})};
  return {one_hot_labels, scores};
}

AttributeValue serialized(const ClassInfo& info) {
  AttributeValue config = AttributeValue::map();
  for (const OptionField& field : info.options()) {
    if (field.name == "num_classes") config.set(field.name, 3);
    if (field.required && field.name == "target_class_ids") config.set(field.name, std::vector<AttributeValue>{0, 1});
    if (field.required && !config.find(field.name)) config.set(field.name, 0.5);
    if (field.name == "k") config.set(field.name, 2);
  }
  AttributeValue value = AttributeValue::map();
  value.set("class_name", std::string(info.name));
  value.set("config", std::move(config));
  return value;
}

TEST(TracedLosses, HaveTheSameValuesAndGradients) {
  for (const ClassInfo* info : list_classes("loss")) {
    if (info->name == "PowerLoss") continue;
    SCOPED_TRACE(info->name);
    const Loss loss = losses::get(serialized(*info));
    const auto [t, p] = example_for(*info);
    const auto value_and_gradient = [&loss](const Tensor& labels, const Tensor& predictions, const Tensor& weight) {
      GradientTape tape;
      tape.watch(predictions);
      const Tensor value = loss(labels, predictions, weight);
      return std::pair{value, tape.gradient(value, predictions)};
    };
    const Tensor weight = constant(0.5);
    auto traced = function(value_and_gradient);
    const auto want = value_and_gradient(t, p, weight);
    const auto got = traced(t, p, weight);
    EXPECT_EQ(testing::difference(got.first, want.first, {.relative = 1e-5, .floor = 1e-6}), "");
    EXPECT_EQ(testing::difference(got.second, want.second, {.relative = 1e-5, .floor = 1e-6}), "");
    EXPECT_TRUE(reduce_all(is_finite(want.second)).item<bool>());
  }
}

TEST(TracedMetrics, AccumulateTheSame) {
  for (const ClassInfo* info : list_classes("metric")) {
    if (info->name == "LargestError") continue;
    SCOPED_TRACE(info->name);
    const Metric eager = metrics::get(serialized(*info));
    const Metric traced = metrics::get(serialized(*info));
    const auto [t, p] = example_for(*info);
    auto update = function([&traced](const Tensor& labels, const Tensor& predictions) {
      traced.update_state(labels, predictions);
      return traced.result();
    });
    for (int i = 0; i < 3; ++i) {
      eager.update_state(t, p);
      const Tensor got = update(t, p);
      EXPECT_EQ(testing::difference(got, eager.result(), {.relative = 1e-5, .floor = 1e-6}), "");
    }
    const std::vector<Variable> want = eager.variables();
    ASSERT_EQ(traced.variables().size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(testing::difference(traced.variables()[i].value(), want[i].value(), {.relative = 1e-6}), "");
      EXPECT_FALSE(want[i].trainable());
    }
    traced.reset_state();
    for (const Variable& variable : traced.variables()) EXPECT_TRUE(testing::all_zero(variable.value()));
  }
}

// Converted to a real number, a complex one would lose a part.
TEST(LossesAndMetrics, RefuseComplexNumbers) {
  const auto as_complex = [](const Tensor& x) { return cast(x, complex64); };
  for (const ClassInfo* info : list_classes("loss")) {
    SCOPED_TRACE(info->name);
    const Loss loss = losses::get(serialized(*info));
    const auto [t, p] = example_for(*info);
    EXPECT_THROW(loss(t, as_complex(p)), Error);
    EXPECT_THROW(loss(as_complex(t), p), Error);
  }
  for (const ClassInfo* info : list_classes("metric")) {
    SCOPED_TRACE(info->name);
    if (info->name == "Accuracy") continue;  // compares them as they are
    const Metric metric = metrics::get(serialized(*info));
    const auto [t, p] = example_for(*info);
    EXPECT_THROW(metric.update_state(t, as_complex(p)), Error);
    // Whether a label is 0 can be said of complex ones, too; means have no labels.
    const bool counts = info->name == "Mean" || info->name == "Sum" || info->name.ends_with("Positives") ||
                        info->name.ends_with("Negatives") || info->name == "Precision" || info->name == "Recall";
    if (counts) continue;
    EXPECT_THROW(metric.update_state(as_complex(t), p), Error);
  }
  EXPECT_EQ(message_of<DTypeError>([&] { losses::mean_absolute_error(zeros({2}), zeros({2}, complex64)); }),
            "mean_absolute_error: predictions of dtype complex64 are not supported\n  y_true: float32[2]\n  y_pred: "
            "complex64[2]\n  help: give their abs(), or real() and imag() apart");
}

TEST(SparseCategoricalAccuracy, ALabelBetweenClassesIsNone) {
  const Tensor p = constant({{0.75, 0.25}, {0.25, 0.75}, {0.25, 0.75}});
  EXPECT_EQ(metrics::sparse_categorical_accuracy(constant({0.5, 1.0, 1.5}), p).to_vector<float>(),
            (std::vector<float>{0, 1, 0}));
}

TEST(LossesOfFunctions, OneValueForAllExamplesHasNoMask) {
  const Loss loss([](const Tensor& t, const Tensor& p) { return reduce_mean(t - p); });
  const Tensor t = constant({{1.0, 1.0}}), p = constant({{0.0, 0.5}}), mask = constant({{true, false}});
  EXPECT_FLOAT_EQ(loss(t, p, {}, mask).item<float>(), 0.75);
}

TEST(MetricsOfFunctions, OneValueForAllExamplesCountsAsTheyDo) {
  const Metric metric([](const Tensor& t, const Tensor& p) { return reduce_mean(t * p); });
  metric.update_state(constant({1.0, 1.0}), constant({3.0, 3.0}), constant({1.0, 0.0}));
  metric.update_state(constant({1.0, 1.0}), constant({7.0, 7.0}), constant({1.0, 2.0}));
  EXPECT_FLOAT_EQ(metric.result().item<float>(), 6);
}

// Weights of 2 count twice, and weights of 0 not at all.
TEST(Metrics, CountByWeights) {
  const Tensor t = constant({0.0, 1.0, 1.0, 0.0});
  const Tensor p = constant({0.1, 0.8, 0.3, 0.7});
  for (const char* name : {"AUC", "Precision", "Recall", "TruePositives", "Accuracy", "BinaryAccuracy"}) {
    SCOPED_TRACE(name);
    const Metric weighted = metrics::get(name);
    const Metric repeated = metrics::get(name);
    weighted.update_state(t, p, constant({2.0, 1.0, 0.0, 1.0}));
    repeated.update_state(gather(t, constant({0, 0, 1, 3})), gather(p, constant({0, 0, 1, 3})));
    EXPECT_EQ(testing::difference(weighted.result(), repeated.result(), {.relative = 1e-6}), "");
  }
}

TEST(Metrics, ThresholdsMayComeInAnyOrder) {
  const metrics::TruePositives counts({.thresholds = {{0.6, 0.2, 0.4}}});
  counts.update_state(ones({3}), constant({0.3, 0.5, 0.6}));
  EXPECT_EQ(testing::difference(counts.result(), constant({0.0, 3.0, 2.0}), {}), "");
}

TEST(Metrics, CanBeCalled) {
  const metrics::MeanSquaredError metric;
  EXPECT_FLOAT_EQ(metric(constant({{0.0}}), constant({{2.0}})).item<float>(), 4);
  EXPECT_FLOAT_EQ(metric(constant({{0.0}}), constant({{0.0}})).item<float>(), 2);
  const Metric function = losses::huber;
  EXPECT_FLOAT_EQ(function(constant({{0.0}}), constant({{2.0}})).item<float>(), 1.5f);
  const Metric crossentropy("ce");
  EXPECT_FLOAT_EQ(crossentropy(constant({1}), constant({{0.5, 0.5}})).item<float>(), std::log(2.0f));
}

TEST(Losses, WithAMaskAndAnIgnoredClassCountWhatBothLeave) {
  const losses::SparseCategoricalCrossentropy loss({.from_logits = true, .ignore_class = 1});
  const Tensor logits = constant({{1.0, 0.0}, {3.0, 0.0}, {5.0, 0.0}});
  const Tensor value = loss(constant({0, 1, 0}), logits, {}, constant({true, true, false}));
  EXPECT_FLOAT_EQ(value.item<float>(), std::log1p(std::exp(-1.0f)));
}

TEST(Losses, AreComputedInTheDTypeThatIsAskedFor) {
  const losses::MeanSquaredError loss({.dtype = float64});
  EXPECT_EQ(loss(constant({{1.0}}), constant({{2.0}})).dtype(), float64);
  EXPECT_THROW(losses::MeanSquaredError({.dtype = int32}), ValueError);
}

TEST(LossesAndMetrics, RefuseWrongInput) {
  const Tensor three = ones({2, 3});
  const Tensor four = ones({2, 4});
  for (const ClassInfo* info : list_classes("loss")) {
    const Loss loss = losses::get(serialized(*info));
    EXPECT_THROW(loss(three, four), Error) << info->name;
    EXPECT_THROW(loss(Tensor(), three), ValueError) << info->name;
    EXPECT_THROW(loss(three, Tensor()), ValueError) << info->name;
    const auto [t, p] = example_for(*info);
    // The value of the two for the whole batch takes weights of any shape.
    if (info->name == "PowerLoss" || info->name == "Dice" || info->name == "Tversky") continue;
    EXPECT_THROW(loss(t, p, ones({7, 5})), ShapeError) << info->name;
  }
  for (const ClassInfo* info : list_classes("metric")) {
    const Metric metric = metrics::get(serialized(*info));
    EXPECT_THROW(metric.update_state(Tensor(), three), ValueError) << info->name;
    EXPECT_THROW(metric.update_state(three, Tensor()), ValueError) << info->name;
    if (info->name == "Mean" || info->name == "Sum" || info->name == "CategoricalAccuracy" ||
        info->name == "TopKCategoricalAccuracy" || info->name.starts_with("OneHot")) {
      continue;  // these compare positions only
    }
    EXPECT_THROW(metric.update_state(three, four), Error) << info->name;
  }
  const metrics::AUC area;
  EXPECT_NE(message_of<ValueError>([&] {
              area.update_state(ones({2}), constant({0.5, 1.5}));
            }).find("[0, 1]"),
            std::string::npos);
  EXPECT_THROW(metrics::MeanIoU({.num_classes = 2}).update_state(constant({0, 5}), constant({0, 1})), IndexError);
  EXPECT_THROW(metrics::IoU({.num_classes = 2, .target_class_ids = {3}}), ValueError);
  EXPECT_THROW(metrics::AUC({.num_labels = 3}), ValueError);
  EXPECT_THROW(metrics::F1Score().result(), ValueError);
  EXPECT_THROW(metrics::R2Score().result(), ValueError);
  EXPECT_THROW(losses::categorical_generalized_cross_entropy(constant({3}), ones({1, 2})), IndexError);
  EXPECT_THROW(losses::CategoricalGeneralizedCrossEntropy({.q = 1}), ValueError);
  EXPECT_THROW(losses::CTC()(constant({{1, 0, 2}}), ones({1, 5, 3})), IndexError);
  EXPECT_TRUE(message_of<ShapeError>([&] { losses::Dice()(three, four); }).starts_with("dice: "));
}

}  // namespace
}  // namespace capstan
