// The callbacks of the library that have configurations, one row each.
#pragma once

#include "capstan/config.h"

namespace capstan::detail {

const ClassInfo& csv_logger_class();
const ClassInfo& early_stopping_class();
const ClassInfo& reduce_lr_on_plateau_class();

}  // namespace capstan::detail
