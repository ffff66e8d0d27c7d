#include "src/train/classes.h"

namespace capstan::detail {

std::vector<const ClassInfo*> built_in_classes() {
  std::vector<const ClassInfo*> classes = {&sgd_class(),     &adam_class(),     &adam_w_class(), &rmsprop_class(),
                                           &adagrad_class(), &adadelta_class(), &adamax_class(), &nadam_class(),
                                           &ftrl_class(),    &lion_class(),     &lamb_class()};
  const std::vector<const ClassInfo*> schedules = schedule_classes();
  classes.insert(classes.end(), schedules.begin(), schedules.end());
  return classes;
}

}  // namespace capstan::detail
