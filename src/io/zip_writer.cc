#include "src/io/zip_writer.h"

#include <minizip/zip.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/io/byte_source.h"

namespace capstan::io {

namespace {

using Memory = ZipWriter::Memory;

// A file that is memory: what the library asks of one. It has no exceptions: 0 and 1 are errors.
void* open_memory(void* memory, const void*, int) { return memory; }
int close_memory(void*, void*) { return 0; }
int error_of_memory(void*, void*) { return 0; }
ZPOS64_T place_in_memory(void*, void* stream) { return static_cast<Memory*>(stream)->at; }

uLong read_memory(void*, void* stream, void* out, uLong size) {
  Memory& memory = *static_cast<Memory*>(stream);
  const std::size_t count = std::min<std::size_t>(size, memory.bytes.size() - memory.at);
  std::memcpy(out, memory.bytes.data() + memory.at, count);
  memory.at += count;
  return count;
}

uLong write_memory(void*, void* stream, const void* bytes, uLong size) {
  Memory& memory = *static_cast<Memory*>(stream);
  try {
    if (memory.bytes.size() - memory.at < size) memory.bytes.resize(memory.at + size);
  } catch (...) {
    return 0;
  }
  std::memcpy(memory.bytes.data() + memory.at, bytes, size);
  memory.at += size;
  return size;
}

long seek_memory(void*, void* stream, ZPOS64_T offset, int origin) {
  Memory& memory = *static_cast<Memory*>(stream);
  const std::size_t begin = origin == ZLIB_FILEFUNC_SEEK_SET   ? 0
                            : origin == ZLIB_FILEFUNC_SEEK_CUR ? memory.at
                                                               : memory.bytes.size();
  if (offset > memory.bytes.size() - begin) return 1;
  memory.at = begin + offset;
  return 0;
}

}  // namespace

ZipWriter::ZipWriter(std::string writer, std::string path) : writer_(std::move(writer)), path_(std::move(path)) {
  zlib_filefunc64_def functions{open_memory, read_memory,  write_memory,    place_in_memory,
                                seek_memory, close_memory, error_of_memory, &memory_};
  archive_ = zipOpen2_64(path_.c_str(), APPEND_STATUS_CREATE, nullptr, &functions);
  check(archive_ != nullptr);
}

ZipWriter::~ZipWriter() {
  if (archive_ != nullptr) zipClose(archive_, nullptr);
}

void ZipWriter::add(const std::string& name, std::span<const std::byte> content, bool is_compressed) {
  constexpr uLong kFirstOf1980 = (1 << 5 | 1) << 16, kNamesAreUtf8 = 1 << 11;
  constexpr std::size_t kMost = std::size_t{1} << 30;
  constexpr std::size_t kWide = 0xffffffff;  // sizes of more than 32 bits
  zip_fileinfo info{};
  info.dosDate = kFirstOf1980;
  const int level = is_compressed ? Z_DEFAULT_COMPRESSION : 0;
  check(zipOpenNewFileInZip4_64(archive_, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                                is_compressed ? Z_DEFLATED : 0, level, 0, -MAX_WBITS, DEF_MEM_LEVEL, Z_DEFAULT_STRATEGY,
                                nullptr, 0, 0, kNamesAreUtf8,
                                content.size() + content.size() / 1000 + 64 >= kWide ? 1 : 0) == ZIP_OK);
  while (!content.empty()) {
    const std::size_t step = std::min(content.size(), kMost);
    check(zipWriteInFileInZip(archive_, content.data(), static_cast<unsigned>(step)) == ZIP_OK);
    content = content.subspan(step);
  }
  check(zipCloseFileInZip(archive_) == ZIP_OK);
}

std::vector<std::byte> ZipWriter::close() {
  check(zipClose(std::exchange(archive_, nullptr), nullptr) == ZIP_OK);
  return std::move(memory_.bytes);
}

void ZipWriter::check(bool is_done) const {
  if (!is_done) fail_file(writer_, "cannot make the archive, there is not enough memory", path_);
}

}  // namespace capstan::io
