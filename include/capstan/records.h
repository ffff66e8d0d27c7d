// Records in files: TFRecord, and the Examples that are usually in them.
//
// A file is untrusted: checksums are verified, lengths are compared with what the file can hold before memory is taken,
// and what is wrong is an IoError that names the file, the place and the reason.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "capstan/export.h"
#include "capstan/tensor.h"

namespace capstan::io {

/// A list of integers, of floats or of byte strings: tf.train.Feature.
///
///     io::Feature id = 7, name = "seven", sizes = std::vector<float>{0.5f, 2.0f};
class CAPSTAN_EXPORT Feature {
 public:
  using Bytes = std::vector<std::string>;
  using Floats = std::vector<float>;
  using Integers = std::vector<std::int64_t>;

  /// Of no kind, and empty.
  Feature() = default;
  /// One number. Errors: ValueError for an unsigned number beyond int64.
  template <std::integral T>
  Feature(T value) : Feature(Integers{as_integer(value)}) {}
  template <std::floating_point T>
  Feature(T value) : Feature(Floats{static_cast<float>(value)}) {}
  Feature(const char* value);
  Feature(std::string value);
  Feature(Integers values);
  Feature(Floats values);
  Feature(Bytes values);
  /// The elements of a tensor, row by row: integers and bool as integers, floating numbers as floats. Errors:
  /// DTypeError for complex numbers.
  Feature(const Tensor& tensor);

  /// The list. Errors: ValueError if it is of another kind; one of no kind is an empty list of every kind.
  const Integers& integers() const;
  const Floats& floats() const;
  const Bytes& bytes() const;
  /// int64[n] or float32[n]. Errors: ValueError for byte strings.
  Tensor tensor() const;
  /// "integers", "floats", "bytes" or "nothing".
  std::string_view kind() const;

  friend bool operator==(const Feature&, const Feature&) = default;

 private:
  friend class Example;
  template <class T>
  static std::int64_t as_integer(T value) {
    if constexpr (sizeof(T) == sizeof(std::int64_t) && std::unsigned_integral<T>) {
      return detail::to_int64(value);
    } else {
      return static_cast<std::int64_t>(value);
    }
  }

  std::variant<std::monostate, Bytes, Floats, Integers> values_;
};

/// Features by name: tf.train.Example, which programs in Python write and read.
///
///     io::Example example = {{"id", 7}, {"name", "seven"}, {"pixels", image}};
///     writer.write(example.serialize());
///     io::Example same = io::Example::parse(*reader.next());
///     same["id"].integers()[0];                          // 7
///     Tensor pixels = reshape(same["pixels"].tensor(), {8, 8});
class CAPSTAN_EXPORT Example {
 public:
  Example() = default;
  Example(std::initializer_list<std::pair<const std::string, Feature>> features);
  explicit Example(std::map<std::string, Feature> features);

  /// Reads a message. Fields that are not known are left out; of a name that is there twice the last one counts.
  /// Errors: IoError, with `file` in its text if given, for what is no such message and for names that are not UTF-8.
  static Example parse(std::string_view message, std::string_view file = {});
  /// The message, features in the order of their names: TensorFlow's bytes. Errors: ValueError for a name that is not
  /// UTF-8.
  std::string serialize() const;

  /// One feature. Errors: IndexError, with the names of all, if there is none of this name.
  const Feature& operator[](const std::string& name) const;
  bool contains(const std::string& name) const;
  void set(const std::string& name, Feature feature);
  const std::map<std::string, Feature>& features() const { return features_; }

  friend bool operator==(const Example&, const Example&) = default;

 private:
  std::map<std::string, Feature> features_;
};

/// Options of RecordReader.
struct RecordReaderOptions {
  std::string compression = {};  ///< "": none, "GZIP" or "ZLIB"
};

/// Reads a TFRecord file: tf.data.TFRecordDataset and tf.io.tf_record_iterator. One thread at a time. Errors:
/// ValueError for another compression; IoError if the file cannot be opened.
///
///     io::RecordReader reader("train.tfrecord", {.compression = "GZIP"});
///     while (std::optional<std::string> record = reader.next()) examples.push_back(io::Example::parse(*record));
class CAPSTAN_EXPORT RecordReader {
 public:
  explicit RecordReader(const std::string& path, const RecordReaderOptions& options = {});
  RecordReader(RecordReader&& other) noexcept;
  RecordReader& operator=(RecordReader&& other) noexcept;
  ~RecordReader();

  /// The next record, or nothing at the end of the file. Errors: IoError for a record that is cut off or whose
  /// checksums differ; after one there is no next record.
  std::optional<std::string> next();
  /// Where the next record begins, in bytes of the uncompressed file.
  std::uint64_t offset() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Options of RecordWriter.
struct RecordWriterOptions {
  std::string compression = {};  ///< "": none, "GZIP" or "ZLIB"
  int compression_level = -1;    ///< from 0, none, to 9, smallest; -1: zlib's choice
};

/// Writes a TFRecord file: tf.io.TFRecordWriter. What was at `path` is gone. The end of its life closes it, without an
/// error: call close() to see one. One thread at a time. Errors: ValueError for another compression or level; IoError
/// if the file cannot be written.
///
///     io::RecordWriter writer("train.tfrecord");
///     writer.write(io::Example{{"x", 1.5}}.serialize());
///     writer.close();
class CAPSTAN_EXPORT RecordWriter {
 public:
  explicit RecordWriter(const std::string& path, const RecordWriterOptions& options = {});
  RecordWriter(RecordWriter&& other) noexcept;
  RecordWriter& operator=(RecordWriter&& other) noexcept;
  ~RecordWriter();

  /// Adds a record. Errors: IoError if it cannot be written; ValueError after close().
  void write(std::string_view record);
  /// Hands what was written to the operating system; compressed data only as far as they are complete. Errors: as
  /// write().
  void flush();
  /// Writes what is left. Errors: IoError. A second call does nothing.
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace capstan::io
