#include "src/checkpoint/keras_paths.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_set>

#include "src/train/classes.h"
#include "src/train/layer_state.h"
#include "src/train/named_state.h"

namespace capstan::detail {

namespace {

// What Keras's layers call the layers that they hold, in their order here. Of all others it is a list, "layers".
struct Attributes {
  std::string_view type;
  std::vector<std::string_view> names;
};
const Attributes kAttributes[] = {
    {"Bidirectional", {"forward_layer", "backward_layer"}},
    {"RNN", {"cell"}},
    {"SimpleRNN", {"cell"}},
    {"LSTM", {"cell"}},
    {"GRU", {"cell"}},
    {"ConvLSTM1D", {"cell"}},
    {"ConvLSTM2D", {"cell"}},
    {"ConvLSTM3D", {"cell"}},
    {"StackedRNNCells", {}},  // a list called "cells"
    {"TimeDistributed", {"layer"}},
    {"SpectralNormalization", {"layer"}},
    {"MultiHeadAttention", {"query_dense", "key_dense", "value_dense", "output_dense"}},
    {"GroupQueryAttention", {"_query_dense", "_key_dense", "_value_dense", "_output_dense"}},
};

// In Keras the class is called otherwise than in its modules.
std::string class_name(const Layer& layer) {
  const std::string name = layer.type_name();
  return snake_case(name == "GroupQueryAttention" ? "GroupedQueryAttention" : name);
}

// A name that a layer was given, not one that it was numbered by: "dense_2".
bool is_given(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return true;
  const std::string_view rest = std::string_view(name).substr(prefix.size());
  if (rest.empty()) return false;
  return rest[0] != '_' || rest.size() == 1 || rest.find_first_not_of("0123456789", 1) != rest.npos;
}

// A class of the program has no name that the library gave it, or a table of options of its own.
bool is_own(const Layer& layer) {
  const LayerBase& body = LayerState::body_of(layer);
  return std::string_view(LayerState::of(layer).type_name).empty() ||
         (body.options_data() != nullptr && !is_built_in(body.class_info()));
}

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
    const auto* const attributes = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                                                [&](const Attributes& one) { return one.type == type; });
    std::map<std::string, int> counts;
    const std::string list = prefix + (type == "StackedRNNCells" ? "cells/" : "layers/");
    for (std::size_t i = 0; i < its.sublayers.size(); ++i) {
      const Layer& sublayer = its.sublayers[i];
      const std::string name = class_name(sublayer);
      const std::string counted = number_name(name, counts);
      std::string key = list + counted;
      if (attributes != std::end(kAttributes) && i < attributes->names.size()) {
        key = prefix + std::string(attributes->names[i]);
      } else if (is_own(layer) && !(has_group_ && has_group_(key))) {
        if (is_given(sublayer.name(), name)) {
          key = prefix + sublayer.name();
        } else if (is_own(sublayer)) {
          key = prefix + counted;
        }
      }
      visit(sublayer, key + "/");
    }
  }

  // First those that are trained. What two layers hold, as the kernel of a layer within SpectralNormalization, stands
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
