// What Keras's guides show, by topic: the parts of the runner for guides.json.
#pragma once

#include "tests/golden/keras_models.h"

namespace capstan::testing {

// keras_guide_training.cc
void run_guide_callback(const Json& one);
void run_guide_loop(const Json& one);
void run_guide_train_step(const Json& one);
void run_guide_transfer(const Json& one);

// keras_guide_progress.cc
void run_guide_progress(const Json& file, const Json& one);

// keras_guide_models.cc
void run_guide_summary(const Json& one);
void run_guide_layer(const Json& one);
void run_guide_masking(const Json& one);
void run_guide_functional(const Json& one);
void run_guide_precision(const Json& one);

// Numbers in their order, to the tolerance of the case.
void expect_numbers(const std::vector<double>& got, const Json& want, double tolerance, const std::string& what);

// Histories, by name and in the order of their names.
void expect_history(const History& got, const Json& one);

}  // namespace capstan::testing
