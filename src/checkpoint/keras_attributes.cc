#include "src/checkpoint/keras_attributes.h"

#include <algorithm>

#include "src/train/classes.h"
#include "src/train/layer_state.h"

namespace capstan::detail {

namespace {

struct Attributes {
  std::string_view type;
  std::vector<std::string_view> names;
};
const Attributes kSublayers[] = {
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

// Those that Keras may merge with others before they are used.
constexpr std::string_view kMerged[] = {"Conv1D", "Conv2D", "Conv3D", "Dense", "EinsumDense", "Embedding"};

}  // namespace

std::string name_within(const std::string& group, const std::string& name) {
  std::string whole = group;
  if (!group.empty() && !name.empty()) whole += '/';
  return whole += name;
}

std::span<const std::string_view> sublayer_attributes(std::string_view type) {
  for (const Attributes& one : kSublayers) {
    if (one.type == type) return one.names;
  }
  return {};
}

std::string weight_attribute(std::string_view type, const std::string& weight) {
  if (type == "Normalization" && weight != "count") return "adapt_" + weight;
  const bool is_merged = std::find(std::begin(kMerged), std::end(kMerged), type) != std::end(kMerged);
  return is_merged && (weight == "kernel" || weight == "embeddings") ? "_" + weight : weight;
}

std::string tensorflow_attribute(std::string_view type, std::string_view attribute) {
  return (type == "MultiHeadAttention" ? "_" : "") + std::string(attribute);
}

std::string keras_class_name(const Layer& layer) {
  const std::string type = layer.type_name();
  return snake_case(type == "GroupQueryAttention" ? "GroupedQueryAttention" : type);
}

bool is_own_class(const Layer& layer) {
  const ClassInfo& info = LayerState::body_of(layer).class_info();
  return std::string_view(LayerState::of(layer).type_name).empty() || (info.make != nullptr && !is_built_in(info));
}

bool has_given_name(const Layer& layer) {
  const std::string& name = layer.name();
  const std::string prefix = keras_class_name(layer);
  if (!name.starts_with(prefix)) return true;
  const std::string_view rest = std::string_view(name).substr(prefix.size());
  if (rest.empty()) return false;
  return rest[0] != '_' || rest.size() == 1 || rest.find_first_not_of("0123456789", 1) != rest.npos;
}

}  // namespace capstan::detail
