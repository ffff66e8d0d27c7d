// Layers in Python: a handle to a layer of the library, or to one whose class is Python's.
#pragma once

#include <memory>

#include "capstan/models.h"
#include "src/python/nest.h"

namespace capstan::python {

/// What is Python's in a body: the object whose `call` it calls. The object holds the body's handle and the body holds
/// the object; the garbage collector sees the circle through the handle as long as nothing else holds the body.
struct PythonSide {
  PyObject* object = nullptr;
  bool takes_training = false, takes_mask = false, takes_states = false, computes_mask = false;
  ~PythonSide();
};

struct LayerHandle {
  Layer layer;
  std::shared_ptr<LayerBase> body = nullptr;  // of a class of Python's
  PythonSide* side = nullptr;                 // in the body
  std::function<void(const std::vector<Layer>&)> track = nullptr;
  std::function<void(const Layer&, const std::string&)> track_member = nullptr;
  std::function<void()> takes_each_tensor = nullptr;
  std::function<void(const Variable&)> track_variable = nullptr;
  std::function<Variable(const WeightOptions&)> add_weight = nullptr;
  std::function<void(Tensor)> add_loss = nullptr;
  std::function<void(const Regularizer&)> set_activity_regularizer = nullptr;
};

inline Model model_of(const LayerHandle& handle) { return Model(handle.layer); }

/// The options of a call.
CallOptions call_options(nb::handle training, nb::handle mask);

}  // namespace capstan::python
