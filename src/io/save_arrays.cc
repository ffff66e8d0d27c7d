// Arrays to .npy and .npz files.
#include <cstring>

#include "capstan/error.h"
#include "capstan/io.h"
#include "src/core/check.h"
#include "src/io/file_sink.h"
#include "src/io/tensor_list.h"
#include "src/io/zip_writer.h"

namespace capstan::io {
namespace {

std::string_view descr_of(const char* writer, const std::string& name, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "|b1";
    case DType::kUInt8:
      return "|u1";
    case DType::kInt32:
      return "<i4";
    case DType::kInt64:
      return "<i8";
    case DType::kFloat32:
      return "<f4";
    case DType::kFloat64:
      return "<f8";
    default:
      break;
  }
  throw DTypeError(detail::join(writer, ": the array ", in_quotes(name), " is ", name_of(dtype),
                                ", which is none of bool, uint8, int32, int64, float32, float64",
                                help("cast it, or write it with save_safetensors")));
}

// All before the elements, as numpy.save writes it.
std::string npy_header(const char* writer, const std::string& name, const Tensor& tensor) {
  std::string text =
      "{'descr': '" + std::string(descr_of(writer, name, tensor.dtype())) + "', 'fortran_order': False, 'shape': (";
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    text += (axis > 0 ? " " : "") + std::to_string(tensor.dim(axis)) + ",";
  }
  // Python writes a comma after the last length only if it is the only one.
  if (tensor.rank() > 1) text.pop_back();
  text += "), }";
  constexpr std::size_t kBefore = 10, kMultiple = 64;
  const std::size_t whole = (kBefore + text.size() + 1 + kMultiple - 1) / kMultiple * kMultiple;
  text.resize(whole - kBefore - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

}  // namespace

void save_npy(const std::string& path, const Tensor& array) {
  const Tensor dense = writable("save_npy", "array", array);
  const std::string header = npy_header("save_npy", "array", dense);
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(header)), bytes_of(dense)};
  write_file("save_npy", path, pieces);
}

void save_npz(const std::string& path, const std::map<std::string, Tensor>& arrays, const SaveNpzOptions& options) {
  constexpr const char* kWriter = "save_npz";
  CAPSTAN_CHECK(!arrays.empty(), ValueError, kWriter, ": there are no arrays");
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, array] : arrays) {
    CAPSTAN_CHECK(name.find('\0') == std::string::npos, ValueError, kWriter, ": the name ", in_quotes(name),
                  " has a byte 0");
    const Tensor dense = writable(kWriter, name, array);
    std::string content = npy_header(kWriter, name, dense);
    const std::span<const std::byte> bytes = bytes_of(dense);
    content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    members.emplace_back(name + ".npy", std::move(content));
  }
  ZipWriter archive(kWriter, path);
  for (const auto& [name, content] : members) archive.add(name, std::as_bytes(std::span(content)), options.compressed);
  const std::vector<std::byte> bytes = archive.close();
  write_file(kWriter, path, bytes);
}

}  // namespace capstan::io
