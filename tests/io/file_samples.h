// Small files of each format, built byte by byte, so that the tests do not rest on the code they test; zip archives are
// those of the writer, and stored files of NumPy, Keras and PyTorch are read elsewhere.
#pragma once

#include "capstan/error.h"
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <fstream>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/io/zip_writer.h"

namespace capstan::io {

inline std::string big_endian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

inline std::string idx_bytes(uint8_t code, std::vector<uint32_t> sizes, std::string_view elements) {
  std::string bytes = {'\0', '\0', static_cast<char>(code), static_cast<char>(sizes.size())};
  for (uint32_t size : sizes) bytes += big_endian(size);
  return bytes + std::string(elements);
}

inline std::string gzipped(std::string_view content) {
  z_stream stream{};
  // 31: the largest window, with a gzip header.
  if (deflateInit2(&stream, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string npy_with_header(std::string header, std::string_view elements, int version = 1) {
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(header.size() >> 8 * i & 0xff);
  return bytes + header + std::string(elements);
}

inline std::string npy_bytes(std::string_view descr, std::string_view shape, std::string_view elements,
                             bool fortran_order = false) {
  std::string header = "{'descr': '" + std::string(descr) + "', 'fortran_order': ";
  header += fortran_order ? "True" : "False";
  header += ", 'shape': " + std::string(shape) + ", }";
  return npy_with_header(header, elements);
}

template <class T>
std::string bytes_of(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

inline void write_zip(const std::string& path, const std::map<std::string, std::string>& members,
                      bool is_compressed = true) {
  ZipWriter archive("test", path);
  for (const auto& [name, content] : members) archive.add(name, std::as_bytes(std::span(content)), is_compressed);
  const std::vector<std::byte> bytes = archive.close();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// The text of the IoError that `read` throws; empty, with a failed test, if it throws none.
template <class Read>
std::string io_error_of(Read read) {
  try {
    read();
  } catch (const IoError& error) {
    return error.what();
  }
  ADD_FAILURE() << "expected an IoError";
  return "";
}

/// Expects an IoError whose text contains each of `parts`.
template <class Read>
void expect_io_error(Read read, std::initializer_list<std::string_view> parts) {
  const std::string text = io_error_of(read);
  for (std::string_view part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "the text lacks: " << part << "\n" << text;
  }
}

/// Numbers from a counter: the same on every machine.
class Mutator {
 public:
  explicit Mutator(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  /// A damaged copy: a few bytes changed, a piece cut out or doubled, or the end cut off.
  std::string damaged(std::string bytes) {
    const uint64_t changes = 1 + next() % 3;
    for (uint64_t i = 0; i < changes && !bytes.empty(); ++i) {
      const size_t at = next() % bytes.size();
      const size_t length = 1 + next() % 8;
      switch (next() % 6) {
        case 0:
        case 1:
          bytes[at] = static_cast<char>(next());
          break;
        case 2:
          bytes[at] = static_cast<char>(bytes[at] ^ 1 << next() % 8);
          break;
        case 3:
          bytes.erase(at, length);
          break;
        case 4:
          bytes.insert(at, bytes.substr(at, length));
          break;
        default:
          bytes.resize(at);
      }
    }
    return bytes;
  }

 private:
  uint64_t state_;
};

}  // namespace capstan::io
