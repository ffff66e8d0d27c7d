#include "src/train/classes.h"

#include "src/train/metrics/mean.h"

namespace capstan::detail {

std::vector<const ClassInfo*> metric_classes() {
  std::vector<const ClassInfo*> list;
  for (const auto add : {add_mean_metrics, add_accuracy_metrics, add_regression_metrics, add_crossentropy_metrics,
                         add_likeness_metrics, add_positives_metrics, add_precision_metrics,
                         add_operating_point_metrics, add_score_metrics, add_iou_metrics}) {
    add(list);
  }
  list.push_back(&auc_metric());
  list.push_back(&r2_score_metric());
  return list;
}

}  // namespace capstan::detail
