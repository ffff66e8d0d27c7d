// Arrays from files: NumPy's .npy and .npz, and IDX. Texts and images to files.
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

/// The array of a .npy file, as numpy.save writes it: bool, uint8, int32, int64, float32 or
/// float64, little-endian, of rank at most 8. Fortran order becomes row-major. Errors: IoError.
CAPSTAN_EXPORT Tensor load_npy(const std::string& path);

/// The arrays of an archive by name: a map whose at() tells what there is.
class CAPSTAN_EXPORT NamedArrays : public std::map<std::string, Tensor> {
 public:
  explicit NamedArrays(std::string path) : path_(std::move(path)) {}
  /// One array. Errors: IndexError, with the names of all, if there is none of this name.
  const Tensor& at(const std::string& name) const;

 private:
  std::string path_;
};

/// The arrays of a .npz archive, as numpy.savez and numpy.savez_compressed write it, by name.
/// Members that are no arrays are left out. Errors: IoError.
///
///     auto data = io::load_npz("data.npz");
///     Tensor x = data.at("x");
CAPSTAN_EXPORT NamedArrays load_npz(const std::string& path);

/// The array of an IDX file, the format of MNIST, plain or gzipped: uint8, int32, float32 or
/// float64. Errors: IoError.
CAPSTAN_EXPORT Tensor load_idx(const std::string& path);

/// Writes an image as a PNG file. uint8 [height, width, channels] or [height, width], with 1 channel (grey), 3 (red,
/// green, blue), or 2 or 4 (and how opaque). What was at `path` is replaced when all has been written, and otherwise stays.
/// Errors: ShapeError, DTypeError; IoError if the file cannot be written.
///
///     io::save_png("digits.png", plots::image_grid(images));
CAPSTAN_EXPORT void save_png(const std::string& path, const Tensor& image);

/// Writes a text, in the same way. Errors: IoError if the file cannot be written.
///
///     io::save_text("curves.svg", plots::curves_svg(history));
CAPSTAN_EXPORT void save_text(const std::string& path, std::string_view text);

}  // namespace capstan::io
