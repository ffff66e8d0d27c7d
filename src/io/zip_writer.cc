#include "src/io/zip_writer.h"

#include "src/io/byte_source.h"

namespace capstan::io {

ZipWriter::ZipWriter(std::string writer, std::string path) : writer_(std::move(writer)), path_(std::move(path)) {
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

ZipWriter::~ZipWriter() {
  if (archive_ != nullptr) zip_discard(archive_);
  release_source();
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> content, bool is_compressed) {
  zip_source_t* const source = zip_source_buffer(archive_, content.data(), content.size(), 0);
  if (source == nullptr) fail(zip_strerror(archive_));
  const zip_int64_t index = zip_file_add(archive_, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    fail(zip_strerror(archive_));
  }
  const auto at = static_cast<zip_uint64_t>(index);
  constexpr zip_uint16_t kTime = 0, kFirstOf1980 = 1 << 5 | 1;
  const int method = is_compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE;
  if (zip_set_file_compression(archive_, at, method, 0) != 0 ||
      zip_file_set_dostime(archive_, at, kTime, kFirstOf1980, 0) != 0) {
    fail(zip_strerror(archive_));
  }
}

std::vector<std::byte> ZipWriter::close() {
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

void ZipWriter::fail(const std::string& reason) const {
  fail_file(writer_, "cannot make the archive, " + reason, path_);
}

void ZipWriter::release_source() {
  if (source_ != nullptr) zip_source_free(source_);
  source_ = nullptr;
}

}  // namespace capstan::io
