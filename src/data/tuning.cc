#include "src/data/tuning.h"

#include "capstan/dataset_options.h"

namespace capstan::detail {

namespace {

// Set while a node opens its input.
[[gnu::tls_model("initial-exec")]] constinit thread_local const BudgetPtr* opening = nullptr;

class BudgetScope {
 public:
  explicit BudgetScope(const BudgetPtr& budget) : outer_(opening) { opening = &budget; }
  ~BudgetScope() { opening = outer_; }
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
  return opening != nullptr ? *opening : std::make_shared<Budget>(DatasetOptions().autotune_bytes);
}

DatasetNodePtr with_budget(DatasetNodePtr input, std::int64_t autotune_bytes) {
  CAPSTAN_CHECK(autotune_bytes >= 0, ValueError, "with_options: autotune_bytes is ", autotune_bytes,
                help("0 allows one element of each stage"));
  return std::make_shared<BudgetNode>(std::move(input), autotune_bytes);
}

}  // namespace capstan::detail
