// Metrics whose class follows from the shapes of the first update, as compile() knows them.
#pragma once

#include <memory>
#include <string_view>

#include "capstan/metrics.h"

namespace capstan::detail {

// For "acc", "accuracy", "ce", "crossentropy"; null for any other name.
std::shared_ptr<MetricBody> metric_by_shape(std::string_view name);
// Whether a metric is one of these.
bool is_by_shape(const MetricBody& body);

}  // namespace capstan::detail
