#include "src/train/classes.h"

#include <algorithm>

#include "src/train/model_config.h"

namespace capstan::detail {

std::vector<const ClassInfo*> built_in_classes() {
  std::vector<const ClassInfo*> classes = {&sgd_class(),
                                           &adam_class(),
                                           &adam_w_class(),
                                           &rmsprop_class(),
                                           &adagrad_class(),
                                           &adadelta_class(),
                                           &adamax_class(),
                                           &nadam_class(),
                                           &ftrl_class(),
                                           &lion_class(),
                                           &lamb_class(),
                                           &adafactor_class(),
                                           &muon_class(),
                                           &schedule_free_adam_w_class(),
                                           &loss_scale_optimizer_class(),
                                           &sequential_class(),
                                           &functional_class()};
  for (const auto list : {layer_classes, loss_classes, metric_classes, callback_classes, schedule_classes,
                          initializer_classes, regularizer_classes, constraint_classes, activation_classes}) {
    const std::vector<const ClassInfo*> more = list();
    classes.insert(classes.end(), more.begin(), more.end());
  }
  return classes;
}

bool is_built_in(const ClassInfo& info) {
  static const auto* const all = new std::vector<const ClassInfo*>(built_in_classes());
  return std::find(all->begin(), all->end(), &info) != all->end();
}

}  // namespace capstan::detail
