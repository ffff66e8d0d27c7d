// Layers that take texts: calls, vocabularies.
#include <variant>

#include "capstan/layers/preprocessing.h"
#include "src/python/layers.h"
#include "src/python/texts.h"

namespace capstan::python {

namespace {

// Texts as Python gives them: all of them, row by row, and their shape; or rows of different lengths, without one.
Texts texts_of(const nb::list& parts, const std::optional<std::vector<std::int64_t>>& shape) {
  if (shape) return Texts::from(strings_of(parts), Shape(*shape));
  std::vector<std::vector<std::string>> rows;
  for (const nb::handle row : parts) rows.push_back(strings_of(nb::cast<nb::list>(row)));
  return rows;
}

[[noreturn]] void no_layer_of_texts(const Layer& layer) {
  throw nb::type_error((layer.type_name() + " takes no texts").c_str());
}

// Calls f with the layer as what it is.
template <class F>
auto with_vocabulary_layer(const Layer& layer, const F& f) {
  if (layer.type_name() == "TextVectorization") return f(layers::TextVectorization::of(layer));
  if (layer.type_name() == "StringLookup") return f(layers::StringLookup::of(layer));
  no_layer_of_texts(layer);
}

Tensor call_text_layer(const Layer& layer, const Texts& texts) {
  if (layer.type_name() == "Hashing") return layers::Hashing::of(layer)(texts);
  return with_vocabulary_layer(layer, [&](const auto& l) { return l(texts); });
}

nb::object vocabulary(const Layer& layer, bool special) {
  nb::list list;
  if (layer.type_name() == "IntegerLookup") {
    for (const std::int64_t token : layers::IntegerLookup::of(layer).get_vocabulary(special)) list.append(token);
  } else {
    const auto tokens = with_vocabulary_layer(layer, [&](const auto& l) { return l.get_vocabulary(special); });
    for (const std::string& token : tokens) list.append(bytes_of(token));
  }
  return list;
}

void set_vocabulary(const Layer& layer, const nb::list& tokens, const std::vector<double>& weights) {
  if (layer.type_name() == "IntegerLookup") {
    return layers::IntegerLookup::of(layer).set_vocabulary(nb::cast<std::vector<std::int64_t>>(tokens), weights);
  }
  const std::vector<std::string> texts = strings_of(tokens);
  with_vocabulary_layer(layer, [&](const auto& l) { l.set_vocabulary(texts, weights); });
}

std::int64_t vocabulary_size(const Layer& layer) {
  if (layer.type_name() == "IntegerLookup") return layers::IntegerLookup::of(layer).vocabulary_size();
  return with_vocabulary_layer(layer, [](const auto& l) { return l.vocabulary_size(); });
}

// Features are tensors, or pairs of texts and their shape.
Tensor cross(const Layer& layer, const nb::list& features) {
  std::vector<layers::CrossedFeature> given;
  for (const nb::handle feature : features) {
    if (is_tensor(feature.ptr())) {
      given.emplace_back(tensor_of(feature.ptr()));
    } else {
      const auto [parts, shape] = nb::cast<std::pair<nb::list, std::vector<std::int64_t>>>(feature);
      given.emplace_back(texts_of(parts, shape));
    }
  }
  return layers::HashedCrossing::of(layer)(given);
}

}  // namespace

void add_text_layers(nb::module_& m) {
  const auto optional_shape = nb::arg("shape").none();
  m.def(
      "call_text_layer",
      [](const LayerHandle& h, const nb::list& parts, const std::optional<std::vector<std::int64_t>>& shape) {
        return call_text_layer(h.layer, texts_of(parts, shape));
      },
      nb::arg(), nb::arg(), optional_shape);
  m.def(
      "adapt_text_layer",
      [](const LayerHandle& h, const nb::list& parts, const std::optional<std::vector<std::int64_t>>& shape) {
        with_vocabulary_layer(h.layer, [&](const auto& l) { l.adapt(texts_of(parts, shape)); });
      },
      nb::arg(), nb::arg(), optional_shape);
  m.def("reset_text_layer",
        [](const LayerHandle& h) { with_vocabulary_layer(h.layer, [](const auto& l) { l.reset_state(); }); });
  m.def(
      "update_text_layer",
      [](const LayerHandle& h, const nb::list& parts, const std::optional<std::vector<std::int64_t>>& shape) {
        with_vocabulary_layer(h.layer, [&](const auto& l) { l.update_state(texts_of(parts, shape)); });
      },
      nb::arg(), nb::arg(), optional_shape);
  m.def("finalize_text_layer",
        [](const LayerHandle& h) { with_vocabulary_layer(h.layer, [](const auto& l) { l.finalize_state(); }); });
  m.def("lookup_texts", [](const LayerHandle& h, nb::handle indices) {
    const Tensor numbers = to_tensor(indices.ptr());
    const Texts texts = layers::StringLookup::of(h.layer).to_texts(numbers);
    return to_text_tensor(texts.values(), numbers.shape());
  });
  m.def("adapt_ids",
        [](const LayerHandle& h, nb::handle data) { layers::IntegerLookup::of(h.layer).adapt(to_tensor(data.ptr())); });
  m.def("vocabulary_of", [](const LayerHandle& h, bool special) { return vocabulary(h.layer, special); });
  m.def("set_vocabulary", [](const LayerHandle& h, const nb::list& tokens, const std::vector<double>& weights) {
    set_vocabulary(h.layer, tokens, weights);
  });
  m.def("vocabulary_size", [](const LayerHandle& h) { return vocabulary_size(h.layer); });
  m.def("hashed_crossing", [](const LayerHandle& h, const nb::list& features) { return cross(h.layer, features); });
}

}  // namespace capstan::python
