// Bytes in sequence, from a plain file, a gzip file, a member of a zip archive, or memory.
//
// A reader of a format checks the header and then takes as many bytes as the header promises. Two
// things make this safe against files that lie. First, a source knows an upper bound of what it can
// still deliver: for compressed data, deflate expands at most 1032 times. A header that promises
// more than the bound is refused before any memory is taken. Second, memory grows with the bytes
// that really arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::io {

/// Not thread-safe; one reader owns it.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads up to `size` bytes; fewer only at the end. Throws IoError if the data are damaged.
  virtual size_t read(std::byte* out, size_t size) = 0;

  /// The next bytes where they lie, which they do as long as somebody shares the pointer; nothing, without moving on,
  /// if the source has no such place, has not as many, or if the place is no multiple of `alignment`.
  virtual std::shared_ptr<const std::byte> lend(size_t /*size*/, size_t /*alignment*/) { return nullptr; }

  /// Reads bytes from a place in the file, wherever reading has come; false, without a change, if the source cannot do
  /// that or has not as many there.
  virtual bool read_at(uint64_t /*place*/, std::byte* /*out*/, size_t /*size*/) { return false; }
  virtual bool can_read_at() const { return false; }

  /// No more bytes than this can come, counted from the beginning.
  virtual uint64_t most_bytes() const = 0;

  /// What error texts show after "file:".
  const std::string& name() const { return name_; }

  /// The reader's name, which begins each error text: "read_idx".
  const std::string& reader() const { return reader_; }

  /// Throws IoError with a text of the fixed form.
  [[noreturn]] void fail(const std::string& problem, const std::string& help = "") const;

 protected:
  ByteSource(std::string reader, std::string name) : reader_(std::move(reader)), name_(std::move(name)) {}

 private:
  std::string reader_;
  std::string name_;
};

/// Opens a file; one that begins with the gzip magic number is decompressed. Throws IoError if it
/// is missing, is not a regular file or cannot be read.
std::unique_ptr<ByteSource> open_file(const std::string& reader, const std::string& path);

/// The same without looking for gzip, for formats whose first bytes can be any.
std::unique_ptr<ByteSource> open_plain_file(const std::string& reader, const std::string& path);

/// A plain file that is mapped, and lends its bytes; read as others are where the system cannot map it.
std::unique_ptr<ByteSource> open_mapped_file(const std::string& reader, const std::string& path);

/// Bytes in memory, which must outlive the source. With an owner, which keeps them, it lends them.
std::unique_ptr<ByteSource> open_memory(const std::string& reader, const std::string& name,
                                        std::span<const std::byte> bytes, std::shared_ptr<const void> owner = nullptr);

/// Reads exactly `size` bytes. `what` ("header", "data") tells the error text which part of the
/// file is short.
std::vector<std::byte> read_exactly(ByteSource& source, uint64_t size, std::string_view what);

/// The same into memory that the caller has, after a check that the source can hold as many.
void read_into(ByteSource& source, std::span<std::byte> out, std::string_view what);

/// How many bytes to ask for at a time: `most`, or fewer from a small source, all of which come at once then and are
/// one fewer than that.
std::size_t piece_of(const ByteSource& source, std::size_t most);

/// Throws IoError if the source holds another byte.
void expect_end(ByteSource& source);

/// Part of a file's content made fit for an error text: quoted, shortened, unprintable bytes as
/// "?".
std::string in_quotes(std::string_view text);

/// Throws IoError: "`reader`: `problem`", the file, and a remedy if there is one.
[[noreturn]] void fail_file(const std::string& reader, const std::string& problem, const std::string& file,
                            const std::string& help = "");

/// An upper bound of what `size` bytes of deflated data become.
uint64_t most_inflated(uint64_t size);

/// The remedy for files that are cut off or damaged.
extern const char* const kFetchAgain;

}  // namespace capstan::io
