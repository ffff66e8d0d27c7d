// ReduceLROnPlateau.
#include <algorithm>
#include <cstdio>

#include "src/core/check.h"
#include "src/train/callbacks/classes.h"
#include "src/train/callbacks/monitor.h"

namespace capstan {
namespace callbacks {

namespace {
constexpr std::string_view kPlateauModes[] = {"auto", "min", "max"};
}

std::span<const OptionField> ReduceLROnPlateauOptions::fields() {
  using O = ReduceLROnPlateauOptions;
  static constexpr OptionField all[] = {option<&O::monitor>("monitor"),
                                        option<&O::factor>("factor"),
                                        option<&O::patience>("patience").at_least(0),
                                        option<&O::verbose>("verbose"),
                                        option<&O::mode>("mode").one_of(kPlateauModes),
                                        option<&O::min_delta>("min_delta"),
                                        option<&O::cooldown>("cooldown").at_least(0),
                                        option<&O::min_lr>("min_lr").at_least(0)};
  return all;
}

namespace {

struct ReduceLROnPlateauBody final : Configured<ReduceLROnPlateauBody, CallbackBody, ReduceLROnPlateauOptions> {
  static constexpr std::string_view kName = "ReduceLROnPlateau";
  static constexpr std::string_view kText = "Reduces the learning rate when a value no longer improves.";
  explicit ReduceLROnPlateauBody(const ReduceLROnPlateauOptions& given = {})
      : Configured(given), monitor("reduce_lr_on_plateau", options.monitor, options.mode, options.min_delta) {
    CAPSTAN_CHECK(options.factor < 1, ValueError, "ReduceLROnPlateau: option \"factor\" must be less than 1, not ",
                  options.factor);
  }

  void on_train_begin() override {
    monitor.reset(model());
    best.reset();
    wait = cooldown = 0;
  }

  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    const Optimizer& optimizer = model().optimizer();
    const double rate = optimizer.learning_rate();
    logs["learning_rate"] = rate;
    const std::optional<double> value = monitor.read(logs);
    if (!value) return;
    if (cooldown > 0) {
      --cooldown;
      wait = 0;
    }
    if (monitor.is_better(*value, best)) {
      best = value;
      wait = 0;
      return;
    }
    if (cooldown > 0 || ++wait < options.patience) return;
    if (rate <= options.min_lr) return;
    const double reduced = std::max(rate * options.factor, options.min_lr);
    optimizer.set_learning_rate(reduced);
    if (options.verbose > 0) {
      std::printf("\nEpoch %lld: ReduceLROnPlateau reducing learning rate to %s.\n", static_cast<long long>(epoch) + 1,
                  AttributeValue(reduced).to_json().c_str());
    }
    cooldown = options.cooldown;
    wait = 0;
  }

  AttributeValue found() const override {
    AttributeValue values = AttributeValue::map();
    values.set("best", get_field(best));
    values.set("wait", wait);
    values.set("cooldown_counter", cooldown);
    return values;
  }

  Monitor monitor;
  std::optional<double> best;
  std::int64_t wait = 0, cooldown = 0;
};

}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(const ReduceLROnPlateauOptions& options)
    : Callback(make_configurable<ReduceLROnPlateauBody>(options)) {}

}  // namespace callbacks

const ClassInfo& detail::reduce_lr_on_plateau_class() { return callbacks::ReduceLROnPlateauBody::info(); }

}  // namespace capstan
