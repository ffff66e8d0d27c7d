// Checkpoints of TensorFlow for the objects of a Checkpoint.
#include <set>

#include "capstan/models.h"
#include "src/checkpoint/checkpoint_impl.h"
#include "src/checkpoint/tensorflow_match.h"
#include "src/checkpoint/tensorflow_objects.h"
#include "src/io/byte_source.h"
#include "src/io/object_graph.h"
#include "src/io/tensor_bundle.h"
#include "src/train/layer_state.h"
#include "src/train/optimizer_state.h"

namespace capstan {

namespace {

constexpr const char kReader[] = "read_tensorflow";
constexpr const char kWriter[] = "write_tensorflow";

using Objects = std::vector<std::pair<std::string, State>>;

// The optimizers of compiled models, and of models within them, that are no objects of their own: "model.optimizer".
class OptimizersWithin {
 public:
  explicit OptimizersWithin(const Objects& objects) {
    for (const auto& [name, state] : objects) {
      if (const Optimizer* const one = state.owner().optimizer) is_new(*one);
    }
    for (const auto& [name, state] : objects) {
      if (const Layer* const layer = state.owner().layer) visit(name, *layer);
    }
  }
  Objects take() { return std::move(found_); }

 private:
  bool is_new(const Optimizer& optimizer) { return known_.insert(&detail::OptimizerState::of(optimizer)).second; }

  void visit(const std::string& name, const Layer& layer) {
    const detail::LayerState& its = detail::LayerState::of(layer);
    if (!known_.insert(&its).second) return;
    if (its.model != nullptr) {
      const Model model(layer);
      if (model.is_compiled() && is_new(model.optimizer())) found_.emplace_back(name + ".optimizer", model.optimizer());
    }
    for (std::size_t i = 0; i < its.sublayers.size(); ++i) visit(name + "." + std::to_string(i), its.sublayers[i]);
  }

  std::set<const void*> known_;
  Objects found_;
};

}  // namespace

RestoreStatus Checkpoint::read_tensorflow(const std::string& prefix, const RestoreOptions& options) const {
  return impl_->read_tensorflow(prefix, options, false);
}

RestoreStatus Checkpoint::Impl::read_tensorflow(const std::string& prefix, const RestoreOptions& options,
                                                bool everything) {
  const io::TensorBundle bundle = io::read_tensor_bundle(kReader, prefix);
  const auto graph = bundle.texts.find(io::kObjectGraphKey);
  if (graph == bundle.texts.end() || graph->second.size() != 1) {
    io::fail_file(kReader, "the checkpoint has no graph of objects", prefix + ".index",
                  "io::load_tensorflow_checkpoint() gives its tensors");
  }
  const std::vector<io::TrackableNode> nodes =
      io::parse_object_graph(kReader, prefix + ".index", graph->second.front());
  Objects all_objects = objects, within = OptimizersWithin(objects).take();
  all_objects.insert(all_objects.end(), within.begin(), within.end());
  const detail::MatchedObjects matched = detail::match_tensorflow_objects(kReader, prefix, nodes, bundle, all_objects);
  // An optimizer within a model counts if the file has it.
  std::erase_if(within, [&](const auto& object) {
    const std::string begin = object.first + "/";
    const auto first = matched.tensors.lower_bound(begin);
    return first == matched.tensors.end() || !first->first.starts_with(begin);
  });
  all_objects = objects;
  all_objects.insert(all_objects.end(), within.begin(), within.end());
  Impl all(std::move(all_objects));
  all.save_counter = save_counter;
  Impl::Found found = all.find(matched.tensors);
  found.knows_any = matched.has_any;
  std::vector<std::string>& left_over = found.difference.left_over;
  left_over.insert(left_over.end(), matched.left_over.begin(), matched.left_over.end());
  if (everything) RestoreStatus(prefix, found.difference).assert_consumed();
  RestoreStatus status = all.take_over(kReader, prefix, matched.tensors, std::move(found), options);
  save_counter = all.save_counter;
  return status;
}

io::TensorBundle Checkpoint::Impl::collect_tensorflow() const {
  const detail::TensorflowObjects written = detail::tensorflow_objects(objects, save_counter);
  io::TensorBundle bundle;
  bundle.tensors = written.tensors;
  bundle.texts[io::kObjectGraphKey] = {io::object_graph_bytes(written.nodes)};
  return bundle;
}

std::string Checkpoint::write_tensorflow(const std::string& prefix) const {
  io::write_tensor_bundle(kWriter, prefix, impl_->collect_tensorflow());
  return prefix;
}

}  // namespace capstan
