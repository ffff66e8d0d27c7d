// Files whose contents are texts: records and examples, lines, images in memory.
#include "capstan/directory_datasets.h"
#include "capstan/file_datasets.h"
#include "capstan/image_files.h"
#include "capstan/records.h"
#include "src/python/datasets.h"
#include "src/python/texts.h"

namespace capstan::python {

namespace {

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

void add_text_files(nb::module_& m) {
  add_records(m);
  add_file_datasets(m);
  add_image_texts(m);
}

}  // namespace capstan::python
