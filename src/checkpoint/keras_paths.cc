#include "src/checkpoint/keras_paths.h"

#include <map>
#include <span>
#include <string_view>
#include <unordered_set>

#include "src/checkpoint/keras_attributes.h"
#include "src/train/layer_state.h"
#include "src/train/named_state.h"

namespace capstan::detail {

namespace {

class PathFinder {
 public:
  explicit PathFinder(const HasGroup& has_group) : has_group_(has_group) {}

  std::vector<std::pair<std::string, Variable>> find(const Layer& layer) {
    visit(layer, "");
    return std::move(paths_);
  }

 private:
  void visit(const Layer& layer, const std::string& prefix) {
    const LayerState& its = LayerState::of(layer);
    if (!seen_.insert(its.id).second) return;
    const std::string_view type = its.type_name;
    add_weights(its, prefix);
    const std::span<const std::string_view> attributes = sublayer_attributes(type);
    std::map<std::string, int> counts;
    const std::string list = prefix + (type == "StackedRNNCells" ? "cells/" : "layers/");
    for (std::size_t i = 0; i < its.sublayers.size(); ++i) {
      const Layer& sublayer = its.sublayers[i];
      const std::string counted = number_name(keras_class_name(sublayer), counts);
      std::string key = list + counted;
      const auto member = its.members.find(LayerState::of(sublayer).id);
      if (i < attributes.size()) {
        key = prefix + std::string(attributes[i]);
      } else if (member != its.members.end() && (!has_group_ || has_group_(prefix + member->second))) {
        key = prefix + member->second;
      } else if (is_own_class(layer) && !(has_group_ && has_group_(key))) {
        if (has_given_name(sublayer)) {
          key = prefix + sublayer.name();
        } else if (is_own_class(sublayer)) {
          key = prefix + counted;
        }
      }
      visit(sublayer, key + "/");
    }
  }

  // First those that are trained. What two layers hold, as the kernel of a layer within SpectralNormalization, is
  // in both.
  void add_weights(const LayerState& its, const std::string& prefix) {
    int number = 0;
    for (const bool trainable : {true, false}) {
      for (const Weight& weight : its.weights) {
        if (weight.trainable != trainable) continue;
        paths_.emplace_back(prefix + "vars/" + std::to_string(number++), weight.variable);
      }
    }
  }

  const HasGroup& has_group_;
  std::vector<std::pair<std::string, Variable>> paths_;
  std::unordered_set<std::uint64_t> seen_;
};

}  // namespace

std::vector<std::pair<std::string, Variable>> keras_weight_paths(const Layer& model, const HasGroup& has_group) {
  return PathFinder(has_group).find(model);
}

}  // namespace capstan::detail
