// What Keras refuses: options, calls with shapes that do not fit, and small programs.
#include "capstan/checkpoint_callbacks.h"
#include "capstan/file_datasets.h"
#include "tests/golden/keras_models.h"
#include "tests/support/temporary_directory.h"

namespace capstan::testing {
namespace {

// A call of a layer on ones, of what lengths the file says.
void call(const Layer& layer, const Json& shapes, const std::string& style) {
  const bool is_integer = layer.type_name() == "Embedding";
  const auto tensor = [&](const Json& shape) {
    return ones(Shape(shape.get<std::vector<std::int64_t>>()), is_integer ? int32 : float32);
  };
  if (style == "one") {
    layer(Nest(tensor(shapes)));
    return;
  }
  std::vector<Nest> inputs;
  for (const Json& shape : shapes) inputs.push_back(tensor(shape));
  layer(Nest::list(inputs));
}

// An object of a class of Keras.
void make_object(const std::string& path, const Json& config) {
  const std::size_t dot = path.rfind('.');
  const std::string module = path.substr(0, dot), name = path.substr(dot + 1);
  if (module == "optimizers") {
    make_optimizer(name, config);
  } else if (module == "optimizers.schedules") {
    make_schedule(name, config);
  } else if (module == "losses") {
    Json options = config;
    const Json reduction = options.value("reduction", Json("sum_over_batch_size"));
    options.erase("reduction");
    make_loss(name, options, reduction);
  } else if (module == "metrics") {
    make_metric(name, config);
  } else if (module == "regularizers") {
    make_regularizer(name, config);
  } else if (module == "initializers") {
    make_initializer(name, config, 1);
  } else {
    throw Lacking{"a module " + module};
  }
}

Sequential compiled() {
  const Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

Variable named(const char* name) { return Variable(ones({2}), {.name = name}); }

// Weights of one model loaded into another.
void load_into(const Model& from, const Model& to) {
  const io::TemporaryDirectory directory;
  from.save_weights(directory.file("x.weights.h5"));
  to.load_weights(directory.file("x.weights.h5"));
}

// The programs that the file tells in words.
using Program = void (*)();

const std::map<std::string, Program> kPrograms = {
    {"state/weight_count",
     [] {
       const layers::Dense layer(2);
       layer.build({1, 3});
       layer.set_weights({ones({3, 2})});
     }},
    {"state/weight_shape",
     [] {
       const layers::Dense layer(2);
       layer.build({1, 3});
       layer.set_weights({ones({2, 2}), ones({2})});
     }},
    {"state/count_before_build", [] { layers::Dense(2).count_params(); }},
    {"state/embedding_out_of_range", [] { layers::Embedding(3, 2)(constant({5})); }},
    {"state/embedding_negative_id_is_fine", [] { layers::Embedding(3, 2)(constant({-1})); }},
    {"state/embedding_negative_id_too_small", [] { layers::Embedding(3, 2)(constant({-4})); }},
    {"state/batch_norm_mask_rank",
     [] {
       layers::BatchNormalization()(ones({1, 2, 3}), {.training = true, .mask = ones({1, 2, 3}, bool_)});
     }},
    {"model/same_names",
     [] {
       Sequential({layers::Dense(1, {.name = "a"}), layers::Dense(1, {.name = "a"})});
     }},
    {"model/input_without_shape", [] { Input(InputShape()); }},
    {"model/functional_wrong_width",
     [] {
       const Tensor x = Input({2});
       Model(x, layers::Dense(1)(x))(ones({1, 3}));
     }},
    {"model/functional_disconnected", [] { Model(Input({2}), layers::Dense(1)(Input({2}))); }},
    {"model/get_layer_unknown", [] { compiled().get_layer("nope"); }},
    {"model/fit_without_compile",
     [] {
       Sequential({layers::Dense(1)}).fit(ones({4, 2}), ones({4, 1}));
     }},
    {"model/evaluate_without_compile",
     [] {
       Sequential({layers::Dense(1)}).evaluate(ones({4, 2}), ones({4, 1}));
     }},
    {"model/no_loss",
     [] {
       const Sequential model({layers::Dense(1)});
       model.compile({.optimizer = "sgd"});
       model.fit(ones({4, 2}), ones({4, 1}), {.verbose = 0});
     }},
    {"model/fit_lengths",
     [] {
       compiled().fit(ones({4, 2}), ones({3, 1}), {.verbose = 0});
     }},
    {"model/validation_split_one",
     [] {
       compiled().fit(ones({4, 2}), ones({4, 1}), {.verbose = 0, .validation_split = 1.0});
     }},
    {"model/validation_split_dataset",
     [] {
       compiled().fit(from_tensor_slices(ones({4, 2}), ones({4, 1})).batch(2), {.verbose = 0, .validation_split = 0.5});
     }},
    {"model/batch_size_with_dataset_is_fine",
     [] {
       compiled().fit(from_tensor_slices(ones({4, 2}), ones({4, 1})).batch(2), {.batch_size = 3, .verbose = 0});
     }},
    {"model/class_and_sample_weight",
     [] {
       compiled().fit(ones({4, 2}), ones({4, 1}),
                      {.verbose = 0, .class_weight = {{1, 2.0}}, .sample_weight = ones({4})});
     }},
    {"model/unknown_loss_string", [] { Sequential({layers::Dense(1)}).compile({.loss = "nope"}); }},
    {"model/unknown_optimizer_string", [] { Sequential({layers::Dense(1)}).compile({.optimizer = "nope"}); }},
    {"model/unknown_metric_string",
     [] { Sequential({layers::Dense(1)}).compile({.loss = "mse", .metrics = {"nope"}}); }},
    {"model/steps_per_execution_zero",
     [] { Sequential({layers::Dense(1)}).compile({.loss = "mse", .steps_per_execution = 0}); }},
    {"optimizer/all_missing", [] { optimizers::SGD().apply_gradients({Tensor()}, {named("a")}); }},
    {"optimizer/empty_lists_are_fine",
     [] { optimizers::SGD().apply_gradients(std::vector<Tensor>(), std::vector<Variable>()); }},
    {"optimizer/unknown_variable",
     [] {
       const optimizers::SGD optimizer;
       optimizer.apply_gradients({ones({2})}, {named("a")});
       optimizer.apply_gradients({ones({2})}, {named("b")});
     }},
    {"optimizer/gradient_count",
     [] {
       optimizers::SGD().apply_gradients({ones({2})}, {named("a"), named("b")});
     }},
    {"optimizer/assign_rate_with_schedule",
     [] { optimizers::SGD({.learning_rate = schedules::ExponentialDecay(0.1, 10, 0.5)}).set_learning_rate(0.1); }},
    {"optimizer/exclude_after_build_is_fine",
     [] {
       const optimizers::AdamW optimizer;
       optimizer.build(std::vector{named("a")});
       optimizer.exclude_from_weight_decay({"a"});
     }},
    {"initializer/orthogonal_rank1", [] { initializers::Orthogonal()({3}); }},
    {"initializer/identity_rank3",
     [] {
       initializers::Identity()({2, 2, 2});
     }},
    {"loss/categorical_shapes",
     [] {
       losses::categorical_crossentropy(ones({2, 3}), ones({2, 4}));
     }},
    {"loss/binary_shapes",
     [] {
       losses::BinaryCrossentropy()(ones({2, 3}), ones({2, 4}));
     }},
    {"loss/mse_shapes",
     [] {
       losses::MeanSquaredError()(ones({2, 3}), ones({2, 4}));
     }},
    {"loss/sparse_rank",
     [] {
       losses::SparseCategoricalCrossentropy()(ones({2, 3}, int32), ones({2, 3}));
     }},
    {"loss/sparse_label_range",
     [] {
       losses::SparseCategoricalCrossentropy({.from_logits = true})(constant({3}), ones({1, 3}));
     }},
    {"loss/sample_weight_shape",
     [] {
       losses::MeanSquaredError()(ones({4, 2}), ones({4, 2}), ones({3}));
     }},
    {"loss/sample_weight_per_sample_rank3",
     [] {
       losses::MeanSquaredError()(ones({2, 3, 4}), ones({2, 3, 4}), ones({2}));
     }},
    {"loss/ctc_rank",
     [] {
       losses::CTC()(ones({2}, int32), ones({2, 3, 4}));
     }},
    {"metric/f1_rank1", [] { metrics::F1Score().update_state(ones({3}), ones({3})); }},
    {"metric/f1_before_update", [] { metrics::F1Score().result(); }},
    {"metric/unknown_string", [] { metrics::get("acc"); }},
    {"metric/mean_iou_range_is_fine",
     [] {
       metrics::MeanIoU({.num_classes = 2}).update_state(constant({0, 5}), constant({0, 1}));
     }},
    {"data/lengths",
     [] {
       from_tensor_slices(ones({10, 2}), ones({9, 1}));
     }},
    {"data/scalar_slices", [] { from_tensor_slices(constant(3.0)); }},
    {"data/batch_zero", [] { from_tensor_slices(ones({3})).batch(0); }},
    {"data/shuffle_zero", [] { from_tensor_slices(ones({3})).shuffle(0); }},
    {"data/shard_index", [] { datasets::range(3).shard(2, 2); }},
    {"data/shard_negative", [] { datasets::range(3).shard(2, -1); }},
    {"data/range_step_zero", [] { datasets::range(0, 3, 0); }},
    {"data/filter_not_boolean",
     [] { from_tensor_slices(ones({3})).filter([](const Tensor& x) { return x + 1; }).begin().next(); }},
    {"data/len_infinite", [] { datasets::range(3).repeat().size(); }},
    {"data/len_unknown", [] { datasets::range(3).filter([](auto) { return true; }).size(); }},
    {"data/assert_cardinality",
     [] {
       auto iterator = datasets::range(3).filter([](auto) { return true; }).assert_cardinality(5).begin();
       while (iterator.next()) {
       }
     }},
    {"data/single_element_of_two", [] { datasets::range(2).get_single_element(); }},
    {"data/padded_batch_scalar_shape",
     [] {
       from_tensor_slices(ones({3, 2})).padded_batch(2, {.padded_shapes = {{2, 2}}}).begin().next();
     }},
    {"utility/to_categorical_range",
     [] {
       to_categorical(constant({0, 3}), 2);
     }},
    {"model/save_weights_extension", [] { Sequential({layers::Dense(1, {.input_shape = {2}})}).save_weights("x.h5"); }},
    {"model/save_extension", [] { Sequential({layers::Dense(1, {.input_shape = {2}})}).save("x.foo"); }},
    {"model/load_missing", [] { load_model("missing.keras"); }},
    {"model/load_weights_shape",
     [] {
       load_into(Sequential({layers::Dense(1, {.input_shape = {2}})}),
                 Sequential({layers::Dense(2, {.input_shape = {3}})}));
     }},
    {"model/load_weights_missing_layer",
     [] {
       load_into(Sequential({layers::Dense(2, {.input_shape = {2}})}),
                 Sequential({layers::Dense(2, {.input_shape = {2}}), layers::Dense(2)}));
     }},
    {"data/list_files_nothing", [] { datasets::list_files("no/such/file*"); }},
    {"data/missing_file",
     [] {
       for (const std::string& record : datasets::TFRecordDataset("no/such/file.tfrecord")) (void)record;
     }},
    {"callback/checkpoint_extension", [] { callbacks::ModelCheckpoint("x.h5", {.save_weights_only = true}); }},
    {"callback/checkpoint_extension_model", [] { callbacks::ModelCheckpoint("x.foo"); }},
    {"callback/reduce_factor", [] { callbacks::ReduceLROnPlateau({.factor = 1.0}); }},
    {"callback/early_stopping_mode_is_fine", [] { callbacks::EarlyStopping({.mode = "other"}); }},
};

constexpr const char* kDoesNotCompile = "does not compile";

// Programs that cannot be written here.
const std::map<std::string, std::string> kNoPrograms = {
    {"state/variable_after_build", "a C++ object has no new attributes"},
    {"state/kernel_before_build", "weights have no accessors of their own"},
    {"state/string_input", kDoesNotCompile},
    {"model/not_a_layer", kDoesNotCompile},
    {"model/input_shape_and_batch_shape", kDoesNotCompile},
    {"model/forgotten_base_constructor", kDoesNotCompile},
    {"model/get_layer_nothing", kDoesNotCompile},
    {"model/get_layer_both", kDoesNotCompile},
    {"model/load_weights_by_name", "weights are always found by name"},
    {"optimizer/empty_pairs", "gradients and variables are two lists: optimizer/empty_lists_are_fine"},
    {"optimizer/apply_before_build", "variables are always given"},
    {"loss/axis_boolean", "a bool is a number in C++"},
    {"data/concatenate_types", kDoesNotCompile},
    {"data/generator_shape", "a generator has no signature but its type"},
    {"data/generator_type", "a generator has no signature but its type"},
    {"utility/seed_range", "seeds are unsigned"},
};

// Where the library decides otherwise than Keras: stricter, or milder.
const std::map<std::string, std::string> kDepartures = {
    {"call/max_pool_window_too_large", "an empty result is an error"},
    {"optimizer/integer_rate", "a whole number is a number"},
    {"optimizer/decay_is_ignored", "an option that is not there is an error"},
    {"argument/auc_thresholds_are_not_checked", "thresholds are checked"},
    {"argument/fbeta_integer", "a whole number is a number"},
    {"optimizer/empty_lists_are_fine", "an update of no variables is a mistake"},
    {"metric/mean_iou_range_is_fine", "a class out of range is an error"},
    {"callback/early_stopping_mode_is_fine", "an unknown mode is an error"},
};

void run(const std::string& name, const Json& what) {
  if (what.contains("layer")) {
    const Layer layer = make_layer(what.at("layer"), what.at("config"), "float32", "");
    for (const Json& shapes : what.at("calls")) call(layer, shapes, what.at("style"));
  } else if (what.contains("object")) {
    make_object(what.at("object"), what.at("config"));
  } else if (kPrograms.contains(name)) {
    kPrograms.at(name)();
  } else if (kNoPrograms.contains(name)) {
    throw Lacking{kNoPrograms.at(name)};
  } else {
    ADD_FAILURE() << "there is no such program: " << what.at("text");
  }
}

void run_errors_case(const Json&, const Json& one) {
  const std::string name = one.at("name");
  std::string message;
  try {
    run(name, one.at("do"));
  } catch (const Error& error) {
    message = error.what();
  }
  const bool departs = kDepartures.contains(name);
  const std::string reason = one.at("reason");
  if (one.at("exception").is_null() != departs) {
    EXPECT_EQ(message, "") << reason;
  } else {
    EXPECT_NE(message, "") << "there is no error: " << reason;
  }
  if (departs) throw Lacking{kDepartures.at(name)};
}

std::map<std::string, std::string> lacking() {
  std::map<std::string, std::string> all = kNoPrograms;
  all.insert(kDepartures.begin(), kDepartures.end());
  return all;
}

const KerasFile errors_file("errors", run_errors_case, {"do", "exception", "reason"}, lacking());

}  // namespace
}  // namespace capstan::testing
