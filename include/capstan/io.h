// Arrays from and to files: .safetensors, NumPy's .npy and .npz, and from IDX. Texts and images to files.
//
// Files hold data only: an archive of pickled objects is refused, and no file can make the library
// run code. Lengths are checked before they are believed, so a damaged or malicious file costs an
// IoError and nothing else.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan::io {

/// The array of a .npy file, as numpy.save writes it, of rank at most 8; Fortran order becomes row-major. Numbers that
/// tensors lack become wider ones: float16 float32, int8 to uint16 int32, uint32 and uint64 int64. Errors: IoError.
///
///     Tensor kernel = io::load_npy("kernel.npy");
CAPSTAN_EXPORT Tensor load_npy(const std::string& path);

/// The arrays of a file by name: a map whose at() tells what there is.
class CAPSTAN_EXPORT NamedArrays : public std::map<std::string, Tensor> {
 public:
  /// `reader` is for messages: who read the file.
  explicit NamedArrays(std::string path, std::string reader = "load_npz")
      : path_(std::move(path)), reader_(std::move(reader)) {}
  /// One array. Errors: IndexError, with the names of all, if there is none of this name.
  const Tensor& at(const std::string& name) const;

  /// Texts that are beside the arrays, in a .safetensors file.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  void set_metadata(std::map<std::string, std::string> texts) { metadata_ = std::move(texts); }

 private:
  std::string path_, reader_;
  std::map<std::string, std::string> metadata_;
};

/// The arrays of a .npz archive, as numpy.savez and numpy.savez_compressed write it, by name.
/// Members that are no arrays are left out. Errors: IoError.
///
///     auto data = io::load_npz("data.npz");
///     Tensor x = data.at("x");
CAPSTAN_EXPORT NamedArrays load_npz(const std::string& path);

/// Options of load_safetensors.
struct LoadSafetensorsOptions {
  /// Maps the file, instead of reading it: loading takes no time and no memory, and elements come from the disk when
  /// they are needed. Nobody may change or shorten the file while one of the tensors lives: the process would end.
  /// Files that are replaced, as those that this library writes, are not changed. Elements that need a conversion are
  /// read.
  bool map = false;
};

/// The tensors of a .safetensors file by name, with its metadata. Types that tensors lack become the next wider one
/// that has all their values: F16 float32; I8, I16 and U16 int32; U32 and U64 int64. Errors: IoError, for a damaged
/// file, a type that is not known (such as F8_E4M3) and a U64 that int64 cannot hold.
///
///     io::NamedArrays weights = io::load_safetensors("model.safetensors");
///     Tensor kernel = weights.at("0.weight");
CAPSTAN_EXPORT NamedArrays load_safetensors(const std::string& path, const LoadSafetensorsOptions& options = {});

/// Options of save_safetensors.
struct SaveSafetensorsOptions {
  std::map<std::string, std::string> metadata = {};  ///< texts beside the tensors
};

/// Writes tensors of any dtype to a .safetensors file; complex ones as C64 and C128, which not every reader knows. What
/// was at `path` is replaced when all has been written, and otherwise stays. Errors: ValueError for an empty tensor, or
/// a name that is empty, "__metadata__" or no UTF-8; TraceError for a tensor of a trace; IoError if the file cannot be
/// written.
///
///     io::save_safetensors("w.safetensors", {{"kernel", kernel}, {"bias", bias}}, {.metadata = {{"format", "pt"}}});
CAPSTAN_EXPORT void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                                     const SaveSafetensorsOptions& options = {});

/// Writes an array to a .npy file, in the same way: bool, uint8, int32, int64, float32 or float64. Errors: DTypeError
/// for another dtype; as save_safetensors.
///
///     io::save_npy("kernel.npy", kernel);
CAPSTAN_EXPORT void save_npy(const std::string& path, const Tensor& array);

/// Options of save_npz.
struct SaveNpzOptions {
  bool compressed = false;  ///< deflated, as numpy.savez_compressed does
};

/// Writes arrays to a .npz archive, in the same way, as numpy.savez does. Errors: ValueError if there are none, or a
/// name has a byte 0; DTypeError for a dtype that save_npy refuses; as save_safetensors.
///
///     io::save_npz("weights.npz", {{"kernel", kernel}, {"bias", bias}});
CAPSTAN_EXPORT void save_npz(const std::string& path, const std::map<std::string, Tensor>& arrays,
                             const SaveNpzOptions& options = {});

/// The tensors of a checkpoint (capstan/checkpoint.h) by name, without any object: "model/dense/kernel". Errors:
/// IoError for a file that is none or is damaged.
///
///     Tensor kernel = io::load_checkpoint("checkpoints/model").at("model/dense/kernel");
CAPSTAN_EXPORT NamedArrays load_checkpoint(const std::string& path);

/// The array of an IDX file, the format of MNIST, plain or gzipped: uint8, int32, float32 or float64; int8 and int16
/// become int32. Errors: IoError.
///
///     Tensor images = io::load_idx("train-images-idx3-ubyte.gz");
CAPSTAN_EXPORT Tensor load_idx(const std::string& path);

/// Writes an image as a PNG file. uint8 [height, width, channels] or [height, width], with 1 channel (grey), 3 (red,
/// green, blue), or 2 or 4 (and how opaque). What was at `path` is replaced when all has been written, and otherwise
/// stays. Errors: ShapeError, DTypeError; IoError if the file cannot be written.
///
///     io::save_png("digits.png", plots::image_grid(images));
CAPSTAN_EXPORT void save_png(const std::string& path, const Tensor& image);

/// Writes a text, in the same way. Errors: IoError if the file cannot be written.
///
///     io::save_text("curves.svg", plots::curves_svg(history));
CAPSTAN_EXPORT void save_text(const std::string& path, std::string_view text);

}  // namespace capstan::io
