// Files of elements of datasets: what cache(filename), save() and snapshot() write.
//
// A file is a row of records (record_frame.h), each with checksums of its length and of its data. The first has the
// kinds of the parts of an element; then come blocks of elements; the last one, which is always as long, has their
// number, so that a reader knows the number, and that the file is whole, before it reads any. An element is written
// part by part, a part as its tensors:
//
//     block    "b", number of elements, elements
//     part     number of tensors, tensors
//     tensor   a byte for the dtype, a byte for the rank, lengths, the elements in row-major order, little-endian
//
// Numbers are varints. A block ends when it is large enough, so that small elements share a frame, or when a writer
// wants to have all in the file. Safetensors were rejected: their list of contents is in front, where a writer cannot
// know it yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/tensor.h"
#include "src/io/file_sink.h"
#include "src/io/record_frame.h"

namespace capstan::io {

/// The tensors of one part of an element.
using ElementPart = std::vector<Tensor>;

/// Writes a file, which is there when finish() returns. Everything throws IoError if the file cannot be written; then
/// the writer is of no use any more.
class ElementWriter {
 public:
  /// Kinds of parts are texts that a reader compares.
  ElementWriter(const std::string& writer, const std::string& path, const std::vector<std::string>& kinds);

  /// Adds an element. Tensors have to be dense and have values.
  void add(std::span<const ElementPart> parts);
  /// Adds a block of another file as it is.
  void add_block(std::string_view block, std::int64_t elements);
  /// What was added is in the draft.
  void flush();
  void finish();

  std::int64_t count() const { return count_; }
  FileDraft& draft() { return draft_; }

 private:
  void write_record(std::string_view record);

  FileDraft draft_;
  std::string block_;
  std::int64_t in_block_ = 0, count_ = 0;
};

/// Reads a file. Throws IoError, in the name of `reader`, for what is damaged, cut off or no such file.
class ElementReader {
 public:
  /// A draft has no end.
  enum class Form { kWhole, kDraft };
  ElementReader(const std::string& reader, const std::string& path, Form form = Form::kWhole);

  const std::vector<std::string>& kinds() const { return kinds_; }
  /// The number of elements of a whole file.
  std::int64_t count() const { return count_; }

  /// The next element; false at the end. An error ends the file.
  bool next(std::vector<ElementPart>& parts);
  /// Passes over elements, whose checksums are verified; false if there are fewer.
  bool skip(std::int64_t elements);
  /// The next block and its number of elements; nothing at the end. Not in the middle of one.
  std::optional<std::string_view> next_block(std::int64_t* elements);

  /// Fails because of an element, that which was read last.
  [[noreturn]] void fail_last(const std::string& problem) const { fail_at(at_ - 1, problem); }
  const ByteSource& source() const { return records_.source(); }

 private:
  [[noreturn]] void fail_at(std::int64_t element, const std::string& problem) const;
  [[noreturn]] void fail(const std::string& problem) const { fail_at(at_, problem); }
  bool open_block();
  void read_kinds();
  std::string_view take(std::uint64_t size);
  std::uint64_t varint();
  Tensor read_tensor();

  FramedRecords records_;
  Form form_;
  std::vector<std::string> kinds_;
  std::int64_t count_ = 0;
  std::string record_;
  std::size_t place_ = 0;                 // in the record
  std::int64_t in_block_ = 0, left_ = 0;  // elements, and those that come next
  std::int64_t at_ = 0;
  bool has_ended_ = false;
};

}  // namespace capstan::io
