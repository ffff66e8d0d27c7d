// The classes with configurations that the library has. A new class is a row in one of these lists.
#pragma once

#include <vector>

#include "capstan/config.h"

namespace capstan::detail {

std::vector<const ClassInfo*> built_in_classes();

std::vector<const ClassInfo*> schedule_classes();  // schedules.cc
std::vector<const ClassInfo*> loss_classes();      // losses/formula.cc
std::vector<const ClassInfo*> metric_classes();    // metrics/classes.cc

const ClassInfo& sgd_class();
const ClassInfo& adam_class();
const ClassInfo& adam_w_class();
const ClassInfo& rmsprop_class();
const ClassInfo& adagrad_class();
const ClassInfo& adadelta_class();
const ClassInfo& adamax_class();
const ClassInfo& nadam_class();
const ClassInfo& ftrl_class();
const ClassInfo& lion_class();
const ClassInfo& lamb_class();

}  // namespace capstan::detail
