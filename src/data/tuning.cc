#include "src/data/tuning.h"

#include "capstan/dataset_options.h"
#include "src/core/context.h"

namespace capstan::detail {

namespace {

// While a node opens its input.
class SettingsScope {
 public:
  explicit SettingsScope(const PassSettings& settings) : outer_(context.pass_settings) {
    context.pass_settings = &settings;
  }
  ~SettingsScope() { context.pass_settings = outer_; }
  SettingsScope(const SettingsScope&) = delete;
  SettingsScope& operator=(const SettingsScope&) = delete;

 private:
  const PassSettings* outer_;
};

class OptionsNode : public StageNode {
 public:
  OptionsNode(DatasetNodePtr from, std::optional<std::int64_t> bytes, std::optional<bool> deterministic)
      : StageNode(std::move(from)), bytes_(bytes), deterministic_(deterministic) {}
  std::int64_t rows_of_each() const override { return input->rows_of_each(); }
  DatasetCursorPtr open() const override {
    // What is set already comes from a later call of with_options(), which counts more.
    PassSettings settings = context.pass_settings != nullptr ? *context.pass_settings : PassSettings();
    if (settings.budget == nullptr && bytes_) settings.budget = std::make_shared<Budget>(*bytes_);
    if (!settings.deterministic) settings.deterministic = deterministic_;
    const SettingsScope scope(settings);
    return input->open();
  }

 private:
  std::optional<std::int64_t> bytes_;
  std::optional<bool> deterministic_;
};

constexpr std::int64_t kDefaultBudget = std::int64_t{256} << 20;

}  // namespace

BudgetPtr current_budget() {
  const bool has_one = context.pass_settings != nullptr && context.pass_settings->budget != nullptr;
  return has_one ? context.pass_settings->budget : std::make_shared<Budget>(kDefaultBudget);
}

bool in_order(std::optional<bool> own) {
  if (!own && context.pass_settings != nullptr) own = context.pass_settings->deterministic;
  return own.value_or(true);
}

DatasetNodePtr with_settings(DatasetNodePtr input, std::optional<std::int64_t> autotune_bytes,
                             std::optional<bool> deterministic) {
  CAPSTAN_CHECK(autotune_bytes.value_or(0) >= 0, ValueError, "with_options: autotune_bytes is ", *autotune_bytes,
                help("0 allows one element of each stage"));
  return std::make_shared<OptionsNode>(std::move(input), autotune_bytes, deterministic);
}

}  // namespace capstan::detail
