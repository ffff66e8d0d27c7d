#include "src/data/tuning.h"

#include "capstan/dataset_options.h"
#include "src/core/context.h"

namespace capstan::detail {

namespace {

// While a node opens its input.
class BudgetScope {
 public:
  explicit BudgetScope(const BudgetPtr& budget) : outer_(context.dataset_budget) { context.dataset_budget = &budget; }
  ~BudgetScope() { context.dataset_budget = outer_; }
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  const BudgetPtr* outer_;
};

class BudgetNode : public StageNode {
 public:
  BudgetNode(DatasetNodePtr from, std::int64_t bytes) : StageNode(std::move(from)), bytes_(bytes) {}
  std::int64_t rows_of_each() const override { return input->rows_of_each(); }
  DatasetCursorPtr open() const override {
    const BudgetPtr budget = std::make_shared<Budget>(bytes_);
    const BudgetScope scope(budget);
    return input->open();
  }

 private:
  std::int64_t bytes_;
};

}  // namespace

BudgetPtr current_budget() {
  return context.dataset_budget != nullptr ? *context.dataset_budget
                                           : std::make_shared<Budget>(DatasetOptions().autotune_bytes);
}

DatasetNodePtr with_budget(DatasetNodePtr input, std::int64_t autotune_bytes) {
  CAPSTAN_CHECK(autotune_bytes >= 0, ValueError, "with_options: autotune_bytes is ", autotune_bytes,
                help("0 allows one element of each stage"));
  return std::make_shared<BudgetNode>(std::move(input), autotune_bytes);
}

}  // namespace capstan::detail
