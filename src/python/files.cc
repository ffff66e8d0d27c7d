// Files of tensors and images, and datasets that are made of folders and series.
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>

#include <map>

#include "capstan/directory_datasets.h"
#include "capstan/hdf5_files.h"
#include "capstan/image_files.h"
#include "capstan/io.h"
#include "capstan/tensorflow_files.h"
#include "capstan/torch_files.h"
#include "src/python/datasets.h"

namespace capstan::python {

namespace {

nb::dict dict_of(const std::map<std::string, Tensor>& tensors) {
  nb::dict dict;
  for (const auto& [name, tensor] : tensors) dict[name.c_str()] = steal(wrap(tensor));
  return dict;
}

std::map<std::string, Tensor> tensors_of(const nb::dict& dict) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, value] : dict) tensors.emplace(nb::cast<std::string>(name), to_tensor(value.ptr()));
  return tensors;
}

datasets::TimeseriesOptions timeseries_options(std::int64_t stride, std::int64_t rate, std::int64_t batch_size,
                                               bool shuffle, Seed seed, std::int64_t start,
                                               std::optional<std::int64_t> end) {
  return {.sequence_stride = stride,
          .sampling_rate = rate,
          .batch_size = batch_size,
          .shuffle = shuffle,
          .seed = seed,
          .start_index = start,
          .end_index = end};
}

}  // namespace

void add_files(nb::module_& m) {
  m.def("load_safetensors", [](const std::string& path) {
    const io::NamedArrays found = io::load_safetensors(path);
    return nb::make_tuple(dict_of(found), found.metadata());
  });
  m.def("save_safetensors",
        [](const std::string& path, const nb::dict& tensors, const std::map<std::string, std::string>& metadata) {
          io::save_safetensors(path, tensors_of(tensors), {.metadata = metadata});
        });
  m.def("load_hdf5", [](const std::string& path) { return dict_of(io::load_hdf5(path)); });
  m.def("save_hdf5",
        [](const std::string& path, const nb::dict& tensors) { io::save_hdf5(path, tensors_of(tensors)); });
  m.def("load_npz", [](const std::string& path) { return dict_of(io::load_npz(path)); });
  m.def("load_torch", [](const std::string& path) {
    const io::TorchFile file = io::load_torch(path);
    nb::dict values = dict_of(file.tensors);
    for (const auto& [name, value] : file.values) values[name.c_str()] = nb::steal(from_attribute(value));
    return values;
  });
  m.def("load_tensorflow_checkpoint",
        [](const std::string& prefix) { return dict_of(io::load_tensorflow_checkpoint(prefix).tensors); });
  m.def("load_checkpoint", [](const std::string& path) { return dict_of(io::load_checkpoint(path)); });
  m.def("load_image",
        [](const std::string& path, int channels) { return io::load_image(path, {.channels = channels}); });
  m.def("save_png", [](const std::string& path, nb::handle image) { io::save_png(path, to_tensor(image.ptr())); });
  m.def("save_jpeg", [](const std::string& path, nb::handle image, int quality) {
    io::save_jpeg(path, to_tensor(image.ptr()), {.quality = quality});
  });

  m.def(
      "image_dataset_from_directory",
      [](const std::string& directory, const std::string& label_mode, const std::vector<std::string>& class_names,
         const std::string& color_mode, std::int64_t batch_size, std::array<std::int64_t, 2> image_size, bool shuffle,
         Seed seed, double validation_split, const std::string& subset, const std::string& interpolation,
         bool follow_links, bool crop, bool pad) {
        const auto found = datasets::image_dataset_from_directory(directory, {.label_mode = label_mode,
                                                                              .class_names = class_names,
                                                                              .color_mode = color_mode,
                                                                              .batch_size = batch_size,
                                                                              .image_size = image_size,
                                                                              .shuffle = shuffle,
                                                                              .seed = seed,
                                                                              .validation_split = validation_split,
                                                                              .subset = subset,
                                                                              .interpolation = interpolation,
                                                                              .follow_links = follow_links,
                                                                              .crop_to_aspect_ratio = crop,
                                                                              .pad_to_aspect_ratio = pad});
        return nb::make_tuple(DatasetHandle{found.node()}, found.class_names(), found.file_paths());
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
  m.def(
      "timeseries_dataset_from_array",
      [](nb::handle data, nb::handle targets, std::int64_t length, std::int64_t stride, std::int64_t rate,
         std::int64_t batch_size, bool shuffle, Seed seed, std::int64_t start, std::optional<std::int64_t> end) {
        const datasets::TimeseriesOptions options =
            timeseries_options(stride, rate, batch_size, shuffle, seed, start, end);
        const Tensor x = to_tensor(data.ptr());
        if (targets.is_none()) return DatasetHandle{datasets::timeseries_dataset_from_array(x, length, options).node()};
        return DatasetHandle{
            datasets::timeseries_dataset_from_array(x, to_tensor(targets.ptr()), length, options).node()};
      },
      nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(),
      nb::arg().none());
}

}  // namespace capstan::python
