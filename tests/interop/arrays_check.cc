// Arrays between Capstan and NumPy, safetensors, h5py and PyTorch: this side. arrays.py is the other; see README.md.
//
//     arrays_check write FOLDER    files of arrays
//     arrays_check read FOLDER     reads files of the other side and compares
//
// An array is named after its dtype and rank, "float32_2", and both sides know what is in it.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "capstan/capstan.h"
#include "tests/interop/cases.h"
#include "tests/support/compare.h"

namespace capstan {
namespace {

using interop::Cases;
using interop::require;

const std::vector<Shape> kShapes = {{}, {3}, {2, 3}, {2, 0, 2}, {2, 3, 2, 2}};

// Element i of an array.
Tensor elements(DType dtype, const Shape& shape) {
  const Tensor i = reshape(range(0, static_cast<int>(shape.size())), shape);
  const Tensor n = floormod(i * 7 + 3, 11);
  switch (dtype) {
    case DType::kBool:
      return equal(floormod(n, 2), 0);
    case DType::kUInt8:
      return cast(n * 23, uint8);
    case DType::kInt32:
      return n - 5;
    case DType::kInt64:
      return (cast(n, int64) - 5) * (std::int64_t{1} << 40);
    case DType::kComplex64:
    case DType::kComplex128: {
      const DType part = dtype == DType::kComplex64 ? float32 : float64;
      return complex(cast(n - 5, part) / 4, cast(n, part) / 8);
    }
    default:
      return cast(cast(n - 5, float64) / 4, dtype);
  }
}

// Types that tensors lack become wider ones; their arrays have these elements.
DType dtype_of(const std::string& name) {
  static const std::map<std::string, DType> all = [] {
    std::map<std::string, DType> found = {{"float16", float32}};
    for (int i = 0; i < kDTypes; ++i) found.emplace(name_of(DType(i)), DType(i));
    return found;
  }();
  const auto place = all.find(name);
  require(place != all.end(), "a dtype of this name is not known: " + name);
  return place->second;
}

std::map<std::string, Tensor> arrays(const std::vector<DType>& dtypes) {
  std::map<std::string, Tensor> made;
  for (const DType dtype : dtypes) {
    for (const Shape& shape : kShapes) {
      made.emplace(std::string(name_of(dtype)) + "_" + std::to_string(shape.rank()), elements(dtype, shape));
    }
  }
  return made;
}

const std::vector<DType> kOfNumPy = {bool_, uint8, int32, int64, float32, float64};

void write(const std::string& folder) {
  const std::map<std::string, Tensor> plain = arrays(kOfNumPy);
  std::map<std::string, Tensor> with_bfloat16 = plain;
  with_bfloat16.merge(arrays({bfloat16}));
  io::save_safetensors(folder + "/arrays.safetensors", with_bfloat16, {.metadata = {{"format", "pt"}, {"by", "é"}}});
  io::save_safetensors(folder + "/complex64.safetensors", arrays({complex64}));
  io::save_npz(folder + "/stored.npz", plain);
  io::save_npz(folder + "/deflated.npz", plain, {.compressed = true});
  for (const auto& [name, array] : plain) io::save_npy(folder + "/" + name + ".npy", array);
  std::map<std::string, Tensor> grouped;
  for (const auto& [name, array] : plain) grouped.emplace("group/" + name, array);
  io::save_hdf5(folder + "/arrays.h5", grouped);
}

std::string compare(const std::map<std::string, Tensor>& found, std::size_t at_least) {
  for (const auto& [path, array] : found) {
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::size_t line = name.find('_');
    const DType dtype = dtype_of(name.substr(0, line));
    const Tensor wanted = elements(dtype, kShapes.at(std::stoul(name.substr(line + 1))));
    require(array.dtype() == dtype, path + " is " + std::string(name_of(array.dtype())));
    require(array.shape() == wanted.shape(), path + " has the shape " + array.shape().to_string());
    require(testing::same_bits(array, wanted), path + " is " + array.to_string() + " instead of " + wanted.to_string());
  }
  require(found.size() >= at_least, "there are " + std::to_string(found.size()) + " arrays");
  return std::to_string(found.size()) + " arrays";
}

void read(const std::string& folder, Cases& cases) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const std::string path = file.string(), ending = file.extension().string();
    cases.run(file.filename().string(), [&]() -> std::string {
      if (ending == ".npy") return compare({{file.stem().stem().string(), io::load_npy(path)}}, 1);
      if (ending == ".npz") return compare(io::load_npz(path), 30);
      if (ending == ".h5") return compare(io::load_hdf5(path), 8);
      if (ending == ".pt") return compare(io::load_torch(path).tensors, 30);
      const io::NamedArrays mapped = io::load_safetensors(path, {.map = true}), copied = io::load_safetensors(path);
      require(copied.metadata() == mapped.metadata(), "metadata differ when the file is mapped");
      compare(mapped, 1);
      return compare(copied, 1);
    });
  }
}

}  // namespace
}  // namespace capstan

int main(int count, char** arguments) {
  return capstan::interop::write_or_read(count, arguments, capstan::write, capstan::read);
}
