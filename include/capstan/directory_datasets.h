// Datasets of files whose folders say their classes, and of windows of a series: keras.utils. Their functions are in
// the library capstan_io.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "capstan/data.h"
#include "capstan/seed.h"
#include "capstan/texts.h"

namespace capstan::datasets {

/// Batches of what files hold and of labels, with what is known of the files.
template <class T>
class DirectoryDataset : public Dataset<T, Tensor> {
 public:
  DirectoryDataset(const Dataset<T, Tensor>& data, std::vector<std::string> class_names,
                   std::vector<std::string> file_paths)
      : Dataset<T, Tensor>(data), class_names_(std::move(class_names)), file_paths_(std::move(file_paths)) {}
  /// Label i is class_names()[i].
  const std::vector<std::string>& class_names() const { return class_names_; }
  /// The files, in the order before each pass shuffles them.
  const std::vector<std::string>& file_paths() const { return file_paths_; }

 private:
  std::vector<std::string> class_names_, file_paths_;
};

/// Options of image_dataset_from_directory.
struct ImageDirectoryOptions {
  /// What labels are: "int": int32[batch]; "categorical": float32[batch, classes] with a one in each row; "binary":
  /// float32[batch, 1] of two classes.
  std::string label_mode = "int";
  std::vector<std::string> class_names = {};  ///< the folders in the order of their labels; sorted unless given
  std::string color_mode = "rgb";             ///< or "grayscale", "rgba"
  std::int64_t batch_size = 32;
  std::array<std::int64_t, 2> image_size = {256, 256};  ///< height and width
  bool shuffle = true;                                  ///< another order in each pass; else sorted
  Seed seed = {};
  double validation_split = 0;             ///< a part, from 0 to 1, that is kept back for the subset "validation"
  std::string subset = {};                 ///< "training" or "validation", together with validation_split
  std::string interpolation = "bilinear";  ///< or "nearest", "bicubic", "lanczos3", "lanczos5"
  bool follow_links = false;
  bool crop_to_aspect_ratio = false;  ///< the middle of an image of another shape is taken, else it is stretched
  bool pad_to_aspect_ratio = false;   ///< or zeros are put around it
};

/// The images below a directory that has a folder for each class, float32[batch, height, width, channels] from 0 to
/// 255, and their labels. PNG and JPEG files, by the ends of their names, at any depth. With a seed the order of the
/// files is Keras's for it.
///
///     auto train = datasets::image_dataset_from_directory("flowers", {.image_size = {96, 96}, .seed = 1,
///                                                         .validation_split = 0.2, .subset = "training"});
///     train.class_names();   // {"daisy", "rose"}
///     model.fit(train, {.epochs = 5});
///
/// Errors: IoError for a directory that cannot be read, and, at its batch, for an image that is damaged; ValueError for
/// a directory without images or with formats that are not read (.bmp, .gif), class names that are not those of the
/// folders, options that have no meaning, and a split that is shuffled without a seed, whose parts would overlap.
CAPSTAN_EXPORT DirectoryDataset<Tensor> image_dataset_from_directory(const std::string& directory,
                                                                     const ImageDirectoryOptions& options = {});

/// Options of text_dataset_from_directory; most are those of ImageDirectoryOptions.
struct TextDirectoryOptions {
  std::string label_mode = "int";
  std::vector<std::string> class_names = {};
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> max_length = {};  ///< bytes of a text beyond so many are left out
  bool shuffle = true;
  Seed seed = {};
  double validation_split = 0;
  std::string subset = {};
  bool follow_links = false;
};

/// The .txt files below a directory that has a folder for each class, whole, and their labels.
///
///     auto train = datasets::text_dataset_from_directory("aclImdb/train", {.batch_size = 64});
///
/// Errors: as image_dataset_from_directory; ValueError for a max_length below 0.
CAPSTAN_EXPORT DirectoryDataset<Texts> text_dataset_from_directory(const std::string& directory,
                                                                   const TextDirectoryOptions& options = {});

/// Options of timeseries_dataset_from_array.
struct TimeseriesOptions {
  std::int64_t sequence_stride = 1;  ///< how far the beginnings of sequences are apart
  std::int64_t sampling_rate = 1;    ///< how far the steps of a sequence are apart
  std::int64_t batch_size = 128;
  bool shuffle = false;
  Seed seed = {};
  std::int64_t start_index = 0;                ///< steps before it are not used
  std::optional<std::int64_t> end_index = {};  ///< nor this one and those after it
};

/// Sequences of a series [time, ...], one beginning after the other, as batches [batch, sequence_length, ...]. With
/// targets [time, ...] each sequence comes with the target of its first step, so targets are given shifted. With a seed
/// the order is Keras's.
///
///     auto windows = datasets::timeseries_dataset_from_array(x(slice(0, -10)), x(slice(10, {})), 10);
///
/// Errors: ValueError for lengths, strides, rates or batch sizes below 1, indices that do not fit, and a series that is
/// shorter than one sequence; ShapeError for a scalar.
CAPSTAN_EXPORT Dataset<Tensor, Tensor> timeseries_dataset_from_array(const Tensor& data, const Tensor& targets,
                                                                     std::int64_t sequence_length,
                                                                     const TimeseriesOptions& options = {});
CAPSTAN_EXPORT Dataset<Tensor> timeseries_dataset_from_array(const Tensor& data, std::int64_t sequence_length,
                                                             const TimeseriesOptions& options = {});

}  // namespace capstan::datasets
