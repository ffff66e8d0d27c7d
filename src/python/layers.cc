// Layers and models as Python sees them, and bodies of layers whose class is Python's.
#include "src/python/layers.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/function.h>

#include <algorithm>
#include <array>

#include "capstan/config.h"
#include "capstan/layers.h"
#include "capstan/utils.h"
#include "src/python/graph_layers.h"
#include "src/python/own_classes.h"

namespace capstan::python {

PythonSide::~PythonSide() {
  if (object == nullptr || Py_IsInitialized() == 0) return;
  const Locked lock;
  Py_CLEAR(object);
}

CallOptions call_options(nb::handle training, nb::handle mask) {
  CallOptions options;
  if (!training.is_none()) options.training = PyObject_IsTrue(training.ptr()) != 0;
  if (!mask.is_none()) options.mask = to_nest(mask.ptr());
  return options;
}

namespace {

// A body whose `build` and `call` are methods of a Python object.
template <class Base>
class PythonBody : public Base {
 public:
  // `info` is of own_class(), so its name ends with a zero and stays.
  PythonBody(const ClassInfo& info, const std::string& name, bool trainable, const std::string& dtype)
      : Base(info.name.data(),
             LayerOptions{
                 .name = name, .trainable = trainable, .dtype = dtype.empty() ? DTypePolicy() : DTypePolicy(dtype)}),
        info_(info) {}

  const ClassInfo& class_info() const override { return info_; }
  AttributeValue get_config() const override {
    register_own_class(info_);
    const Locked lock;
    return to_attribute(method("_config_of_file")().ptr());
  }

  using Base::add_loss;
  using Base::add_weight;
  using Base::set_activity_regularizer;
  using Base::takes_each_tensor;
  using Base::track;

  PythonSide side;

 protected:
  void build(const std::vector<Shape>& shapes) override {
    const Locked lock;
    nb::list list;
    for (const Shape& shape : shapes) list.append(steal(wrap(shape)));
    method("_build_for")(list);
  }

  Nest call(const Nest& inputs, const CallOptions& options) override {
    const Locked lock;
    const nb::object given = as_given(inputs);
    nb::dict named;
    if (side.takes_training) named["training"] = bool{options.training};
    if (side.takes_mask) named["mask"] = nb::steal(from_nest(options.mask));
    const nb::object result =
        side.takes_states ? method("call")(given[0], given[1], **named) : method("call")(given, **named);
    return to_nest(result.ptr());
  }

  Nest compute_mask(const Nest& inputs, const Nest& mask) override {
    const Locked lock;
    if (side.computes_mask) {
      const nb::object given = nb::steal(from_nest(inputs));
      return to_nest(method("compute_mask")(given, nb::steal(from_nest(mask))).ptr());
    }
    if (nb::cast<bool>(method("supports_masking"))) return mask;
    return Base::compute_mask(inputs, mask);
  }

  nb::object method(const char* name) const {
    if (side.object == nullptr) throw ValueError("layer: the Python object of this layer is gone");
    return steal(PyObject_GetAttrString(side.object, name));
  }

  // What Python's `call` is given.
  virtual nb::object as_given(const Nest& inputs) { return nb::steal(from_nest(inputs)); }

 private:
  const ClassInfo& info_;
};

// The names of a class: its own, the package and the module.
using ClassNames = std::array<std::string, 3>;
const ClassInfo& class_of(const ClassNames& names) { return own_class(names[0], names[1], names[2]); }

// A layer, which may be a cell: then its `call` takes states, and `state_size` says of which lengths.
class PythonLayer final : public PythonBody<layers::CellBody> {
 public:
  using PythonBody::PythonBody;
  std::vector<Shape> state_shapes(const Shape&) const override {
    const Locked lock;
    if (!side.takes_states) throw ValueError("RNN: the layer is no cell: its call() takes no `states`");
    const nb::object sizes = method("state_size");
    std::vector<Shape> shapes;
    for (const nb::handle size : nb::isinstance<nb::int_>(sizes) ? nb::make_tuple(sizes) : nb::tuple(sizes)) {
      shapes.push_back(nb::isinstance<nb::int_>(size) ? Shape{nb::cast<std::int64_t>(size)} : to_shape(size.ptr()));
    }
    return shapes;
  }
};

StepLogs logs_of(const nb::object& logs) {
  StepLogs numbers;
  for (const auto& [key, value] : nb::cast<nb::dict>(logs)) {
    numbers.emplace(nb::cast<std::string>(key), to_tensor(value.ptr()));
  }
  return numbers;
}
nb::dict dict_of(const StepLogs& logs) {
  nb::dict made;
  for (const auto& [name, value] : logs) made[name.c_str()] = nb::steal(wrap(value));
  return made;
}

// A model, whose steps may be Python's, too.
class PythonModel final : public PythonBody<ModelBodyOf<Nest(Nest)>> {
 public:
  using PythonBody::PythonBody;
  bool has_train_step = false, has_test_step = false, has_compute_loss = false, has_compute_metrics = false,
       has_predict_step = false;

  using ModelBodyOf::add_metrics;
  // What the class that Python's derives from does.
  nb::dict base_train_step(const Batch& batch) { return dict_of(PythonBody::train_step(batch)); }
  nb::dict base_test_step(const Batch& batch) { return dict_of(PythonBody::test_step(batch)); }
  Tensor base_compute_loss(const Batch& batch, const Nest& y_pred, Training training) {
    return PythonBody::compute_loss(batch, y_pred, training);
  }
  nb::dict base_compute_metrics(const Batch& batch, const Nest& y_pred) {
    return dict_of(PythonBody::compute_metrics(batch, y_pred));
  }

 protected:
  // A model of the library leaves floating inputs to its layers; `call` of a class of Python's may compute with them,
  // so they have its dtype, as in Keras.
  nb::object as_given(const Nest& inputs) override {
    const auto converted = [&](const Tensor& x) {
      return x.has_value() && is_floating(x.dtype()) && x.dtype() != compute_dtype() ? cast(x, compute_dtype()) : x;
    };
    if (inputs.is_tensor()) return nb::steal(wrap(converted(inputs.tensor())));
    return map_leaves(PythonBody::as_given(inputs).ptr(), [&](PyObject* leaf) {
      return is_tensor(leaf) ? wrap(converted(tensor_of(leaf))) : Py_NewRef(leaf);
    });
  }

  StepLogs train_step(const Batch& batch) override {
    return has_train_step ? call_step("train_step", batch) : PythonBody::train_step(batch);
  }
  StepLogs test_step(const Batch& batch) override {
    return has_test_step ? call_step("test_step", batch) : PythonBody::test_step(batch);
  }
  Nest predict_step(const Nest& x) override {
    if (!has_predict_step) return PythonBody::predict_step(x);
    const Locked lock;
    return to_nest(method("predict_step")(nb::steal(from_nest(x))).ptr());
  }
  Tensor compute_loss(const Batch& batch, const Nest& y_pred, Training training) override {
    if (!has_compute_loss) return PythonBody::compute_loss(batch, y_pred, training);
    const Locked lock;
    return to_tensor(call_with("_compute_loss", batch, y_pred, static_cast<bool>(training)).ptr());
  }
  StepLogs compute_metrics(const Batch& batch, const Nest& y_pred) override {
    if (!has_compute_metrics) return PythonBody::compute_metrics(batch, y_pred);
    const Locked lock;
    return logs_of(call_with("compute_metrics", batch, y_pred));
  }

 private:
  StepLogs call_step(const char* name, const Batch& batch) {
    const Locked lock;
    // As in Keras: inputs alone stand for themselves, unless they are a list or a tuple.
    const bool is_alone = !batch.y.has_value() && !batch.sample_weight.has_value();
    const nb::object x = nb::steal(from_nest(batch.x));
    if (is_alone && !nb::isinstance<nb::tuple>(x) && !nb::isinstance<nb::list>(x)) return logs_of(method(name)(x));
    nb::list data;
    data.append(x);
    if (!is_alone) data.append(nb::steal(from_nest(batch.y)));
    if (batch.sample_weight.has_value()) data.append(nb::steal(from_nest(batch.sample_weight)));
    return logs_of(method(name)(nb::tuple(data)));
  }
  template <class... More>
  nb::object call_with(const char* name, const Batch& batch, const Nest& y_pred, const More&... more) {
    return method(name)(nb::steal(from_nest(batch.x)), nb::steal(from_nest(batch.y)), nb::steal(from_nest(y_pred)),
                        nb::steal(from_nest(batch.sample_weight)), more...);
  }
};

PythonModel& python_model(const LayerHandle& handle) {
  auto* const model = dynamic_cast<PythonModel*>(handle.body.get());
  if (model == nullptr)
    throw nb::type_error("this model is one of the library's, whose steps are fit() and evaluate()");
  return *model;
}
Batch batch_of(nb::handle x, nb::handle y, nb::handle sample_weight) {
  return {to_nest(x.ptr()), to_nest(y.ptr()), to_nest(sample_weight.ptr())};
}

// The first handle of a body, which LayerOf would make, of one that is also held here.
template <class Handle>
struct First : Handle {
  explicit First(std::shared_ptr<LayerBase> body) : Handle(std::move(body)) {}
};

template <class Body, class Handle>
LayerHandle handle_of(const std::shared_ptr<Body>& body, nb::handle object, bool takes_training, bool takes_mask) {
  body->side.object = Py_NewRef(object.ptr());
  body->side.takes_training = takes_training;
  body->side.takes_mask = takes_mask;
  Body* const b = body.get();
  LayerHandle handle{First<Handle>(body)};
  handle.body = body;
  handle.side = &b->side;
  handle.track = [b](const std::vector<Layer>& layers) {
    for (const Layer& layer : layers) b->track({layer});
  };
  handle.track_member = [b](const Layer& layer, const std::string& member) { b->track(layer, member); };
  handle.takes_each_tensor = [b] { b->takes_each_tensor(); };
  handle.track_variable = [b](const Variable& variable) { b->track(variable); };
  handle.add_weight = [b](const WeightOptions& options) { return b->add_weight(options); };
  handle.add_loss = [b](Tensor loss) { b->add_loss(std::move(loss)); };
  handle.set_activity_regularizer = [b](const Regularizer& r) { b->set_activity_regularizer(r); };
  return handle;
}

InputOptions input_options(nb::handle batch_size, nb::handle dtype, const std::string& name) {
  InputOptions options;
  if (!batch_size.is_none()) options.batch_size = nb::cast<std::int64_t>(batch_size);
  if (!dtype.is_none()) options.dtype = to_dtype(dtype.ptr());
  options.name = name;
  return options;
}

// The handle's own and that of `layer`: nothing else holds the body.
bool is_only_holder(const LayerHandle& handle) { return handle.body != nullptr && handle.body.use_count() == 2; }

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const LayerHandle& handle = *nb::inst_ptr<LayerHandle>(self);
  if (is_only_holder(handle)) Py_VISIT(handle.side->object);
  return 0;
}
int clear(PyObject* self) {
  LayerHandle& handle = *nb::inst_ptr<LayerHandle>(self);
  if (is_only_holder(handle)) Py_CLEAR(handle.side->object);
  return 0;
}
PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

nb::list variables(const std::vector<Variable>& list) {
  nb::list made;
  for (const Variable& v : list) made.append(steal(wrap(v)));
  return made;
}

LayerHandle& need_python(LayerHandle& handle) {
  if (handle.body == nullptr) throw nb::type_error("this layer is one of the library's");
  return handle;
}

}  // namespace

void add_layers(nb::module_& m) {
  nb::class_<LayerHandle>(m, "LayerHandle", nb::type_slots(slots))
      .def(
          "call",
          [](const LayerHandle& h, nb::handle inputs, nb::handle training, nb::handle mask) {
            return nb::steal(from_nest(h.layer(to_nest(inputs.ptr()), call_options(training, mask))));
          },
          nb::arg(), nb::arg().none() = nb::none(), nb::arg().none() = nb::none())
      .def(
          "call_rnn",
          [](const LayerHandle& h, nb::handle inputs, nb::handle training, nb::handle mask, nb::handle state) {
            CallOptions options = call_options(training, mask);
            if (!state.is_none()) options.initial_state = to_nest(state.ptr());
            return nb::steal(from_nest(h.layer(to_nest(inputs.ptr()), options)));
          },
          nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none())
      .def(
          "call_attention",
          [](const LayerHandle& h, nb::handle inputs, nb::handle training, nb::handle mask, nb::handle attention_mask,
             bool causal, bool scores) {
            CallOptions options = call_options(training, mask);
            if (!attention_mask.is_none()) options.attention_mask = to_tensor(attention_mask.ptr());
            options.use_causal_mask = causal;
            options.return_attention_scores = scores;
            return nb::steal(from_nest(h.layer(to_nest(inputs.ptr()), options)));
          },
          nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg())
      .def("build",
           [](const LayerHandle& h, const nb::list& shapes) {
             std::vector<Shape> list;
             for (const nb::handle shape : shapes) list.push_back(to_shape(shape.ptr()));
             h.layer.build_all(list);
           })
      .def_prop_ro("name", [](const LayerHandle& h) { return h.layer.name(); })
      .def_prop_ro("type_name", [](const LayerHandle& h) { return h.layer.type_name(); })
      .def_prop_ro("built", [](const LayerHandle& h) { return h.layer.is_built(); })
      .def_prop_ro("weights", [](const LayerHandle& h) { return variables(h.layer.weights()); })
      .def_prop_ro("trainable_variables", [](const LayerHandle& h) { return variables(h.layer.trainable_variables()); })
      .def_prop_ro("non_trainable_variables",
                   [](const LayerHandle& h) { return variables(h.layer.non_trainable_variables()); })
      .def("count_params", [](const LayerHandle& h) { return h.layer.count_params(); })
      .def_prop_rw(
          "trainable", [](const LayerHandle& h) { return h.layer.trainable(); },
          [](const LayerHandle& h, bool trainable) { h.layer.set_trainable(trainable); })
      .def_prop_ro("dtype", [](const LayerHandle& h) { return h.layer.dtype(); })
      .def_prop_ro("compute_dtype", [](const LayerHandle& h) { return h.layer.compute_dtype(); })
      .def_prop_ro("losses", [](const LayerHandle& h) { return h.layer.losses(); })
      .def_prop_ro("sublayers",
                   [](const LayerHandle& h) {
                     std::vector<LayerHandle> list;
                     for (const Layer& layer : h.layer.sublayers()) list.push_back(LayerHandle{layer});
                     return list;
                   })
      .def("set_weights",
           [](const LayerHandle& h, const nb::list& values) {
             const std::vector<Variable>& weights = h.layer.weights();
             std::vector<Tensor> tensors;
             for (const nb::handle value : values) {
               const std::size_t i = tensors.size();
               DType dtype = i < weights.size() ? weights[i].dtype() : float32;
               tensors.push_back(to_tensor(value.ptr(), {&dtype, true}));
             }
             h.layer.set_weights(tensors);
           })
      .def("get_config", [](const LayerHandle& h) { return h.layer.get_config(); })
      .def(
          "set_option",
          [](const LayerHandle& h, const std::string& name, const AttributeValue& value) {
            h.layer.set_option(name, value);
          },
          nb::arg(), nb::arg().none())
      .def("serialize", [](const LayerHandle& h) { return serialize(h.layer); })
      .def("is_same",
           [](const LayerHandle& a, const LayerHandle& b) {
             return &a.layer.name() == &b.layer.name();  // the name lies in the body
           })
      .def_prop_ro("key", [](const LayerHandle& h) { return reinterpret_cast<std::uintptr_t>(&h.layer.name()); })
      // Of classes of Python's.
      .def_prop_ro("object",
                   [](const LayerHandle& h) -> nb::object {
                     return h.side == nullptr || h.side->object == nullptr ? nb::none() : nb::borrow(h.side->object);
                   })
      .def("track", [](LayerHandle& h, const LayerHandle& sublayer) { need_python(h).track({sublayer.layer}); })
      .def("track_member", [](LayerHandle& h, const LayerHandle& sublayer,
                              const std::string& member) { need_python(h).track_member(sublayer.layer, member); })
      .def("takes_each_tensor", [](LayerHandle& h) { need_python(h).takes_each_tensor(); })
      .def("track_variable", [](LayerHandle& h, const Variable& v) { need_python(h).track_variable(v); })
      .def("add_loss", [](LayerHandle& h, nb::handle loss) { need_python(h).add_loss(to_tensor(loss.ptr())); })
      .def("set_activity_regularizer",
           [](LayerHandle& h, const AttributeValue& config) {
             need_python(h).set_activity_regularizer(regularizers::get(config));
           })
      .def(
          "add_weight",
          [](LayerHandle& h, const std::string& name, nb::handle shape, const AttributeValue& initializer,
             bool trainable, const AttributeValue& regularizer, const AttributeValue& constraint) {
            WeightOptions options{.name = name, .shape = to_shape(shape.ptr()), .trainable = trainable};
            if (initializer.has_value()) options.initializer = initializers::get(initializer);
            if (regularizer.has_value()) options.regularizer = regularizers::get(regularizer);
            if (constraint.has_value()) options.constraint = constraints::get(constraint);
            return need_python(h).add_weight(options);
          },
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg().none());

  m.def("make_layer", [](const AttributeValue& config) { return LayerHandle{layer_from(config)}; });
  m.def(
      "make_input_layer",
      [](nb::handle shape, nb::handle batch_size, nb::handle dtype, const std::string& name) {
        return LayerHandle{layers::InputLayer(to_shape(shape.ptr()), input_options(batch_size, dtype, name))};
      },
      nb::arg(), nb::arg().none() = nb::none(), nb::arg().none() = nb::none(), nb::arg() = "");
  m.def("register_own_class", [](const ClassNames& names) { register_own_class(class_of(names)); });
  m.def("make_python_layer", [](nb::handle object, const ClassNames& names, const std::string& name, bool trainable,
                                const std::string& dtype, bool takes_training, bool takes_mask, bool takes_states) {
    const auto body = std::make_shared<PythonLayer>(class_of(names), name, trainable, dtype);
    body->side.takes_states = takes_states;
    return handle_of<PythonLayer, Layer>(body, object, takes_training, takes_mask);
  });
  m.def("set_computes_mask", [](LayerHandle& h) { need_python(h).side->computes_mask = true; });
  m.def("mask_of", [](nb::handle x) {
    const Tensor mask = mask_of(to_tensor(x.ptr()));
    return mask.has_value() ? nb::steal(wrap(mask)) : nb::none();
  });
  m.def("reset_rnn_state", [](const LayerHandle& h) { layers::RNN::from(h.layer).reset_state(); });
  m.def("make_python_model",
        [](nb::handle object, const ClassNames& names, const std::string& name, bool trainable,
           const std::string& dtype, bool takes_training, bool takes_mask, const std::vector<std::string>& overridden) {
          const auto body = std::make_shared<PythonModel>(class_of(names), name, trainable, dtype);
          const auto has = [&](const char* method) {
            return std::find(overridden.begin(), overridden.end(), method) != overridden.end();
          };
          body->has_train_step = has("train_step");
          body->has_test_step = has("test_step");
          body->has_predict_step = has("predict_step");
          body->has_compute_loss = has("compute_loss");
          body->has_compute_metrics = has("compute_metrics");
          return handle_of<PythonModel, Model>(body, object, takes_training, takes_mask);
        });
  m.def("auto_name", &auto_name);
  m.def("clear_session", &clear_session);
  m.def(
      "is_in_graph", [](nb::handle x) { return is_tensor(x.ptr()) && is_in_graph(tensor_of(x.ptr())); },
      nb::arg().none());
  m.def("get_source_inputs", [](nb::handle outputs) {
    nb::list sources;
    for (Tensor& source : get_source_inputs(to_nest(outputs.ptr()))) sources.append(steal(wrap(std::move(source))));
    return sources;
  });
  m.def("layer_name_of", [](nb::handle x) { return layer_name_of(to_tensor(x.ptr())); });
  m.def("adapt", [](const LayerHandle& h, nb::handle data) {
    const Tensor x = to_tensor(data.ptr());
    if (h.layer.type_name() == "Normalization") return layers::Normalization::of(h.layer).adapt(x);
    layers::Discretization::of(h.layer).adapt(x);
  });
  m.def("add_model_metric", [](const LayerHandle& h, const Metric& metric) { python_model(h).add_metrics({metric}); });
  m.def(
      "model_train_step",
      [](const LayerHandle& h, nb::handle x, nb::handle y, nb::handle weight) {
        return python_model(h).base_train_step(batch_of(x, y, weight));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  m.def(
      "model_test_step",
      [](const LayerHandle& h, nb::handle x, nb::handle y, nb::handle weight) {
        return python_model(h).base_test_step(batch_of(x, y, weight));
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  m.def(
      "model_compute_loss",
      [](const LayerHandle& h, nb::handle x, nb::handle y, nb::handle y_pred, nb::handle weight, bool training) {
        return nb::steal(
            wrap(python_model(h).base_compute_loss(batch_of(x, y, weight), to_nest(y_pred.ptr()), training)));
      },
      nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg());
  m.def(
      "model_compute_metrics",
      [](const LayerHandle& h, nb::handle x, nb::handle y, nb::handle y_pred, nb::handle weight) {
        return python_model(h).base_compute_metrics(batch_of(x, y, weight), to_nest(y_pred.ptr()));
      },
      nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg().none());
  m.def("make_sequential", [](const nb::list& list, const std::string& name) {
    std::vector<Layer> layers;
    for (const nb::handle item : list) layers.push_back(nb::cast<const LayerHandle&>(item).layer);
    return LayerHandle{Sequential(layers, name)};
  });
  m.def("add_to_sequential", [](const LayerHandle& model, const LayerHandle& layer) {
    static_cast<const Sequential&>(static_cast<const Layer&>(model.layer)).add(layer.layer);
  });
  m.def("pop_of_sequential", [](const LayerHandle& model) {
    return LayerHandle{static_cast<const Sequential&>(static_cast<const Layer&>(model.layer)).pop()};
  });
  m.def("make_functional", [](nb::handle inputs, nb::handle outputs, const std::string& name) {
    return LayerHandle{Model(to_nest(inputs.ptr()), to_nest(outputs.ptr()), name)};
  });
  m.def(
      "make_input",
      [](nb::handle shape, nb::handle batch_size, nb::handle dtype, const std::string& name) {
        return Input(to_shape(shape.ptr()), input_options(batch_size, dtype, name));
      },
      nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
}

}  // namespace capstan::python
