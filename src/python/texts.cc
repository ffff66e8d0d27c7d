#include "src/python/texts.h"

#include <variant>

#include "capstan/directory_datasets.h"
#include "capstan/file_datasets.h"
#include "capstan/image_files.h"
#include "capstan/layers/preprocessing.h"
#include "capstan/records.h"
#include "src/python/datasets.h"
#include "src/python/layers.h"

namespace capstan::python {

PyTypeObject* text_type = nullptr;

namespace {

// Functions of capstan/_texts.py.
PyObject* from_parts;
PyObject* on_texts;
PyObject* stacked;

std::string string_of(nb::handle o) {
  if (!PyBytes_Check(o.ptr())) throw nb::type_error("a text must be bytes");
  return {PyBytes_AS_STRING(o.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(o.ptr()))};
}
nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

std::vector<std::string> strings_of(const nb::list& list) {
  std::vector<std::string> strings;
  for (const nb::handle item : list) strings.push_back(string_of(item));
  return strings;
}

// Texts as Python gives them: all of them, row by row, and their shape; or rows of different lengths, without one.
Texts texts_of(const nb::list& parts, const std::optional<std::vector<std::int64_t>>& shape) {
  if (shape) return Texts::from(strings_of(parts), Shape(*shape));
  std::vector<std::vector<std::string>> rows;
  for (const nb::handle row : parts) rows.push_back(strings_of(nb::cast<nb::list>(row)));
  return rows;
}

// --- Layers of texts ---

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

// --- Records and examples ---

nb::object from_feature(const io::Feature& feature) {
  nb::list list;
  if (feature.kind() == "bytes") {
    for (const std::string& text : feature.bytes()) list.append(bytes_of(text));
  } else if (feature.kind() == "floats") {
    for (const float number : feature.floats()) list.append(static_cast<double>(number));
  } else {
    for (const std::int64_t number : feature.integers()) list.append(number);
  }
  return nb::make_tuple(std::string(feature.kind()), list);
}

io::Feature to_feature(const std::string& kind, const nb::list& list) {
  if (kind == "bytes") return io::Feature(strings_of(list));
  if (kind == "floats") return io::Feature(nb::cast<std::vector<float>>(list));
  if (kind == "integers") return io::Feature(nb::cast<std::vector<std::int64_t>>(list));
  return {};
}

void add_records(nb::module_& m) {
  m.def("parse_example", [](const nb::bytes& message) {
    const io::Example example = io::Example::parse({message.c_str(), message.size()});
    nb::dict made;
    for (const auto& [name, feature] : example.features()) made[name.c_str()] = from_feature(feature);
    return made;
  });
  m.def("serialize_example", [](const nb::dict& features) {
    io::Example example;
    for (const auto& [name, feature] : features) {
      const auto [kind, list] = nb::cast<std::pair<std::string, nb::list>>(feature);
      example.set(nb::cast<std::string>(name), to_feature(kind, list));
    }
    return bytes_of(example.serialize());
  });
  nb::class_<io::RecordWriter>(m, "RecordWriter")
      .def("__init__",
           [](io::RecordWriter* self, const std::string& path, const std::string& compression, int level) {
             new (self) io::RecordWriter(path, {.compression = compression, .compression_level = level});
           })
      .def("write",
           [](io::RecordWriter& w, const nb::bytes& record) {
             w.write({record.c_str(), record.size()});
           })
      .def("flush", &io::RecordWriter::flush)
      .def("close", &io::RecordWriter::close);
}

// --- Datasets of files ---

// A dataset of std::string as one of texts.
DatasetHandle of_texts(const Dataset<std::string>& dataset) {
  return structures_of(dataset.node(), [](const detail::Part* part) {
    return to_text_tensor({*static_cast<const std::string*>(part->object.get())}, {});
  });
}

void add_file_datasets(nb::module_& m) {
  m.def(
      "dataset_of_lines",
      [](const std::vector<std::string>& files, const std::string& compression, std::optional<std::int64_t> parallel) {
        return of_texts(
            datasets::TextLineDataset(files, {.compression_type = compression, .num_parallel_reads = parallel}));
      },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def(
      "dataset_of_records",
      [](const std::vector<std::string>& files, const std::string& compression, std::optional<std::int64_t> parallel) {
        return of_texts(
            datasets::TFRecordDataset(files, {.compression_type = compression, .num_parallel_reads = parallel}));
      },
      nb::arg(), nb::arg(), nb::arg().none());
  m.def("dataset_of_fixed_records", [](const std::vector<std::string>& files, std::int64_t bytes, std::int64_t header,
                                       std::int64_t footer, const std::string& compression) {
    return of_texts(datasets::FixedLengthRecordDataset(
        files, bytes, {.header_bytes = header, .footer_bytes = footer, .compression_type = compression}));
  });
  m.def(
      "text_dataset_from_directory",
      [](const std::string& directory, const std::string& label_mode, const std::vector<std::string>& class_names,
         std::int64_t batch_size, std::optional<std::int64_t> max_length, bool shuffle, Seed seed,
         double validation_split, const std::string& subset, bool follow_links) {
        const auto found = datasets::text_dataset_from_directory(directory, {.label_mode = label_mode,
                                                                             .class_names = class_names,
                                                                             .batch_size = batch_size,
                                                                             .max_length = max_length,
                                                                             .shuffle = shuffle,
                                                                             .seed = seed,
                                                                             .validation_split = validation_split,
                                                                             .subset = subset,
                                                                             .follow_links = follow_links});
        const DatasetHandle handle = structures_of(found.node(), [](const detail::Part* parts) {
          const Texts& texts = *static_cast<const Texts*>(parts[0].object.get());
          nb::object made = to_text_tensor(texts.values(), {static_cast<std::int64_t>(texts.size())});
          return nb::make_tuple(std::move(made), steal(wrap(parts[1].tensor)));
        });
        return nb::make_tuple(handle, found.class_names(), found.file_paths());
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(),
      nb::arg());
}

// --- Images in texts ---

void add_image_texts(nb::module_& m) {
  m.def("decode_image", [](const nb::bytes& bytes, int channels) {
    return io::decode_image({bytes.c_str(), bytes.size()}, {.channels = channels});
  });
  m.def("encode_png", [](nb::handle image) { return bytes_of(io::encode_png(to_tensor(image.ptr()))); });
  m.def("encode_jpeg", [](nb::handle image, int quality, bool chroma_downsampling) {
    return bytes_of(
        io::encode_jpeg(to_tensor(image.ptr()), {.quality = quality, .chroma_downsampling = chroma_downsampling}));
  });
}

}  // namespace

bool has_text(PyObject* o) {
  if (o == nullptr) return false;
  if (is_text(o)) return true;
  if (!PyList_Check(o) && !PyTuple_Check(o)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); ++i) {
    if (is_text(PySequence_Fast_GET_ITEM(o, i))) return true;
  }
  return false;
}

nb::object to_text_tensor(const std::vector<std::string>& texts, const Shape& shape) {
  nb::list parts;
  for (const std::string& text : texts) parts.append(bytes_of(text));
  return nb::handle(from_parts)(parts, nb::tuple(nb::cast(std::vector<std::int64_t>(shape.begin(), shape.end()))));
}

PyObject* call_on_texts(const std::string& op, const nb::dict& arguments) {
  return PyObject_CallFunction(on_texts, "sO", op.c_str(), arguments.ptr());
}

nb::object stacked_texts(const nb::list& items) { return nb::handle(stacked)(items); }

void add_texts(nb::module_& m) {
  m.def("set_texts", [](nb::handle type, nb::object parts, nb::object call, nb::object stack) {
    text_type = reinterpret_cast<PyTypeObject*>(nb::borrow(type).release().ptr());
    from_parts = parts.release().ptr();
    on_texts = call.release().ptr();
    stacked = stack.release().ptr();
  });
  add_text_layers(m);
  add_records(m);
  add_file_datasets(m);
  add_image_texts(m);
}

}  // namespace capstan::python
