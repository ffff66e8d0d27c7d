// A walk over all classes of losses and metrics: documented, configurable there and back, made by name, called, with
// bad options refused. Then classes of a program's own, names, wrong input, and both inside of traced functions.
#include <gtest/gtest.h>

#include <cctype>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/compare.h"
#include "tests/support/message_of.h"

namespace capstan {
namespace {

using testing::message_of;
using Kind = AttributeValue::Kind;

// A configuration with all that a class requires.
AttributeValue least_config(const ClassInfo& info) {
  AttributeValue config = AttributeValue::map();
  for (const OptionField& field : info.options()) {
    if (field.required && field.name == "target_class_ids") {
      config.set(field.name, std::vector<AttributeValue>{0, 1});
    } else if (field.required) {
      config.set(field.name, field.name == "num_classes" ? AttributeValue(3) : AttributeValue(0.5));
    }
  }
  return config;
}

AttributeValue serialized(const ClassInfo& info, AttributeValue config) {
  AttributeValue value = AttributeValue::map();
  value.set("class_name", std::string(info.name));
  value.set("config", std::move(config));
  return value;
}

std::shared_ptr<Configurable> make(const ClassInfo& info, AttributeValue config) {
  return deserialize(info.kind, serialized(info, std::move(config)));
}

std::vector<const ClassInfo*> all_classes() {
  std::vector<const ClassInfo*> all = list_classes("loss");
  const std::vector<const ClassInfo*> metrics = list_classes("metric");
  all.insert(all.end(), metrics.begin(), metrics.end());
  return all;
}

TEST(LossAndMetricClasses, AreThoseOfKeras) {
  EXPECT_GE(list_classes("loss").size(), 22u);
  EXPECT_GE(list_classes("metric").size(), 44u);
}

TEST(LossAndMetricClasses, AreDocumented) {
  for (const ClassInfo* info : all_classes()) {
    EXPECT_TRUE(info->text.size() > 10 && info->text.ends_with(".")) << info->name;
    EXPECT_FALSE(info->options().empty()) << info->name;
    for (const OptionField& field : info->options()) {
      for (const char c : field.name) {
        EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) != 0 || c == '_') << field.name;
      }
    }
  }
}

TEST(LossAndMetricClasses, GoThroughTheirConfigurationsAndBack) {
  for (const ClassInfo* info : all_classes()) {
    const std::shared_ptr<Configurable> object = make(*info, least_config(*info));
    const std::string json = serialize(*object).to_json();
    const AttributeValue read = AttributeValue::from_json(json);
    EXPECT_EQ(read.find("class_name")->text, info->name);
    EXPECT_EQ(read.find("config")->items.size(), info->options().size());
    EXPECT_EQ(serialize(*deserialize(info->kind, read)).to_json(), json);
  }
}

// Another value of the kind that the option has.
AttributeValue other_value(const OptionField& field, AttributeValue value) {
  if (!field.names.empty()) return std::string(field.names.back());
  if (field.name == "axis" && value.kind == Kind::kNone) return std::vector<AttributeValue>{1, 2};
  if (field.name == "thresholds" || field.name == "label_weights") return std::vector<AttributeValue>{0.25, 0.75};
  if (value.kind == Kind::kBool) return !value.truth;
  if (value.kind == Kind::kList) {
    for (AttributeValue& item : value.list) item = item.kind == Kind::kInt ? AttributeValue(0) : AttributeValue(0.75);
    return value;
  }
  if (value.kind == Kind::kFloat || field.name == "threshold") return 0.75;
  return 3;
}

TEST(LossAndMetricClasses, KeepEveryOption) {
  for (const ClassInfo* info : all_classes()) {
    const AttributeValue before = config_of(*info, make(*info, least_config(*info))->options_data());
    for (const OptionField& field : info->options()) {
      AttributeValue config = before;
      config.set(field.name, other_value(field, *before.find(field.name)));
      if (field.name == "num_labels") config.set("multi_label", true);
      const AttributeValue after = config_of(*info, make(*info, config)->options_data());
      EXPECT_EQ(after.to_json(), config.to_json()) << info->name << ", " << field.name;
    }
  }
}

TEST(LossAndMetricClasses, RefuseWhatDoesNotFitAndNameIt) {
  for (const ClassInfo* info : all_classes()) {
    const std::string name(info->name);
    const auto message = [&](std::string_view key, AttributeValue value) {
      AttributeValue config = least_config(*info);
      config.set(key, std::move(value));
      return message_of([&] { make(*info, std::move(config)); });
    };
    EXPECT_TRUE(message("no_such_option", 1).starts_with("option of " + name + ": there is none with the name"))
        << name;
    for (const OptionField& field : info->options()) {
      const std::string wrong = message(field.name, "text");
      EXPECT_TRUE(wrong.starts_with(name + ": ")) << wrong;
      EXPECT_NE(wrong.find("\"" + std::string(field.name) + "\""), std::string::npos) << wrong;
      EXPECT_NE(wrong.find("\"text\""), std::string::npos) << wrong;
      const auto is_refused = [&](double value) {
        const AttributeValue whole(static_cast<std::int64_t>(value));
        const bool is_whole = static_cast<double>(whole.integer) == value;
        const std::string text = message(field.name, is_whole ? whole : AttributeValue(value));
        EXPECT_TRUE(text.starts_with(name + ": option \"" + std::string(field.name) + "\" must be ")) << text;
      };
      if (field.most < 1e300) is_refused(field.most + 1);
      if (field.least > -1e300) is_refused(field.least - 1);
      if (field.least_is_out) is_refused(field.least);
      if (!field.required) continue;
      AttributeValue config = least_config(*info);
      std::erase_if(config.items, [&](const auto& item) { return item.first == field.name; });
      EXPECT_EQ(message_of([&] { make(*info, config); }),
                name + ": option \"" + std::string(field.name) + "\" must be given");
    }
  }
}

TEST(LossAndMetricClasses, AreMadeByNameInAnySpelling) {
  for (const ClassInfo* info : all_classes()) {
    std::string lower;
    for (const char c : info->name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (!least_config(*info).items.empty()) continue;
    EXPECT_EQ(&deserialize(info->kind, lower)->class_info(), info);
  }
  for (const char* name : {"mse", "MSE", "mean_squared_error", "MeanSquaredError"}) {
    EXPECT_EQ(Loss(name).body()->class_info().name, "MeanSquaredError");
    EXPECT_EQ(Metric(name).body()->class_info().name, "MeanSquaredError");
    EXPECT_EQ(Loss(name).name(), name);
  }
  EXPECT_EQ(Loss("kld").body()->class_info().name, "KLDivergence");
  EXPECT_EQ(Loss("BCE").body()->class_info().name, "BinaryCrossentropy");
  EXPECT_THROW(Loss("Mse"), ValueError);
  EXPECT_EQ(losses::KLDivergence().name(), "kl_divergence");
  EXPECT_EQ(metrics::FBetaScore().name(), "fbeta_score");
  EXPECT_EQ(metrics::LogCoshError().name(), "logcosh");
  EXPECT_EQ(metrics::MeanIoU({.num_classes = 2}).name(), "mean_io_u");
  EXPECT_EQ(metrics::Mean("mine").name(), "mine");
  // In compile() it follows from shapes, else it is a class.
  EXPECT_EQ(metrics::get("accuracy").body()->class_info().name, "Accuracy");
  EXPECT_THROW(metrics::get("acc"), ValueError);
}

TEST(LossAndMetricClasses, HaveTheConfigurationOfKeras) {
  const losses::Huber huber({.delta = 2, .reduction = "sum"}, "mine");
  const AttributeValue written = losses::serialize(huber);
  EXPECT_EQ(written.to_json(),
            R"({"module": "keras.losses", "class_name": "Huber", "config": {"name": "mine", "delta": 2.0, )"
            R"("reduction": "sum", "dtype": null}, "registered_name": null})");
  const Loss read = losses::get(AttributeValue::from_json(written.to_json()));
  EXPECT_EQ(read.name(), "mine");
  EXPECT_EQ(losses::serialize(read).to_json(), written.to_json());

  const metrics::Precision precision({.thresholds = {{0.25, 0.5}}, .top_k = 2}, "at_two");
  const AttributeValue metric = metrics::serialize(precision);
  EXPECT_EQ(metric.to_json(),
            R"({"module": "keras.metrics", "class_name": "Precision", "config": {"name": "at_two", "thresholds": )"
            R"([0.25, 0.5], "top_k": 2, "class_id": null, "dtype": null}, "registered_name": null})");
  EXPECT_EQ(metrics::serialize(metrics::get(metric)).to_json(), metric.to_json());

  EXPECT_THROW(losses::serialize(Loss(losses::mean_squared_error)), ValueError);
  EXPECT_EQ(metrics::serialize(Metric("acc")).to_json(), R"("acc")") << "the data decide what it is";
}

// --- Classes of a program's own ---

struct PowerLossOptions {
  double exponent = 4;
  std::optional<std::string> reduction = "sum_over_batch_size";
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&PowerLossOptions::exponent>("exponent").at_least(1),
                                          option<&PowerLossOptions::reduction>("reduction")};
    return all;
  }
};
struct PowerLoss : LossFormula<PowerLoss, PowerLossOptions> {
  using LossFormula::LossFormula;
  static constexpr std::string_view kName = "PowerLoss", kText = "The mean of a power of absolute differences.";
  Tensor values(const Tensor& y_true, const Tensor& y_pred) const override {
    return reduce_mean(pow(abs(y_pred - y_true), options.exponent), -1);
  }
};

struct LargestErrorOptions {
  std::optional<DType> dtype = {};
  static std::span<const OptionField> fields() {
    static constexpr OptionField all[] = {option<&LargestErrorOptions::dtype>("dtype")};
    return all;
  }
};
struct LargestError : Configured<LargestError, MetricBody, LargestErrorOptions> {
  static constexpr std::string_view kName = "LargestError", kText = "The largest absolute difference so far.";
  explicit LargestError(const LargestErrorOptions& given = {})
      : Configured(given), largest(add_variable({}, "largest", options.dtype)) {}
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor&) override {
    largest.assign(maximum(largest, cast(reduce_max(abs(y_pred - y_true)), largest.dtype())));
  }
  Tensor result() const override { return largest.value(); }
  Variable largest;
};

TEST(LossAndMetricClasses, OfAProgramWorkLikeTheOthers) {
  const Tensor t = constant({{0.0, 0.0}, {0.0, 0.0}});
  const Tensor p = constant({{1.0, 2.0}, {0.0, 1.0}});
  const Loss loss = make_loss<PowerLoss>({.exponent = 3});
  EXPECT_FLOAT_EQ(loss(t, p).item<float>(), 2.5f);
  EXPECT_FLOAT_EQ(loss(t, p, constant({1.0, 0.0})).item<float>(), 2.25f);
  EXPECT_THROW(make_loss<PowerLoss>({.exponent = 0.5}), ValueError);
  EXPECT_THROW(make_loss<PowerLoss>({.reduction = "some"}), ValueError);
  register_class<PowerLoss>();
  const Loss again = losses::get(losses::serialize(loss));
  EXPECT_FLOAT_EQ(again(t, p).item<float>(), 2.5f);
  EXPECT_EQ(losses::get("power_loss").name(), "power_loss");

  register_class<LargestError>();
  const Metric metric = metrics::get("largest_error");
  metric.update_state(t, p);
  EXPECT_FLOAT_EQ(metric.result().item<float>(), 2.0f);
  metric.reset_state();
  EXPECT_FLOAT_EQ(metric.result().item<float>(), 0.0f);
}

// The numbers of the next two are Keras 3.15's.
TEST(LossAndMetricClasses, CountOneClassAtThresholds) {
  const Tensor t = constant({{0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {1, 1, 0}});
  const Tensor p = constant({{0.1, 0.8, 0.3}, {0.6, 0.4, 0.7}, {0.3, 0.2, 0.35}, {0.9, 0.45, 0.6}});
  const Tensor weights = constant({0.1, 0.2, 0.3, 0.4});
  const auto result = [&](const Metric& metric, const Tensor& given = {}) {
    metric.reset_state();
    metric.update_state(t, p, given);
    return metric.result().item<float>();
  };
  const metrics::SensitivityAtSpecificity sensitivity({.specificity = 0.5, .class_id = 1});
  const metrics::SpecificityAtSensitivity specificity({.sensitivity = 0.5, .class_id = 2});
  const metrics::PrecisionAtRecall precision({.recall = 0.6, .class_id = 2});
  const metrics::RecallAtPrecision recall({.precision = 0.6, .num_thresholds = 5, .class_id = 0});
  EXPECT_FLOAT_EQ(result(sensitivity), 1);
  EXPECT_FLOAT_EQ(result(specificity), 1);
  EXPECT_NEAR(result(specificity, weights), 0.2, 1e-6);
  EXPECT_NEAR(result(precision), 2.0 / 3, 1e-6);
  EXPECT_NEAR(result(precision, weights), 5.0 / 9, 1e-6);
  EXPECT_FLOAT_EQ(result(recall), 1);
  EXPECT_NEAR(result(metrics::PrecisionAtRecall({.recall = 0.6})), 5.0 / 6, 1e-6);
  EXPECT_NEAR(result(metrics::PrecisionAtRecall({.recall = 0.6}), weights), 13.0 / 17, 1e-6);
  EXPECT_EQ(message_of<IndexError>([&] {
              result(metrics::PrecisionAtRecall({.class_id = 3}));
            }).rfind("precision_at_recall: there is no class 3", 0),
            0u);
  EXPECT_THROW(metrics::RecallAtPrecision({.class_id = -1}), ValueError);
}

TEST(LossAndMetricClasses, IgnoreAClass) {
  const Tensor p = constant({{0.05, 0.95, 0.0}, {0.1, 0.8, 0.1}, {0.5, 0.25, 0.25}});
  const Tensor weights = constant({0.3, 0.7, 1.0});
  for (const DType dtype : {int32, int64, float32}) {
    const auto values = [&](std::int64_t ignored) {
      const Tensor t = cast(constant({1, 2, 0}), dtype);
      return losses::sparse_categorical_crossentropy(t, p, {.ignore_class = ignored}).to_vector<float>();
    };
    // No class that there is, although 0 in 32 bits.
    EXPECT_NEAR(values(std::int64_t{1} << 40)[2], 0.6931472, 1e-6);
    EXPECT_EQ(values(0)[2], 0);
  }
  // A label that is no whole number is not the class that it is cut to.
  const losses::SparseCategoricalCrossentropy cut({.ignore_class = 0});
  EXPECT_NEAR(cut(constant({1.0f, 1.0f, 0.5f}), p).item<float>(), (0.0512933 + 0.2231436 + 0.6931472) / 3, 1e-6);
  for (const int ignored : {2, -1, 255}) {
    const Tensor t = constant({1, ignored, 0});
    const Tensor nothing = constant({ignored, ignored, ignored});
    const std::vector<float> values =
        losses::sparse_categorical_crossentropy(t, p, {.ignore_class = ignored}).to_vector<float>();
    EXPECT_NEAR(values[0], 0.0512933, 1e-6);
    EXPECT_EQ(values[1], 0);
    EXPECT_NEAR(values[2], 0.6931472, 1e-6);
    const losses::SparseCategoricalCrossentropy loss({.ignore_class = ignored});
    EXPECT_NEAR(loss(t, p).item<float>(), (0.0512933 + 0.6931472) / 2, 1e-6);
    const auto check = [&](auto update) {
      const metrics::SparseCategoricalCrossentropy metric({.ignore_class = ignored});
      update(metric, t, p, Tensor());
      EXPECT_NEAR(metric.result().template item<float>(), 0.24814685, 1e-6);
      update(metric, expand_dims(nothing, -1), p, Tensor());
      EXPECT_NEAR(metric.result().template item<float>(), 0.12407342, 1e-6);
      metric.reset_state();
      for (const Tensor& given : {weights, expand_dims(weights, -1)}) {
        update(metric, t, p, given);
        EXPECT_NEAR(metric.result().template item<float>(), 0.5450271, 1e-6);
      }
      update(metric, nothing, p, weights);
      EXPECT_NEAR(metric.result().template item<float>(), 0.5450271, 1e-6);
      metric.reset_state();
      update(metric, expand_dims(t, 0), expand_dims(p, 0), constant({0.5}));
      EXPECT_NEAR(metric.result().template item<float>(), 0.37222025, 1e-6);
    };
    const auto update = [](const Metric& metric, const Tensor& labels, const Tensor& predictions, const Tensor& given) {
      metric.update_state(labels, predictions, given);
    };
    check(update);
    check([&](const Metric& metric, const Tensor& labels, const Tensor& predictions, const Tensor& given) {
      auto traced = function([&](const Tensor& a, const Tensor& b) { update(metric, a, b, given); });
      traced(labels, predictions);
    });
  }
}

TEST(Loss, OfTheProgramGetsLabelsOfTheDtypeOfPredictions) {
  std::vector<DType> seen;
  const Loss loss([&](const Tensor& t, const Tensor& p) {
    seen = {t.dtype(), p.dtype()};
    return reduce_mean(square(t - p), -1);
  });
  const Tensor p = constant({{1.0f}, {3.0f}});
  for (const DType labels : {float64, int32, uint8, bool_, float32}) {
    EXPECT_EQ(loss(cast(ones({2, 1}), labels), p).item<float>(), 2.0f) << name_of(labels);
    EXPECT_EQ(seen, (std::vector<DType>{float32, float32})) << name_of(labels);
  }
  EXPECT_EQ(loss(ones({2, 1}), cast(p, float64)).dtype(), float64);
  EXPECT_EQ(seen, (std::vector<DType>{float64, float64}));
}

}  // namespace
}  // namespace capstan
