// Arrays to .npy and .npz files.
#include <zip.h>

#include <cstring>

#include "capstan/error.h"
#include "capstan/io.h"
#include "src/core/check.h"
#include "src/io/file_sink.h"
#include "src/io/tensor_list.h"

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
  throw DTypeError(detail::join(writer, ": the array ", quoted(name), " is ", name_of(dtype),
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
  // Python writes a comma behind the last length only if it is the only one.
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

// An archive in memory that is written when it is closed.
class ArchiveInMemory {
 public:
  explicit ArchiveInMemory(std::string path) : path_(std::move(path)) {
    zip_error_t error;
    zip_error_init(&error);
    source_ = zip_source_buffer_create(nullptr, 0, 0, &error);
    if (source_ == nullptr) fail(zip_error_strerror(&error));
    zip_source_keep(source_);
    archive_ = zip_open_from_source(source_, ZIP_CREATE | ZIP_TRUNCATE, &error);
    if (archive_ == nullptr) {
      const std::string reason = zip_error_strerror(&error);
      zip_source_free(source_);
      release_source();
      fail(reason);
    }
    zip_error_fini(&error);
  }
  ~ArchiveInMemory() {
    if (archive_ != nullptr) zip_discard(archive_);
    release_source();
  }
  ArchiveInMemory(const ArchiveInMemory&) = delete;
  ArchiveInMemory& operator=(const ArchiveInMemory&) = delete;

  // The bytes must stay until close().
  void add(const std::string& name, const std::string& content, bool is_compressed) {
    zip_source_t* const source = zip_source_buffer(archive_, content.data(), content.size(), 0);
    if (source == nullptr) fail(zip_strerror(archive_));
    const zip_int64_t index = zip_file_add(archive_, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(source);
      fail(zip_strerror(archive_));
    }
    const auto at = static_cast<zip_uint64_t>(index);
    // The same arrays give the same bytes at any time.
    constexpr zip_uint16_t kTime = 0, kFirstOf1980 = 1 << 5 | 1;
    const int method = is_compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
    if (zip_set_file_compression(archive_, at, method, 0) != 0 ||
        zip_file_set_dostime(archive_, at, kTime, kFirstOf1980, 0) != 0) {
      fail(zip_strerror(archive_));
    }
  }

  std::vector<std::byte> close() {
    if (zip_close(archive_) != 0) fail(zip_strerror(archive_));
    archive_ = nullptr;
    zip_stat_t stat;
    if (zip_source_stat(source_, &stat) != 0) fail(zip_error_strerror(zip_source_error(source_)));
    std::vector<std::byte> bytes(stat.size);
    if (zip_source_open(source_) != 0) fail(zip_error_strerror(zip_source_error(source_)));
    const zip_int64_t got = zip_source_read(source_, bytes.data(), bytes.size());
    zip_source_close(source_);
    if (got < 0 || static_cast<std::size_t>(got) != bytes.size()) fail("it cannot be read back");
    return bytes;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    fail_file("save_npz", "cannot make the archive, " + reason, path_);
  }
  void release_source() {
    if (source_ != nullptr) zip_source_free(source_);
    source_ = nullptr;
  }

  std::string path_;
  zip_source_t* source_ = nullptr;
  zip_t* archive_ = nullptr;
};

}  // namespace

void save_npy(const std::string& path, const Tensor& array) {
  const Tensor dense = writable("save_npy", "array", array);
  const std::string header = npy_header("save_npy", "array", dense);
  const std::span<const std::byte> pieces[] = {std::as_bytes(std::span(header)), bytes_of(dense)};
  write_file("save_npy", path, pieces);
}

void save_npz(const std::string& path, const std::map<std::string, Tensor>& arrays, const SaveNpzOptions& options) {
  constexpr const char* kWriter = "save_npz";
  // An archive without members is no file for libzip.
  CAPSTAN_CHECK(!arrays.empty(), ValueError, kWriter, ": there are no arrays");
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [name, array] : arrays) {
    CAPSTAN_CHECK(name.find('\0') == std::string::npos, ValueError, kWriter, ": the name ", quoted(name),
                  " has a byte 0");
    const Tensor dense = writable(kWriter, name, array);
    std::string content = npy_header(kWriter, name, dense);
    const std::span<const std::byte> bytes = bytes_of(dense);
    content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    members.emplace_back(name + ".npy", std::move(content));
  }
  ArchiveInMemory archive(path);
  for (const auto& [name, content] : members) archive.add(name, content, options.compressed);
  const std::vector<std::byte> bytes = archive.close();
  write_file(kWriter, path, bytes);
}

}  // namespace capstan::io
