// What Keras's guides show.
#include "tests/golden/keras_guides.h"

namespace capstan::testing {
namespace {

constexpr const char* kFloat16 = "float16 is left out";
constexpr const char* kBuilt =
    "layers without weights are built by their first call; lengths of batches are shown as open";
constexpr const char* kStreams = "streams of random numbers are our own";

void run_guides_case(const Json& file, const Json& one) {
  const std::string topic = one.at("topic");
  if (topic == "progress") return run_guide_progress(file, one);
  if (topic == "seeds") throw Lacking{kStreams};
  if (one.contains("dtype")) set_floatx(dtype_from_name(one["dtype"].get<std::string>()));
  if (topic == "callbacks") return run_guide_callback(one);
  if (topic == "training loop") return run_guide_loop(one);
  if (topic == "train_step") return run_guide_train_step(one);
  if (topic == "transfer learning") return run_guide_transfer(one);
  if (topic == "summary") return run_guide_summary(one);
  if (topic == "custom layers") return run_guide_layer(one);
  if (topic == "masking") return run_guide_masking(one);
  if (topic == "functional API") return run_guide_functional(one);
  if (topic == "mixed precision") return run_guide_precision(one);
  throw Lacking{"an unknown topic"};
}

const KerasFile guides_file("guides", run_guides_case,
                            {"after",
                             "arguments",
                             "batch_size",
                             "batches",
                             "before_first_call",
                             "callback",
                             "callback_state",
                             "clock",
                             "compile",
                             "config_of_Linear",
                             "count_params",
                             "created_at",
                             "csv_header",
                             "csv_rows",
                             "dense_weights",
                             "directory_left",
                             "do",
                             "dropout_seed_state",
                             "embedding_weights",
                             "epochs",
                             "epochs_after_restart",
                             "epochs_begun_after_restart",
                             "epochs_run",
                             "evaluate",
                             "events",
                             "exception",
                             "files",
                             "files_after_interruption_in_epoch_2",
                             "final_weights",
                             "fit",
                             "given",
                             "history",
                             "history_after_restart",
                             "history_order",
                             "history_without_interruption",
                             "ids",
                             "inference",
                             "initial",
                             "initial_weights",
                             "input_names",
                             "input_shapes",
                             "inputs",
                             "iterations",
                             "layer_dtypes",
                             "layers",
                             "learning_rate_after",
                             "line_end",
                             "loop",
                             "losses",
                             "losses_after_call_with_2x",
                             "message",
                             "model",
                             "non_trainable",
                             "optimizer",
                             "optimizer_class",
                             "optimizer_variables",
                             "options",
                             "output",
                             "output_names",
                             "output_of_add",
                             "outputs",
                             "outputs_of_every_layer",
                             "outputs_of_three_training_calls_on_ones",
                             "paths_in_new_model",
                             "phases",
                             "policy",
                             "python_random_first_draws_of_randint_1_to_1e9",
                             "result",
                             "results",
                             "rows",
                             "sample_weight",
                             "seed",
                             "seed_state_after",
                             "steps",
                             "stop_training",
                             "summed_gradients",
                             "text",
                             "topic",
                             "trainable",
                             "training_metadata",
                             "unchanged_by_last_fit",
                             "updates",
                             "used",
                             "validation_x",
                             "validation_y",
                             "weights",
                             "weights_at_epoch_end",
                             "without_last_layer_then_sum",
                             "words",
                             "x",
                             "y"},
                            {{"Progbar/array_value", "a value of a progress bar is a number"},
                             {"seed/", kStreams},
                             {"callbacks/order", "the callbacks that fit() uses are not listed"},
                             {"callbacks/BackupAndRestore/", "the callback writes a file of its own form"},
                             {"callbacks/TensorBoard_batches_histograms/",
                              "Keras loses the values of an epoch that ends between two batches that are logged"},
                             {"layers/nested_weights_and_losses/",
                              "a layer without a table of options has no configuration; the rest is compared"},
                             {"layers/endpoint/", "metrics belong to models, not to layers"},
                             {"layers/casting", kFloat16},
                             {"masking/propagation/", "its layers are told in words"},
                             {"mixed/policies", kFloat16},
                             {"mixed/mixed_float16_plain", kFloat16},
                             {"mixed/mixed_float16_overflow", kFloat16},
                             {"mixed/loss_scale_by_hand",
                              "its steps are compared with the formula in tests/train instead"},
                             {"functional/shared_nested_two_outputs/", "ops between layers are not part of a model"},
                             {"summary/big", "its weights take 1.5 GB"},
                             {"summary/mixed", kFloat16},
                             {"summary/subclassed", kBuilt},
                             {"summary/subclassed_unbuilt", kBuilt}});

}  // namespace
}  // namespace capstan::testing
