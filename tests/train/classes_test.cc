// A walk over all classes with configurations: documented, configurable there and back, made by name, copied, traced,
// with bad options refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/support/message_of.h"
#include "tests/train/every_way.h"

namespace capstan {
namespace {

using testing::message_of;
using Kind = AttributeValue::Kind;

// A configuration with all that a class requires.
AttributeValue least_config(const ClassInfo& info) {
  AttributeValue config = AttributeValue::map();
  for (const OptionField& field : info.options()) {
    if (!field.required) continue;
    config.set(field.name, field.names.empty() ? AttributeValue(2.0) : AttributeValue(std::string(field.names[0])));
  }
  if (info.name == "PiecewiseConstantDecay") {
    config.set("boundaries", std::vector<AttributeValue>{5, 10});
    config.set("values", std::vector<AttributeValue>{0.3, 0.2, 0.1});
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

// Without the one that needs another optimizer, which has a test of its own.
std::vector<const ClassInfo*> optimizer_classes() {
  std::vector<const ClassInfo*> all = list_classes("optimizer");
  std::erase_if(all, [](const ClassInfo* info) { return info->name == "LossScaleOptimizer"; });
  return all;
}

std::vector<const ClassInfo*> all_classes() {
  std::vector<const ClassInfo*> all;
  for (const char* kind : {"optimizer", "schedule", "initializer", "regularizer", "constraint", "activation"}) {
    const std::vector<const ClassInfo*> classes =
        std::string_view(kind) == "optimizer" ? optimizer_classes() : list_classes(kind);
    EXPECT_FALSE(classes.empty()) << kind;
    all.insert(all.end(), classes.begin(), classes.end());
  }
  return all;
}

TEST(Classes, AreDocumentedUnderNamesOfTheirOwn) {
  for (const ClassInfo* info : all_classes()) {
    EXPECT_TRUE(info->text.size() > 10 && info->text.ends_with(".")) << info->name;
    const bool has_options = info->kind == "optimizer" || info->kind == "schedule";
    EXPECT_TRUE(!has_options || !info->options().empty()) << info->name;
    for (const OptionField& field : info->options()) {
      for (const char c : field.name) {
        EXPECT_TRUE(std::islower(static_cast<unsigned char>(c)) != 0 || std::isdigit(c) != 0 || c == '_') << field.name;
      }
    }
  }
}

TEST(Classes, AreMadeByNameInAnySpelling) {
  for (const ClassInfo* info : optimizer_classes()) {
    std::string lower;
    for (const char c : info->name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    for (const std::string& name : {std::string(info->name), lower}) {
      const Optimizer optimizer = optimizers::get(name);
      EXPECT_EQ(&optimizer.rule().class_info(), info);
      std::string letters = optimizer.name();
      std::erase(letters, '_');
      EXPECT_TRUE(letters.starts_with(lower)) << optimizer.name();
    }
  }
  EXPECT_EQ(schedules::get(serialized(*list_classes("schedule")[0], least_config(*list_classes("schedule")[0])))
                .body()
                ->class_info()
                .name,
            list_classes("schedule")[0]->name);
}

TEST(Classes, AreMadeByTheirNamesWhereverANameIsTaken) {
  const auto names_of = [](const ClassInfo& info) {
    std::vector<std::string> names = {std::string(info.name)};
    if (!info.alias.empty()) names.emplace_back(info.alias);
    return names;
  };
  const auto needs_options = [](const ClassInfo& info) {
    return std::any_of(info.options().begin(), info.options().end(),
                       [](const OptionField& field) { return field.required; });
  };
  for (const ClassInfo* info : all_classes()) {
    for (const std::string& name : names_of(*info)) {
      if (needs_options(*info)) continue;
      if (info->kind == "initializer") {
        EXPECT_EQ(&Initializer(name).body()->class_info(), info);
      }
      if (info->kind == "regularizer") {
        EXPECT_EQ(&Regularizer(name).body()->class_info(), info);
      }
      if (info->kind == "constraint") {
        EXPECT_EQ(&Constraint(name).body()->class_info(), info);
      }
      if (info->kind == "activation") {
        EXPECT_EQ(ActivationFunction(name).name(), info->name);
      }
    }
  }
}

TEST(Classes, GoThroughTheirConfigurationsAndBack) {
  for (const ClassInfo* info : all_classes()) {
    const std::shared_ptr<Configurable> object = make(*info, least_config(*info));
    const std::string json = serialize(*object).to_json();
    const AttributeValue read = AttributeValue::from_json(json);
    EXPECT_EQ(read.find("class_name")->text, info->name);
    EXPECT_EQ(read.find("config")->items.size(), info->options().size());
    EXPECT_EQ(serialize(*deserialize(info->kind, read)).to_json(), json);
  }
}

// Each option in turn gets another value, which comes back.
TEST(Classes, KeepEveryOption) {
  for (const ClassInfo* info : all_classes()) {
    const AttributeValue before = config_of(*info, make(*info, least_config(*info))->options_data());
    for (const OptionField& field : info->options()) {
      AttributeValue other = *before.find(field.name);
      if (other.kind == Kind::kBool) {
        other = !other.truth;
      } else if (field.name == "exclude_layers") {
        other = std::vector<AttributeValue>{"logits"};
      } else if (other.kind == Kind::kList) {
        other.list[0] = other.list[0].kind == Kind::kInt ? AttributeValue(1) : AttributeValue(0.75);
      } else if (field.name.starts_with("ema_overwrite") || field.name.starts_with("gradient_acc")) {
        other = 3;
      } else if (other.kind == Kind::kString) {
        other = std::string(field.names.back());
      } else if (field.name.ends_with("_axes")) {
        other = std::vector<AttributeValue>{0, 1};
      } else if (other.kind == Kind::kInt || field.name == "seed") {
        other = 1;
      } else {
        other = field.most < 0.5 ? -0.25 : 0.75;
      }
      AttributeValue config = before;
      config.set(field.name, other);
      if (info->kind == "optimizer" && field.name != "weight_decay") config.set("weight_decay", 0.125);
      const AttributeValue after = config_of(*info, make(*info, config)->options_data());
      EXPECT_EQ(after.to_json(), config.to_json()) << info->name << ", " << field.name;
    }
  }
}

TEST(Classes, RefuseWhatDoesNotFitAndNameIt) {
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
      if (field.name == "exclude_layers") continue;  // takes any text
      const std::string wrong = message(field.name, "text");
      EXPECT_TRUE(wrong.starts_with(name + ": ")) << wrong;
      EXPECT_NE(wrong.find("\"" + std::string(field.name) + "\" must be "), std::string::npos) << wrong;
      EXPECT_NE(wrong.find("\"text\""), std::string::npos) << wrong;
      if (field.most < 1e300) {
        EXPECT_NE(message(field.name, field.most + 0.5).find(name + ": option \"" + std::string(field.name)),
                  std::string::npos);
      }
      if (field.least > -1e300) {
        EXPECT_NE(message(field.name, static_cast<std::int64_t>(field.least) - 1)
                      .find(name + ": option \"" + std::string(field.name)),
                  std::string::npos);
      }
      if (field.least_is_out) {
        EXPECT_NE(message(field.name, field.least).find("must be more than"), std::string::npos) << field.name;
      }
      if (!field.required) continue;
      AttributeValue config = least_config(*info);
      std::erase_if(config.items, [&](const auto& item) { return item.first == field.name; });
      EXPECT_EQ(message_of([&] { make(*info, config); }),
                name + ": option \"" + std::string(field.name) + "\" must be given");
    }
  }
  EXPECT_EQ(message_of([] { optimizers::get("adm"); }).substr(0, 48),
            "optimizer: there is none with the name \"adm\"; th");
}

// --- Optimizers ---

TEST(Classes, OfOptimizersMakeTheSameUpdatesOnEveryWay) {
  for (const ClassInfo* info : optimizer_classes()) {
    const std::string name(info->name);
    testing::expect_same_on_every_way(name, [&] { return optimizers::get(name); });
  }
}

TEST(Classes, OfOptimizersAreHandlesWhoseCopiesShareTheirState) {
  for (const ClassInfo* info : optimizer_classes()) {
    const Variable w({1.0, 2.0});
    const Optimizer first = optimizers::get(std::string(info->name));
    const Optimizer second = first;
    first.apply_gradients({ones({2})}, {w});
    second.apply_gradients({ones({2})}, {w});
    EXPECT_EQ(first.iterations(), 2);
    second.set_learning_rate(0.5);
    EXPECT_EQ(first.learning_rate(), 0.5);
    EXPECT_EQ(first.get_config().find("learning_rate")->number, 0.5);
    // An equal one from its configuration has the name, and state of its own.
    const Optimizer other = optimizers::get(optimizers::serialize(first));
    EXPECT_EQ(other.get_config().to_json(), first.get_config().to_json());
    EXPECT_EQ(other.iterations(), 0);
  }
}

// --- What a configuration looks like ---

TEST(Configuration, OfAnOptimizerIsKeras) {
  Optimizer sgd = optimizers::get(AttributeValue::from_json(
      R"({"module": "keras.optimizers", "class_name": "SGD", "config": {"name": "mine", "learning_rate": 0.5,
          "clipnorm": 1, "gradient_accumulation_steps": 4}, "registered_name": null})"));
  EXPECT_EQ(optimizers::serialize(sgd).to_json(),
            R"({"module": "keras.optimizers", "class_name": "SGD", "config": {"name": "mine", "learning_rate": 0.5, )"
            R"("weight_decay": null, "clipnorm": 1.0, "global_clipnorm": null, "clipvalue": null, "use_ema": false, )"
            R"("ema_momentum": 0.99, "ema_overwrite_frequency": null, "loss_scale_factor": null, )"
            R"("gradient_accumulation_steps": 4, "momentum": 0.0, "nesterov": false}, "registered_name": null})");
}

TEST(Configuration, OfAScheduleStandsInsideOfThatOfItsOptimizer) {
  const optimizers::Adam adam({.learning_rate = schedules::ExponentialDecay(0.5, 10, 0.25, {.staircase = true})});
  const AttributeValue config = adam.get_config();
  EXPECT_EQ(config.find("learning_rate")->to_json(),
            R"({"module": "keras.optimizers.schedules", "class_name": "ExponentialDecay", "config": )"
            R"({"initial_learning_rate": 0.5, "decay_steps": 10.0, "decay_rate": 0.25, "staircase": true}, )"
            R"("registered_name": null})");
  const Optimizer read = optimizers::get(AttributeValue::from_json(optimizers::serialize(adam).to_json()));
  EXPECT_EQ(read.get_config().to_json(), config.to_json());
  const Variable w({1.0});
  for (int i = 0; i < 12; ++i) read.apply_gradients({ones({1})}, {w});
  EXPECT_EQ(read.learning_rate(), 0.125);
}

TEST(Configuration, AFunctionHasNone) {
  const optimizers::SGD sgd({.learning_rate = Schedule([](std::int64_t) { return 0.1; })});
  EXPECT_TRUE(
      message_of([&] { sgd.get_config(); }).starts_with("serialize: this schedule is a function of the program"));
}

TEST(Configuration, OfWhatIsNoConfigurationIsRefused) {
  EXPECT_THROW(optimizers::get(AttributeValue(3)), ValueError);
  EXPECT_THROW(optimizers::get(AttributeValue::from_json(R"({"config": {}})")), ValueError);
  EXPECT_THROW(optimizers::get(AttributeValue::from_json(R"({"class_name": "SGD", "config": 3})")), ValueError);
  EXPECT_EQ(message_of([] {
              optimizers::get(AttributeValue::from_json(R"({"class_name": "SGD", "config": {"lr": 1}})"));
            }).substr(0, 52),
            "option of SGD: there is none with the name \"lr\"; the");
}

}  // namespace
}  // namespace capstan
