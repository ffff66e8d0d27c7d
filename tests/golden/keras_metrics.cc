// Metrics against values of Keras: after every update, and the state at the end.
#include "tests/golden/keras_cases.h"

namespace capstan::testing {
namespace {

void update(const Metric& metric, const Json& one) {
  const Json& arguments = one.at("arguments");
  const Tensor first = tensor_from_json(arguments.at(0));
  // A mean of values is a mean of "predictions" without labels.
  metric.update_state(first, arguments.size() > 1 ? tensor_from_json(arguments.at(1)) : first,
                      tensor_from_json(one.at("sample_weight")));
}

void run_metrics_case(const Json&, const Json& one) {
  Json options = one.at("options");
  if (one.contains("dtype")) options["dtype"] = one.at("dtype");
  const Metric metric = make_metric(one.at("metric"), options);
  if (one.at("result_before_any_update").is_null()) {
    EXPECT_THROW(metric.result(), ValueError);
  } else {
    expect_close(metric.result(), one.at("result_before_any_update"), "before any update");
  }
  for (const Json& item : one.at("updates")) {
    update(metric, item);
    expect_close(metric.result(), item.at("result"), "after an update");
  }
  const std::vector<Variable> state = metric.variables();
  ASSERT_EQ(state.size(), one.at("state").size());
  for (std::size_t i = 0; i < state.size(); ++i) {
    EXPECT_EQ(state[i].name(), one.at("state")[i].at("name").get<std::string>());
    expect_close(state[i].value(), one.at("state")[i].at("value"), state[i].name());
  }
  metric.reset_state();
  update(metric, one.at("updates").back());
  expect_close(metric.result(), one.at("result_after_reset_and_last_update"), "after a reset and the last update");
}

const KerasFile metrics_file("metrics", run_metrics_case,
                             {"metric", "options", "result_after_reset_and_last_update", "result_before_any_update",
                              "state", "updates"});

}  // namespace
}  // namespace capstan::testing
