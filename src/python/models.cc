// What models do beside being called: compile, fit, evaluate, predict, files.
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>

#include <functional>

#include "capstan/callbacks.h"
#include "capstan/datasets.h"
#include "capstan/models.h"
#include "capstan/progbar.h"
#include "capstan/utils.h"
#include "src/python/layers.h"

namespace capstan::python {

namespace {

// --- callbacks ---

// A callback whose hooks are methods of a Python object.
class PythonCallback final : public CallbackBody {
 public:
  explicit PythonCallback(nb::handle object) : object_(object) {}

  void on_train_begin() override { call("on_train_begin", {}); }
  void on_train_end(const Logs& logs) override { call("on_train_end", logs); }
  void on_epoch_begin(std::int64_t epoch) override { call("on_epoch_begin", epoch, {}); }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    const Locked lock;
    const nb::dict numbers = to_dict(logs);
    object_.get().attr("on_epoch_end")(epoch, numbers);
    for (const auto& [key, value] : numbers) logs[nb::cast<std::string>(key)] = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
  }
  void on_train_batch_begin(std::int64_t batch) override { call("on_train_batch_begin", batch, {}); }
  void on_train_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    call("on_train_batch_end", batch, logs.numbers());
  }
  void on_test_begin() override { call("on_test_begin", {}); }
  void on_test_end(const Logs& logs) override { call("on_test_end", logs); }
  void on_test_batch_end(std::int64_t batch, const BatchLogs& logs) override {
    call("on_test_batch_end", batch, logs.numbers());
  }
  void on_test_batch_begin(std::int64_t batch) override { call("on_test_batch_begin", batch, {}); }
  void on_predict_begin() override { call("on_predict_begin", {}); }
  void on_predict_end() override { call("on_predict_end", {}); }
  void on_predict_batch_begin(std::int64_t batch) override { call("on_predict_batch_begin", batch, {}); }
  void on_predict_batch_end(std::int64_t batch, const Nest& outputs) override {
    const Locked lock;
    nb::dict logs;
    logs["outputs"] = nb::steal(from_nest(outputs));
    object_.get().attr("on_predict_batch_end")(batch, logs);
  }

 private:
  static nb::dict to_dict(const Logs& logs) {
    nb::dict numbers;
    for (const auto& [name, number] : logs) numbers[name.c_str()] = number;
    return numbers;
  }
  void call(const char* name, const Logs& logs) {
    const Locked lock;
    object_.get().attr(name)(to_dict(logs));
  }
  void call(const char* name, std::int64_t number, const Logs& logs) {
    const Locked lock;
    object_.get().attr(name)(number, to_dict(logs));
  }

  const Held object_;
};

std::vector<Callback> callbacks_of(const nb::list& objects, const nb::object& print) {
  std::vector<Callback> callbacks;
  if (!print.is_none()) {
    callbacks::ProgbarLoggerOptions options;
    options.print = [print](const std::string& text) {
      const Locked lock;
      print(text);
    };
    callbacks.push_back(callbacks::ProgbarLogger(options));
  }
  for (const nb::handle object : objects) {
    if (nb::isinstance<Callback>(object)) {
      callbacks.push_back(nb::cast<const Callback&>(object));
    } else {
      callbacks.push_back(make_callback<PythonCallback>(nb::borrow(object)));
    }
  }
  return callbacks;
}

// --- data ---

// Passes of a Python iterable, whose elements are (x,), (x, y) or (x, y, sample_weight).
BatchSource source_of(const nb::object& iterable, std::int64_t size) {
  const nb::object data = iterable;
  return BatchSource(
      [data]() -> BatchSource::Pass {
        const Locked lock;
        const auto iterator = std::shared_ptr<PyObject>(nb::iter(data).release().ptr(), [](PyObject* o) {
          const Locked inner;
          Py_DECREF(o);
        });
        return [iterator]() -> std::optional<Batch> {
          const Locked inner;
          const nb::object item = nb::steal(PyIter_Next(iterator.get()));
          if (!item.is_valid()) {
            if (PyErr_Occurred() != nullptr) throw nb::python_error();
            return std::nullopt;
          }
          if (!PyTuple_Check(item.ptr())) return Batch{to_nest(item.ptr()), {}, {}};
          const Py_ssize_t n = PyTuple_GET_SIZE(item.ptr());
          const auto part = [&](Py_ssize_t i) { return i < n ? to_nest(PyTuple_GET_ITEM(item.ptr(), i)) : Nest(); };
          return Batch{part(0), part(1), part(2)};
        };
      },
      size < 0 ? std::nullopt : std::optional(size));
}

using ClassWeight = std::map<std::int64_t, double>;

template <class T>
T option(const nb::dict& options, const char* name, T otherwise) {
  if (!options.contains(name) || options[name].is_none()) return otherwise;
  return nb::cast<T>(options[name]);
}
std::optional<std::int64_t> number(const nb::dict& options, const char* name) {
  if (!options.contains(name) || options[name].is_none()) return std::nullopt;
  return nb::cast<std::int64_t>(options[name]);
}
nb::object object(const nb::dict& options, const char* name) {
  return options.contains(name) ? nb::object(options[name]) : nb::none();
}

Nest nest_option(const nb::dict& options, const char* name) { return to_nest(object(options, name).ptr()); }

// What fit, evaluate and predict are told alike.
template <class Options>
void read_common(const nb::dict& given, Options& options) {
  options.batch_size = option<std::int64_t>(given, "batch_size", 32);
  options.verbose = option(given, "verbose", 1);
  options.callbacks =
      callbacks_of(nb::cast<nb::list>(given["callbacks"]), options.verbose == 0 ? nb::none() : object(given, "print"));
}
EvaluateOptions evaluate_options(const nb::dict& given) {
  EvaluateOptions options;
  read_common(given, options);
  options.steps = number(given, "steps");
  return options;
}

// Runs on batches, or on x, y and weights, whichever were given; without the lock of Python.
template <class OnBatches, class OnTensors>
auto run_on(const nb::dict& given, const OnBatches& on_batches, const OnTensors& on_tensors) {
  if (nb::cast<bool>(given["is_batches"])) {
    const BatchSource batches = source_of(given["x"], nb::cast<std::int64_t>(given["size"]));
    const Unlocked unlocked;
    return on_batches(batches);
  }
  const Nest x = nest_option(given, "x"), y = nest_option(given, "y"), weight = nest_option(given, "sample_weight");
  const Unlocked unlocked;
  return on_tensors(x, y, weight);
}

// Epochs, the loss and metrics by name.
nb::tuple fit(const LayerHandle& handle, const nb::dict& given) {
  FitOptions options;
  read_common(given, options);
  options.epochs = option<std::int64_t>(given, "epochs", 1);
  options.validation_split = option(given, "validation_split", 0.0);
  options.shuffle = option(given, "shuffle", true);
  if (!object(given, "class_weight").is_none()) {
    options.class_weight = nb::cast<ClassWeight>(given["class_weight"]);
  }
  options.initial_epoch = option<std::int64_t>(given, "initial_epoch", 0);
  options.steps_per_epoch = number(given, "steps_per_epoch");
  options.validation_steps = number(given, "validation_steps");
  options.validation_batch_size = number(given, "validation_batch_size");
  options.validation_freq = nb::cast<std::vector<std::int64_t>>(given["validation_freq"]);
  const nb::object validation = object(given, "validation_data");
  if (!validation.is_none()) {
    if (nb::cast<bool>(given["validation_is_batches"])) {
      options.validation_data.emplace(source_of(validation, nb::cast<std::int64_t>(given["validation_size"])));
    } else {
      const auto part = [&](std::size_t i) {
        return i < nb::len(validation) ? to_nest(nb::object(validation[i]).ptr()) : Nest();
      };
      options.validation_data.emplace(part(0), part(1), part(2));
    }
  }
  const Model model = model_of(handle);
  const History history = run_on(
      given, [&](const BatchSource& batches) { return model.fit(batches, options); },
      [&](const Nest& x, const Nest& y, const Nest& weight) {
        options.sample_weight = weight;
        return model.fit(x, y, options);
      });
  return nb::make_tuple(history.epoch, history.history);
}

nb::list evaluate(const LayerHandle& handle, const nb::dict& given) {
  EvaluateOptions options = evaluate_options(given);
  const Model model = model_of(handle);
  const Evaluation found = run_on(
      given, [&](const BatchSource& batches) { return model.evaluate(batches, options); },
      [&](const Nest& x, const Nest& y, const Nest& weight) {
        options.sample_weight = weight;
        return model.evaluate(x, y, options);
      });
  nb::list list;
  list.append(nb::make_tuple("loss", found.loss));
  for (const auto& [name, value] : found.metrics) list.append(nb::make_tuple(name, value));
  return list;
}

nb::object predict(const LayerHandle& handle, const nb::dict& given) {
  const EvaluateOptions options = evaluate_options(given);
  const Model model = model_of(handle);
  const Nest found = run_on(
      given, [&](const BatchSource& batches) { return model.predict(batches, options); },
      [&](const Nest& x, const Nest&, const Nest&) { return model.predict(x, options); });
  return nb::steal(from_nest(found));
}

// One for all outputs, or one for each, in their order or by their names.
LossChoice losses_of(const nb::object& losses) {
  if (nb::isinstance<nb::dict>(losses)) {
    std::map<std::string, Loss> named;
    for (const auto& [name, loss] : nb::cast<nb::dict>(losses)) {
      named.emplace(nb::cast<std::string>(name), nb::cast<const Loss&>(loss));
    }
    return LossChoice(std::move(named));
  }
  if (!nb::isinstance<nb::list>(losses)) return LossChoice(nb::cast<const Loss&>(losses));
  std::vector<Loss> list;
  for (const nb::handle item : nb::cast<nb::list>(losses)) list.push_back(nb::cast<const Loss&>(item));
  return LossChoice(std::move(list));
}
std::vector<Metric> list_of_metrics(nb::handle list) {
  std::vector<Metric> metrics;
  for (const nb::handle item : nb::cast<nb::list>(list)) metrics.push_back(nb::cast<const Metric&>(item));
  return metrics;
}
MetricChoice metrics_of(const nb::object& metrics) {
  if (nb::isinstance<nb::dict>(metrics)) {
    std::map<std::string, std::vector<Metric>> named;
    for (const auto& [name, list] : nb::cast<nb::dict>(metrics)) {
      named.emplace(nb::cast<std::string>(name), list_of_metrics(list));
    }
    return MetricChoice(std::move(named));
  }
  const auto list = nb::cast<nb::list>(metrics);
  if (nb::len(list) == 0) return {};
  if (!nb::isinstance<nb::list>(list[0])) return MetricChoice(list_of_metrics(list));
  std::vector<std::vector<Metric>> lists;
  for (const nb::handle item : list) lists.push_back(list_of_metrics(item));
  return MetricChoice(std::move(lists));
}

void compile(const LayerHandle& handle, const nb::object& optimizer, const nb::object& loss,
             const nb::object& loss_weights, const nb::object& metrics, const nb::object& weighted, bool run_eagerly,
             std::int64_t steps_per_execution, const nb::object& describe) {
  CompileOptions options;
  if (!optimizer.is_none()) options.optimizer = nb::cast<const Optimizer&>(optimizer);
  if (!loss.is_none()) options.loss = losses_of(loss);
  if (nb::isinstance<nb::dict>(loss_weights)) {
    options.loss_weights = LossWeights(nb::cast<std::map<std::string, double>>(loss_weights));
  } else if (!loss_weights.is_none()) {
    options.loss_weights = LossWeights(nb::cast<std::vector<double>>(loss_weights));
  }
  options.metrics = metrics_of(metrics);
  options.weighted_metrics = metrics_of(weighted);
  options.run_eagerly = run_eagerly;
  options.steps_per_execution = steps_per_execution;
  options.describe = [held = std::make_shared<Held>(describe)]() -> std::optional<AttributeValue> {
    const Locked lock;
    try {
      const nb::object json = held->get()();
      if (json.is_none()) return std::nullopt;
      return AttributeValue::from_json(nb::cast<std::string>(json));
    } catch (const nb::python_error& error) {
      rethrow_as_value_error(error);
    }
  };
  model_of(handle).compile(options);
}

CallbackParams params_of(const nb::dict& given) {
  CallbackParams params;
  if (given.contains("epochs")) params.epochs = nb::cast<std::int64_t>(given["epochs"]);
  if (given.contains("verbose")) params.verbose = nb::cast<int>(given["verbose"]);
  if (given.contains("steps") && !given["steps"].is_none()) params.steps = nb::cast<std::int64_t>(given["steps"]);
  return params;
}

// A hook by its name, for loops in Python. What on_epoch_end() adds is in the logs afterwards.
void call_hook(Callbacks& callbacks, const std::string& hook, std::int64_t number, nb::dict logs) {
  Logs numbers;
  for (const auto& [name, value] : logs) {
    if (!nb::isinstance<nb::dict>(value)) numbers[nb::cast<std::string>(name)] = nb::cast<double>(nb::float_(value));
  }
  if (hook == "on_train_begin") return callbacks.on_train_begin();
  if (hook == "on_train_end") return callbacks.on_train_end(numbers);
  if (hook == "on_epoch_begin") return callbacks.on_epoch_begin(number);
  if (hook == "on_train_batch_begin") return callbacks.on_train_batch_begin(number);
  if (hook == "on_train_batch_end") return callbacks.on_train_batch_end(number, numbers);
  if (hook == "on_test_begin") return callbacks.on_test_begin();
  if (hook == "on_test_end") return callbacks.on_test_end(numbers);
  if (hook == "on_test_batch_begin") return callbacks.on_test_batch_begin(number);
  if (hook == "on_test_batch_end") return callbacks.on_test_batch_end(number, numbers);
  if (hook == "on_predict_begin") return callbacks.on_predict_begin();
  if (hook == "on_predict_end") return callbacks.on_predict_end();
  if (hook == "on_predict_batch_begin") return callbacks.on_predict_batch_begin(number);
  if (hook == "on_predict_batch_end") return callbacks.on_predict_batch_end(number, Nest());
  callbacks.on_epoch_end(number, numbers);
  for (const auto& [name, value] : numbers) logs[name.c_str()] = value;
}

}  // namespace

void add_models(nb::module_& m) {
  nb::class_<Callback>(m, "CallbackHandle").def("found", [](const Callback& callback) {
    return callback.body()->found();
  });
  nb::class_<Callbacks>(m, "CallbackHooks")
      .def("__init__", [](Callbacks* self, const Callback& callback, const LayerHandle& h,
                          const nb::dict& params) { new (self) Callbacks({callback}, model_of(h), params_of(params)); })
      .def("call", &call_hook);
  m.def("make_callback_of", [](const AttributeValue& config) {
    return Callback(std::static_pointer_cast<CallbackBody>(deserialize("callback", config)));
  });
  m.def("compile", &compile, nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg());
  m.def("output_of", [](const LayerHandle& h, const std::string& layer) {
    return nb::steal(from_nest(model_of(h).output_of(layer)));
  });
  m.def("model_inputs", [](const LayerHandle& h) { return nb::steal(from_nest(model_of(h).inputs())); });
  m.def("model_outputs", [](const LayerHandle& h) { return nb::steal(from_nest(model_of(h).outputs())); });
  m.def("fit", &fit);
  m.def("evaluate", &evaluate);
  m.def("predict", &predict);
  m.def(
      "train_on_batch",
      [](const LayerHandle& h, nb::handle x, nb::handle y, nb::handle weight, const ClassWeight& class_weight) {
        return model_of(h).train_on_batch(to_nest(x.ptr()), to_nest(y.ptr()),
                                          {.sample_weight = to_nest(weight.ptr()), .class_weight = class_weight});
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
  m.def(
      "test_on_batch",
      [](const LayerHandle& h, nb::handle x, nb::handle y, nb::handle weight) {
        return model_of(h).test_on_batch(to_nest(x.ptr()), to_nest(y.ptr()), {.sample_weight = to_nest(weight.ptr())});
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  m.def(
      "summary",
      [](const LayerHandle& h, std::optional<int> line_length, const std::vector<double>& positions, bool expand_nested,
         bool show_trainable, const std::vector<std::string>& range) {
        SummaryOptions options{.line_length = line_length,
                               .show_trainable = show_trainable,
                               .expand_nested = expand_nested,
                               .positions = positions};
        if (range.size() == 2) options.layer_range.emplace(range[0], range[1]);
        return model_of(h).summary(options);
      },
      nb::arg(), nb::arg().none() = nb::none(), nb::arg() = std::vector<double>(), nb::arg() = false, nb::arg() = false,
      nb::arg() = std::vector<std::string>());
  m.def("stop_training", [](const LayerHandle& h) { return model_of(h).stop_training(); });
  m.def("set_stop_training", [](const LayerHandle& h, bool stop) { model_of(h).set_stop_training(stop); });
  m.def("model_metrics", [](const LayerHandle& h) { return model_of(h).metrics(); });
  m.def("compute_loss_of", [](const LayerHandle& h) { return model_of(h).is_compiled(); });
  m.def("model_optimizer", [](const LayerHandle& h) -> nb::object {
    const Model model = model_of(h);
    return model.is_compiled() ? nb::cast(model.optimizer()) : nb::none();
  });
  m.def(
      "save_model",
      [](const LayerHandle& h, const std::string& path, bool overwrite, bool optimizer) {
        model_of(h).save(path, {.overwrite = overwrite, .include_optimizer = optimizer});
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg());
  m.def("load_model", [](const std::string& path, bool compile, const nb::object& compile_with) {
    const auto with = [&](const Model& model, const AttributeValue& config) {
      try {
        compile_with(LayerHandle{model}, config.to_json());
      } catch (const nb::python_error& error) {
        rethrow_as_value_error(error);
      }
    };
    return LayerHandle{load_model(path, {.compile = compile, .compile_with = with})};
  });
  m.def("compile_from_config", [](const LayerHandle& h, const std::string& config) {
    model_of(h).compile_from_config(AttributeValue::from_json(config));
  });
  m.def("save_weights", [](const LayerHandle& h, const std::string& path, bool overwrite) {
    model_of(h).save_weights(path, overwrite);
  });
  m.def("load_weights",
        [](const LayerHandle& h, const std::string& path, bool skip) { model_of(h).load_weights(path, skip); });
  m.def("model_to_json", [](const LayerHandle& h) { return model_of(h).to_json(); });
  m.def("model_from_json", [](const std::string& json) { return LayerHandle{model_from_json(json)}; });
  m.def("to_categorical",
        [](nb::handle labels, std::int64_t classes) { return to_categorical(to_tensor(labels.ptr()), classes); });
  nb::class_<Progbar>(m, "Progbar")
      .def("update", &Progbar::update, nb::arg(), nb::arg(), nb::arg().none())
      .def("add", &Progbar::add);
  m.def(
      "make_progbar",
      [](std::optional<std::int64_t> target, int width, int verbose, double interval,
         const std::vector<std::string>& stateful, const std::optional<std::vector<std::string>>& stateless,
         const std::string& unit, const nb::object& print) {
        return Progbar(target, {.width = width,
                                .verbose = verbose,
                                .interval = interval,
                                .stateful_metrics = stateful,
                                .stateless_metrics = stateless,
                                .unit_name = unit,
                                .print = [print](const std::string& text) {
                                  const Locked lock;
                                  print(text);
                                }});
      },
      nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
  m.def("load_images", [](const std::string& kind, const std::string& folder, const std::string& label_mode) {
    const auto [train, test] = kind == "mnist"           ? datasets::mnist::load_data(folder)
                               : kind == "fashion_mnist" ? datasets::fashion_mnist::load_data(folder)
                               : kind == "cifar10"       ? datasets::cifar10::load_data(folder)
                                                         : datasets::cifar100::load_data(folder, label_mode);
    return nb::make_tuple(nb::make_tuple(train.first, train.second), nb::make_tuple(test.first, test.second));
  });
  m.def(
      "load_words",
      [](const std::string& kind, const std::string& path, double test_split, std::optional<std::int64_t> num_words,
         std::int64_t skip_top, std::optional<std::int64_t> maxlen, std::uint32_t seed, std::optional<int> start_char,
         std::optional<int> oov_char, int index_from) {
        const datasets::WordOptions options{.num_words = num_words,
                                            .skip_top = skip_top,
                                            .maxlen = maxlen,
                                            .seed = seed,
                                            .start_char = start_char,
                                            .oov_char = oov_char,
                                            .index_from = index_from};
        const auto [train, test] = kind == "imdb" ? datasets::imdb::load_data(path, options)
                                                  : datasets::reuters::load_data(path, options, test_split);
        return nb::make_tuple(nb::make_tuple(train.first, train.second), nb::make_tuple(test.first, test.second));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none(),
      nb::arg().none(), nb::arg());
}

}  // namespace capstan::python
