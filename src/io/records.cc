// TFRecord files.
//
// A record is its length in eight bytes, a checksum of these, the data, and a checksum of the data: CRC-32C in the form
// of crc32c.h. The checksum of the length is verified before the length is used.
#include "capstan/records.h"

#include <algorithm>
#include <cstring>

#include "src/core/check.h"
#include "src/io/byte_source.h"
#include "src/io/compression.h"
#include "src/io/crc32c.h"
#include "src/io/output_file.h"
#include "src/io/record_frame.h"

namespace capstan::io {

namespace {

constexpr std::size_t kHeader = sizeof(std::uint64_t) + sizeof(std::uint32_t);
constexpr std::size_t kFooter = sizeof(std::uint32_t);

std::string at_byte(std::uint64_t offset) { return "the record at byte " + std::to_string(offset); }

}  // namespace

struct RecordReader::State {
  std::unique_ptr<ByteSource> source;
  std::uint64_t offset = 0;
  bool is_at_end = false;

  // The data and its checksum. Memory grows with the bytes that arrive, whatever the length says.
  std::string body(std::uint64_t size) {
    constexpr std::uint64_t kStep = std::uint64_t{1} << 22;
    std::string bytes;
    while (bytes.size() < size) {
      const std::size_t begin = bytes.size();
      const auto step =
          static_cast<std::size_t>(std::min<std::uint64_t>(size - begin, std::max<std::uint64_t>(kStep, begin)));
      bytes.resize(begin + step);
      const std::size_t got = source->read(reinterpret_cast<std::byte*>(bytes.data()) + begin, step);
      if (got < step) cut_off(size, begin + got);
    }
    return bytes;
  }

  [[noreturn]] void cut_off(std::uint64_t size, std::uint64_t found) const {
    source->fail(at_byte(offset) + " is cut off: " + std::to_string(size) + " bytes should follow its length, and " +
                     std::to_string(found) + " do",
                 kFetchAgain);
  }
};

RecordReader::RecordReader(const std::string& path, const RecordReaderOptions& options)
    : state_(std::make_unique<State>()) {
  const Compression compression = compression_from("record_reader", options.compression);
  state_->source = open_compressed("record_reader", path, compression);
}
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

std::uint64_t RecordReader::offset() const {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "record_reader: it was moved from");
  return state_->offset;
}

std::optional<std::string> RecordReader::next() {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "record_reader: it was moved from");
  State& state = *state_;
  if (state.is_at_end) return std::nullopt;
  state.is_at_end = true;  // stays so after an error
  char header[kHeader];
  const std::size_t got = state.source->read(reinterpret_cast<std::byte*>(header), kHeader);
  if (got == 0) return std::nullopt;
  if (got < kHeader) {
    state.source->fail(at_byte(state.offset) + " is cut off in its length: " + std::to_string(got) + " bytes of " +
                           std::to_string(kHeader),
                       kFetchAgain);
  }
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;
  std::memcpy(&length, header, sizeof length);
  std::memcpy(&checksum, header + sizeof length, sizeof checksum);
  if (masked_crc32c(header, sizeof length) != checksum) {
    state.source->fail("the checksum of the length of " + at_byte(state.offset) + " differs",
                       state.offset == 0 ? "is this a TFRecord file, and compressed as the options say?" : kFetchAgain);
  }
  const std::uint64_t most = state.source->most_bytes();
  if (length > most || most - length < kFooter) {
    state.source->fail(at_byte(state.offset) + " should have " + std::to_string(length) +
                           " bytes, but the file cannot hold more than " + std::to_string(most),
                       kFetchAgain);
  }
  std::string record = state.body(length + kFooter);
  std::memcpy(&checksum, record.data() + length, sizeof checksum);
  record.resize(static_cast<std::size_t>(length));
  if (masked_crc32c(record.data(), record.size()) != checksum) {
    state.source->fail("the checksum of " + at_byte(state.offset) + " differs", kFetchAgain);
  }
  state.offset += kHeader + length + kFooter;
  state.is_at_end = false;
  return record;
}

struct RecordWriter::State {
  OutputFile file;
};

RecordWriter::RecordWriter(const std::string& path, const RecordWriterOptions& options) {
  const Compression compression = compression_from("record_writer", options.compression);
  CAPSTAN_CHECK(options.compression_level >= -1 && options.compression_level <= 9, ValueError,
                "record_writer: compression_level ", options.compression_level, " is not from 0 to 9, or -1");
  state_.reset(new State{{"record_writer", path, compression, options.compression_level}});
}
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter& RecordWriter::operator=(RecordWriter&&) noexcept = default;
RecordWriter::~RecordWriter() = default;

void RecordWriter::write(std::string_view record) {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "record_writer: it was moved from");
  state_->file.write(framed_record(record));
}

void RecordWriter::flush() {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "record_writer: it was moved from");
  state_->file.flush();
}

void RecordWriter::close() {
  if (state_ != nullptr) state_->file.close();
}

std::string framed_record(std::string_view record) {
  const std::uint64_t length = record.size();
  const std::uint32_t of_length = masked_crc32c(&length, sizeof length);
  const std::uint32_t of_data = masked_crc32c(record.data(), record.size());
  std::string bytes;
  bytes.reserve(kHeader + record.size() + kFooter);
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes.append(reinterpret_cast<const char*>(&of_length), sizeof of_length);
  bytes.append(record);
  bytes.append(reinterpret_cast<const char*>(&of_data), sizeof of_data);
  return bytes;
}

}  // namespace capstan::io
