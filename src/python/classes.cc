// The library's classes of losses, metrics, optimizers and all else that has a table of options: what Python makes its
// classes from (capstan/keras/_tables.py), and handles to their objects.
//
// Options travel as configurations. What is no data, a function of Python where an option takes one, is lent under a
// key that no other process and no file can know: the class "PythonFunction", which every kind has, finds it by the
// key.
#include <map>
#include <random>

#include "capstan/activations.h"
#include "capstan/config.h"
#include "capstan/constraints.h"
#include "capstan/initializers.h"
#include "capstan/layers/core.h"
#include "capstan/losses.h"
#include "capstan/metrics.h"
#include "capstan/optimizers.h"
#include "capstan/regularizers.h"
#include "capstan/schedules.h"
#include "src/python/graph_layers.h"
#include "src/python/layers.h"
#include "src/python/nest.h"
#include "src/python/own_classes.h"

namespace capstan::python {

namespace {

// --- functions of Python as options ---

std::map<std::string, PyObject*>& lent() {
  static auto* const functions = new std::map<std::string, PyObject*>;
  return *functions;
}

// What was lent under this key, or null.
nb::handle find_lent(const std::string& key) {
  const auto found = lent().find(key);
  return found == lent().end() ? nullptr : found->second;
}

// The function that was lent under a key, or that a file names.
nb::object find_function(const std::string& key, const std::string& name) {
  const Locked lock;
  if (const nb::handle found = find_lent(key)) return nb::borrow(found);
  static PyObject* const function_of = import_from("capstan.keras._saving", "function_of");
  if (function_of == nullptr) throw nb::python_error();
  const nb::object function = nb::handle(function_of)(name);
  if (function.is_none()) {
    throw ValueError("there is no function \"" + name +
                     "\"\n  help: give it as custom_objects, or register it with register_keras_serializable");
  }
  return function;
}

// A function of Python, held for as long as the object that calls it lives.
class HeldFunction {
 public:
  HeldFunction(const std::string& key, const std::string& name) : function_(find_function(key, name)) {}

  template <class... Arguments>
  Tensor operator()(const Arguments&... arguments) const {
    const Locked lock;
    return to_tensor(function_.get()(arguments...).ptr());
  }
  template <class... Arguments>
  double number(const Arguments&... arguments) const {
    const Locked lock;
    return to_tensor(function_.get()(arguments...).ptr()).template item<double>();
  }

 private:
  const Held function_;
};

struct FunctionOptions_ {
  std::string key = {};
  std::string function = {};  // its name in files
  static std::span<const OptionField> fields() {
    using O = FunctionOptions_;
    static constexpr OptionField all[] = {option<&O::key>("key", true), option<&O::function>("function")};
    return all;
  }
};

// A layer whose class is Python's, as an option of another: the one that was lent.
std::shared_ptr<Configurable> lent_layer(const ClassInfo&, const AttributeValue& config) {
  const Locked lock;
  const AttributeValue* const key = config.find("key");
  const nb::handle layer = find_lent(key == nullptr ? std::string() : key->text);
  if (!layer) throw ValueError("PythonLayer: the layer is not one of this program");
  return nb::cast<const LayerHandle&>(layer.attr("_handle")).body;
}
const ClassInfo& python_layer_class() {
  static const ClassInfo info{
      LayerBase::kKind,         LayerBase::kModule, "PythonLayer", "A layer whose class is Python's.",
      FunctionOptions_::fields, &lent_layer};
  return info;
}

template <class Derived, class Base>
struct OfPython : Configured<Derived, Base, FunctionOptions_> {
  static constexpr std::string_view kName = "PythonFunction", kText = "A function of Python.";
  explicit OfPython(const FunctionOptions_& given)
      : Configured<Derived, Base, FunctionOptions_>(given), function(given.key, given.function) {}
  HeldFunction function;
};

struct PythonActivation : OfPython<PythonActivation, ActivationBody> {
  using OfPython::OfPython;
  Tensor call(Tensor x) const override { return function(x); }
};
struct PythonInitializer : OfPython<PythonInitializer, InitializerBody> {
  using OfPython::OfPython;
  Tensor value(const Shape& shape, DType dtype) const override { return function(shape, dtype); }
};
struct PythonRegularizer : OfPython<PythonRegularizer, RegularizerBody> {
  using OfPython::OfPython;
  Tensor penalty(const Tensor& weight) const override { return function(weight); }
};
struct PythonConstraint : OfPython<PythonConstraint, ConstraintBody> {
  using OfPython::OfPython;
  Tensor project(const Tensor& weight) const override { return function(weight); }
};
struct PythonSchedule : OfPython<PythonSchedule, ScheduleBody> {
  using OfPython::OfPython;
  double rate(std::int64_t step) const override { return function.number(step); }
};

// --- tables ---

nb::list classes_of(const std::string& kind) {
  nb::list list;
  for (const ClassInfo* info : list_classes(kind)) {
    if (is_own_class(*info)) continue;
    nb::list options;
    for (const OptionField& field : info->options()) {
      options.append(nb::make_tuple(std::string(field.name), field.required));
    }
    list.append(nb::make_tuple(
        std::string(info->name), std::string(info->module), std::string(info->text), std::string(info->alias),
        info->make != nullptr, options,
        nb::steal(from_attribute(info->defaults == nullptr ? AttributeValue::map() : info->defaults(*info)))));
  }
  return list;
}

// --- handles ---

Tensor weight_of(nb::handle o) { return o.is_none() ? Tensor() : to_tensor(o.ptr()); }

// A metric whose class is Python's.
class PythonMetric final : public MetricBody {
 public:
  explicit PythonMetric(nb::handle metric) : metric_(metric) {}
  const ClassInfo& class_info() const override {
    static const ClassInfo info{kKind, kModule, "Metric", "A metric of the program.", {}};
    return info;
  }
  const void* options_data() const override { return nullptr; }
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& weight) override {
    const Locked lock;
    const nb::object update = metric_.get().attr("update_state");
    if (weight.has_value()) {
      update(y_true, y_pred, weight);
    } else {
      update(y_true, y_pred);
    }
  }
  Tensor result() const override {
    const Locked lock;
    return to_tensor(metric_.get().attr("result")().ptr());
  }
  void reset_state() override {
    const Locked lock;
    metric_.get().attr("reset_state")();
  }

 private:
  const Held metric_;
};

// Labels beside predictions keep their own dtype, as losses convert them.
Tensor call_loss(const Loss& loss, nb::handle y_true, nb::handle y_pred, nb::handle weight) {
  return loss(to_tensor(y_true.ptr()), to_tensor(y_pred.ptr()), weight_of(weight));
}

void add_losses_and_metrics(nb::module_& m) {
  nb::class_<Loss>(m, "LossHandle")
      .def("call", &call_loss, nb::arg("y_true"), nb::arg("y_pred"), nb::arg("sample_weight").none() = nb::none())
      .def_prop_ro("name", [](const Loss& loss) { return loss.name(); })
      .def("get_config", [](const Loss& loss) { return loss.get_config(); });
  m.def("make_loss", [](const AttributeValue& config) { return losses::get(config); });
  m.def("loss_of_function", [](const nb::object& f, const std::string& reduction) {
    const nb::object function = f;
    return Loss(
        [function](const Tensor& y_true, const Tensor& y_pred) {
          const Locked lock;
          return to_tensor(function(y_true, y_pred).ptr());
        },
        reduction);
  });

  nb::class_<Metric>(m, "MetricHandle")
      .def(
          "update",
          [](const Metric& metric, nb::handle y_true, nb::handle y_pred, nb::handle weight) {
            metric.update_state(to_tensor(y_true.ptr()), to_tensor(y_pred.ptr()), weight_of(weight));
          },
          nb::arg(), nb::arg(), nb::arg().none())
      .def(
          "update_values",
          [](const Metric& metric, nb::handle values, nb::handle weight) {
            const Tensor t = to_tensor(values.ptr());
            metric.body()->update_state(t, t, weight_of(weight));
          },
          nb::arg(), nb::arg().none())
      .def("result", &Metric::result)
      .def("reset_state", &Metric::reset_state)
      .def_prop_ro("variables", &Metric::variables)
      .def_prop_ro("name", [](const Metric& metric) { return metric.name(); })
      .def_prop_ro("class_name", [](const Metric& metric) { return std::string(metric.body()->class_info().name); })
      .def("get_config", [](const Metric& metric) { return metric.get_config(); });
  m.def("binary_accuracy", [](nb::handle y_true, nb::handle y_pred, double threshold) {
    return metrics::binary_accuracy(to_tensor(y_true.ptr()), to_tensor(y_pred.ptr()), {.threshold = threshold});
  });
  m.def("categorical_accuracy", [](nb::handle y_true, nb::handle y_pred) {
    return metrics::categorical_accuracy(to_tensor(y_true.ptr()), to_tensor(y_pred.ptr()));
  });
  m.def("sparse_categorical_accuracy", [](nb::handle y_true, nb::handle y_pred) {
    return metrics::sparse_categorical_accuracy(to_tensor(y_true.ptr()), to_tensor(y_pred.ptr()));
  });
  m.def("top_k_categorical_accuracy", [](nb::handle y_true, nb::handle y_pred, std::int64_t k) {
    return metrics::top_k_categorical_accuracy(to_tensor(y_true.ptr()), to_tensor(y_pred.ptr()), {.k = k});
  });
  m.def("sparse_top_k_categorical_accuracy", [](nb::handle y_true, nb::handle y_pred, std::int64_t k) {
    return metrics::sparse_top_k_categorical_accuracy(to_tensor(y_true.ptr()), to_tensor(y_pred.ptr()), {.k = k});
  });
  m.def("metric_of_object", [](const nb::object& metric, const std::string& name) {
    return Metric(std::make_shared<PythonMetric>(metric), name);
  });
  m.def("make_metric", [](const AttributeValue& config) { return metrics::get(config); });
  m.def("metric_of_name", [](const std::string& name) { return Metric(name); });
  m.def("metric_of_function", [](const nb::object& f, const std::string& name) {
    const nb::object function = f;
    return Metric(
        [function](const Tensor& y_true, const Tensor& y_pred) {
          const Locked lock;
          return to_tensor(function(y_true, y_pred).ptr());
        },
        name);
  });
}

void add_optimizers(nb::module_& m) {
  nb::class_<Optimizer>(m, "OptimizerHandle")
      .def("apply",
           [](const Optimizer& optimizer, nb::handle gradients, nb::handle variables) {
             std::vector<Tensor> g;
             std::vector<Variable> v;
             for (const nb::handle item : gradients) g.push_back(weight_of(item));
             for (const nb::handle item : variables) {
               if (!is_variable(item.ptr())) throw nb::type_error("apply_gradients: updates are for variables");
               v.push_back(variable_of(item.ptr()));
             }
             optimizer.apply_gradients(g, v);
           })
      .def("build",
           [](const Optimizer& optimizer, const std::vector<Variable>& variables) { optimizer.build(variables); })
      .def_prop_ro("iterations", &Optimizer::iterations)
      .def_prop_rw("learning_rate", &Optimizer::learning_rate, &Optimizer::set_learning_rate)
      .def_prop_ro("variables", &Optimizer::variables)
      .def_prop_ro("averages", &Optimizer::averages)
      .def("scale_loss", &Optimizer::scale_loss)
      .def("exclude_from_weight_decay", &Optimizer::exclude_from_weight_decay)
      .def("finalize_variable_values", &Optimizer::finalize_variable_values)
      .def_prop_ro("name", [](const Optimizer& optimizer) { return optimizer.name(); })
      .def_prop_ro("class_name",
                   [](const Optimizer& optimizer) { return optimizers::serialize(optimizer).find("class_name")->text; })
      .def("get_config", [](const Optimizer& optimizer) { return optimizer.get_config(); });
  m.def("make_optimizer", [](const AttributeValue& config) { return optimizers::get(config); });
}

}  // namespace

void add_classes(nb::module_& m) {
  register_class(python_layer_class(), "capstan");
  register_class<PythonActivation>("capstan");
  register_class<PythonInitializer>("capstan");
  register_class<PythonRegularizer>("capstan");
  register_class<PythonConstraint>("capstan");
  register_class<PythonSchedule>("capstan");
  m.def("classes_of", &classes_of);
  m.def("lend", [](const std::string& key, const nb::object& function) { lent()[key] = Py_NewRef(function.ptr()); });
  m.def("take_back", [](const std::string& key) {
    const auto found = lent().find(key);
    if (found == lent().end()) return;
    Py_DECREF(found->second);
    lent().erase(found);
  });
  add_losses_and_metrics(m);
  add_optimizers(m);

  nb::class_<ActivationFunction>(m, "ActivationHandle").def("call", [](const ActivationFunction& f, nb::handle x) {
    const Tensor given = to_tensor(x.ptr());
    return is_in_graph(given) ? Layer(layers::Activation(f))(given) : f(given);
  });
  m.def("make_activation", [](const AttributeValue& config) { return activations::get(config); });
  nb::class_<Initializer>(m, "InitializerHandle")
      .def(
          "call",
          [](const Initializer& f, nb::handle shape, nb::handle dtype) {
            return f(to_shape(shape.ptr()), dtype.is_none() ? floatx() : to_dtype(dtype.ptr()));
          },
          nb::arg(), nb::arg().none());
  m.def("make_initializer", [](const AttributeValue& config) { return initializers::get(config); });
  nb::class_<Regularizer>(m, "RegularizerHandle").def("call", [](const Regularizer& f, nb::handle x) {
    return f(to_tensor(x.ptr()));
  });
  m.def("make_regularizer", [](const AttributeValue& config) { return regularizers::get(config); });
  nb::class_<Constraint>(m, "ConstraintHandle").def("call", [](const Constraint& f, nb::handle x) {
    return f(to_tensor(x.ptr()));
  });
  m.def("make_constraint", [](const AttributeValue& config) { return constraints::get(config); });
  nb::class_<Schedule>(m, "ScheduleHandle").def("call", [](const Schedule& f, std::int64_t step) { return f(step); });
  m.def("make_schedule", [](const AttributeValue& config) { return schedules::get(config); });
}

}  // namespace capstan::python
