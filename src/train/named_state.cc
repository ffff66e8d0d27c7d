#include "src/train/named_state.h"

#include <unordered_set>

#include "src/core/check.h"
#include "src/train/layer_state.h"

namespace capstan {

namespace detail {

NamedState named_state(const Layer& layer) {
  CAPSTAN_CHECK(layer.is_built(), ValueError, "state: ", layer.name(), " has no weights yet",
                help("weights are made at the first call, or by build(input_shape)"));
  NamedState state;
  std::unordered_set<std::uint64_t> seen;
  std::unordered_set<const void*> known;
  struct Place {
    Layer layer;
    std::string prefix;
  };
  // A list instead of a recursion: the last one is the next.
  std::vector<Place> places = {{layer, ""}};
  while (!places.empty()) {
    const Place place = std::move(places.back());
    places.pop_back();
    const LayerState& its = LayerState::of(place.layer);
    if (!seen.insert(its.id).second) continue;
    std::map<std::string, int> counts;
    for (const Weight& weight : its.weights) {
      if (!known.insert(weight.variable.state()).second) continue;
      state.weights.emplace_back(place.prefix + number_name(weight.variable.name(), counts), weight.variable);
    }
    for (const std::shared_ptr<std::uint64_t>& key : its.keys) {
      // A layer may have the key of one within it.
      if (!known.insert(key.get()).second) continue;
      state.keys.emplace_back(place.prefix + number_name("random_key", counts), key);
    }
    std::vector<Place> within;
    for (const Layer& part : its.sublayers) {
      within.push_back({part, place.prefix + number_name(snake_case(part.type_name()), counts) + "/"});
    }
    places.insert(places.end(), within.rbegin(), within.rend());
  }
  return state;
}

}  // namespace detail

std::vector<std::pair<std::string, Variable>> named_weights(const Layer& layer) {
  CAPSTAN_CHECK(layer.has_value(), ValueError, "named_weights: the layer is an empty handle");
  return detail::named_state(layer).weights;
}

}  // namespace capstan
