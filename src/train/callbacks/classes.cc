#include "src/train/callbacks/classes.h"

#include "src/train/classes.h"

namespace capstan::detail {

std::vector<const ClassInfo*> callback_classes() {
  return {&csv_logger_class(), &early_stopping_class(), &reduce_lr_on_plateau_class()};
}

}  // namespace capstan::detail
