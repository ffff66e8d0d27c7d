#include "capstan/directory_datasets.h"
#include "capstan/image_files.h"
#include "capstan/layers.h"
#include "capstan/ops/array.h"
#include "capstan/ops/math.h"
#include "src/core/check.h"
#include "src/datasets/class_folders.h"

namespace capstan::datasets {

namespace {

constexpr const char* kImageOwner = "image_dataset_from_directory";

int channels_of(const std::string& mode) {
  const int channels = mode == "rgb" ? 3 : mode == "rgba" ? 4 : mode == "grayscale" ? 1 : 0;
  CAPSTAN_CHECK(channels != 0, ValueError, kImageOwner,
                ": color_mode must be \"rgb\", \"rgba\" or \"grayscale\", not \"", mode, "\"");
  return channels;
}

}  // namespace

DirectoryDataset<Tensor> image_dataset_from_directory(const std::string& directory,
                                                      const ImageDirectoryOptions& options) {
  const int channels = channels_of(options.color_mode);
  // Its constructor checks the size and the interpolation.
  const layers::Resizing resizing(options.image_size[0], options.image_size[1],
                                  {.interpolation = options.interpolation,
                                   .crop_to_aspect_ratio = options.crop_to_aspect_ratio,
                                   .pad_to_aspect_ratio = options.pad_to_aspect_ratio});
  resizing(zeros({1, 1, channels}));  // threads call it; it is built before
  const auto load = [=](const std::string& path) {
    return resizing(cast(io::load_image(path, {.channels = channels}), float32));
  };
  return detail::dataset_from_directory<Tensor>(
      directory, {.owner = kImageOwner, .endings = {".png", ".jpg", ".jpeg"}, .refused_endings = {".bmp", ".gif"}},
      options, load);
}

}  // namespace capstan::datasets
