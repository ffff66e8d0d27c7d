// Checkpoints of variables, layers, optimizers and metrics, and pictures of what a training did.
#include "capstan/checkpoint.h"

#include <nanobind/stl/map.h>

#include "capstan/callbacks.h"
#include "capstan/checkpoint_callbacks.h"
#include "capstan/model_graph.h"
#include "capstan/plots.h"
#include "capstan/tensorboard.h"
#include "src/python/datasets.h"
#include "src/python/layers.h"

namespace capstan::python {

namespace {

State state_of(nb::handle o) {
  if (is_variable(o.ptr())) return variable_of(o.ptr());
  if (nb::isinstance<LayerHandle>(o)) return nb::cast<LayerHandle&>(o).layer;
  if (nb::isinstance<Optimizer>(o)) return nb::cast<Optimizer&>(o);
  if (nb::isinstance<Metric>(o)) return nb::cast<Metric&>(o);
  if (nb::isinstance<DatasetPass>(o)) return nb::cast<DatasetPass&>(o);
  throw nb::type_error("Checkpoint: has variables, layers, models, optimizers and metrics");
}

std::vector<std::pair<std::string, State>> states_of(const nb::list& objects) {
  std::vector<std::pair<std::string, State>> states;
  for (const nb::handle item : objects) {
    states.emplace_back(nb::cast<std::string>(item[0]), state_of(nb::object(item[1])));
  }
  return states;
}

// A status that Python holds: what was asked about leaves no warning.
using Status = std::shared_ptr<RestoreStatus>;

struct Manager {
  std::unique_ptr<CheckpointManager> manager;
};

// A callback that writes to a path, with options that have a table.
template <class C, class Options>
void add_callback(nb::module_& m, const char* function, const char* name) {
  m.def(function, [name](const std::string& path, const AttributeValue& config) {
    const ClassInfo info{"callback", "keras.callbacks", name, "", Options::fields};
    Options options;
    set_options(info, &options, config);
    return Callback(C(path, options));
  });
}

}  // namespace

void add_checkpoints(nb::module_& m) {
  add_callback<callbacks::ModelCheckpoint, callbacks::ModelCheckpointOptions>(m, "model_checkpoint", "ModelCheckpoint");
  add_callback<callbacks::BackupAndRestore, callbacks::BackupAndRestoreOptions>(m, "backup_and_restore",
                                                                                "BackupAndRestore");
  add_callback<callbacks::TensorBoard, callbacks::TensorBoardOptions>(m, "tensor_board", "TensorBoard");
  m.def("terminate_on_nan", [](bool raise_error) { return Callback(callbacks::TerminateOnNaN(raise_error)); });
  m.def("swap_ema_weights", [](bool swap_on_epoch) { return Callback(callbacks::SwapEMAWeights(swap_on_epoch)); });
  struct StatusHandle {
    Status status;
  };
  nb::class_<StatusHandle>(m, "RestoreStatusHandle")
      .def("assert_consumed", [](const StatusHandle& s) { s.status->assert_consumed(); })
      .def("assert_existing_objects_matched",
           [](const StatusHandle& s) { s.status->assert_existing_objects_matched(); })
      .def("expect_partial", [](const StatusHandle& s) { s.status->expect_partial(); });
  nb::class_<Checkpoint>(m, "CheckpointHandle")
      .def("__init__", [](Checkpoint* self, const nb::list& objects) { new (self) Checkpoint(states_of(objects)); })
      .def("write", &Checkpoint::write)
      .def("save", &Checkpoint::save)
      .def("write_tensorflow", &Checkpoint::write_tensorflow)
      .def_prop_ro("save_counter", &Checkpoint::save_counter)
      .def("restore",
           [](const Checkpoint& c, const std::string& path, bool skip_mismatch) {
             return StatusHandle{std::make_shared<RestoreStatus>(c.restore(path, {.skip_mismatch = skip_mismatch}))};
           })
      .def("read_tensorflow", [](const Checkpoint& c, const std::string& prefix, bool skip_mismatch) {
        return StatusHandle{
            std::make_shared<RestoreStatus>(c.read_tensorflow(prefix, {.skip_mismatch = skip_mismatch}))};
      });
  m.def("latest_checkpoint", &latest_checkpoint);
  nb::class_<Manager>(m, "CheckpointManagerHandle")
      .def(
          "__init__",
          [](Manager* self, const Checkpoint& checkpoint, const std::string& directory,
             std::optional<std::int64_t> max_to_keep, std::optional<double> hours, const std::string& name,
             bool asynchronous) {
            new (self) Manager{
                std::make_unique<CheckpointManager>(checkpoint, directory,
                                                    CheckpointManagerOptions{.max_to_keep = max_to_keep,
                                                                             .keep_checkpoint_every_n_hours = hours,
                                                                             .checkpoint_name = name,
                                                                             .asynchronous = asynchronous})};
          },
          nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg())
      .def(
          "save",
          [](const Manager& self, std::optional<std::int64_t> number) {
            return self.manager->save({.checkpoint_number = number});
          },
          nb::arg().none())
      .def("wait",
           [](const Manager& self) {
             const Unlocked unlocked;
             self.manager->wait();
           })
      .def_prop_ro("latest_checkpoint", [](const Manager& self) { return self.manager->latest_checkpoint(); })
      .def_prop_ro("checkpoints", [](const Manager& self) { return self.manager->checkpoints(); })
      .def("restore_or_initialize", [](const Manager& self) { return self.manager->restore_or_initialize(); });

  m.def("model_to_dot", [](const LayerHandle& h, bool shapes, bool names, const std::string& rankdir, bool nested) {
    return model_to_dot(
        model_of(h), {.show_shapes = shapes, .show_layer_names = names, .rankdir = rankdir, .expand_nested = nested});
  });
  m.def("model_to_svg", [](const LayerHandle& h, bool shapes, bool names, const std::string& rankdir, bool nested) {
    return model_to_svg(
        model_of(h), {.show_shapes = shapes, .show_layer_names = names, .rankdir = rankdir, .expand_nested = nested});
  });
  m.def("curves_svg",
        [](const std::vector<std::int64_t>& epoch, const std::map<std::string, std::vector<double>>& history) {
          return plots::curves_svg({.epoch = epoch, .history = history});
        });
  m.def("curves_text",
        [](const std::vector<std::int64_t>& epoch, const std::map<std::string, std::vector<double>>& history) {
          return plots::curves_text({.epoch = epoch, .history = history});
        });
}

}  // namespace capstan::python
