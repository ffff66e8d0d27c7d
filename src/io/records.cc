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

std::string at_byte(std::uint64_t offset) { return "the record at byte " + std::to_string(offset); }

}  // namespace

RecordFrame::RecordFrame(std::string_view record) {
  const std::uint64_t length = record.size();
  const std::uint32_t of_length = masked_crc32c(&length, sizeof length);
  const std::uint32_t of_data = masked_crc32c(record.data(), record.size());
  std::memcpy(header, &length, sizeof length);
  std::memcpy(header + sizeof length, &of_length, sizeof of_length);
  std::memcpy(footer, &of_data, sizeof of_data);
}

std::string framed_record(std::string_view record) {
  const RecordFrame frame(record);
  std::string bytes;
  bytes.reserve(RecordFrame::kHeader + record.size() + RecordFrame::kFooter);
  bytes.append(frame.header, RecordFrame::kHeader);
  bytes.append(record);
  bytes.append(frame.footer, RecordFrame::kFooter);
  return bytes;
}

// The data and its checksum. Memory grows with the bytes that arrive, whatever the length says.
std::string FramedRecords::body(std::uint64_t size) {
  constexpr std::uint64_t kStep = std::uint64_t{1} << 22;
  std::string bytes;
  while (bytes.size() < size) {
    const std::size_t begin = bytes.size();
    const auto step =
        static_cast<std::size_t>(std::min<std::uint64_t>(size - begin, std::max<std::uint64_t>(kStep, begin)));
    bytes.resize(begin + step);
    const std::size_t got = source_->read(reinterpret_cast<std::byte*>(bytes.data()) + begin, step);
    if (got < step) cut_off(size, begin + got);
  }
  return bytes;
}

void FramedRecords::cut_off(std::uint64_t size, std::uint64_t found) const {
  source_->fail(at_byte(offset_) + " is cut off: " + std::to_string(size) + " bytes should follow its length, and " +
                    std::to_string(found) + " do",
                kFetchAgain);
}

std::optional<std::string> FramedRecords::next() {
  if (is_at_end_) return std::nullopt;
  is_at_end_ = true;  // stays so after an error
  char header[RecordFrame::kHeader];
  const std::size_t got = source_->read(reinterpret_cast<std::byte*>(header), sizeof header);
  if (got == 0) return std::nullopt;
  if (got < sizeof header) {
    source_->fail(at_byte(offset_) + " is cut off in its length: " + std::to_string(got) + " bytes of " +
                      std::to_string(sizeof header),
                  kFetchAgain);
  }
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;
  std::memcpy(&length, header, sizeof length);
  std::memcpy(&checksum, header + sizeof length, sizeof checksum);
  if (masked_crc32c(header, sizeof length) != checksum) {
    source_->fail("the checksum of the length of " + at_byte(offset_) + " differs",
                  offset_ == 0 ? doubt_ : kFetchAgain);
  }
  const std::uint64_t most = source_->most_bytes();
  if (length > most || most - length < RecordFrame::kFooter) {
    source_->fail(at_byte(offset_) + " should have " + std::to_string(length) +
                      " bytes, but the file cannot hold more than " + std::to_string(most),
                  kFetchAgain);
  }
  std::string record = body(length + RecordFrame::kFooter);
  std::memcpy(&checksum, record.data() + length, sizeof checksum);
  record.resize(static_cast<std::size_t>(length));
  if (masked_crc32c(record.data(), record.size()) != checksum) {
    source_->fail("the checksum of " + at_byte(offset_) + " differs", kFetchAgain);
  }
  offset_ += RecordFrame::kHeader + length + RecordFrame::kFooter;
  is_at_end_ = false;
  return record;
}

struct RecordReader::State {
  FramedRecords records;
};

RecordReader::RecordReader(const std::string& path, const RecordReaderOptions& options) {
  const Compression compression = compression_from("record_reader", options.compression);
  state_.reset(new State{{open_compressed("record_reader", path, compression),
                          "is this a TFRecord file, and compressed as the options say?"}});
}
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

std::uint64_t RecordReader::offset() const {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "record_reader: it was moved from");
  return state_->records.offset();
}

std::optional<std::string> RecordReader::next() {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "record_reader: it was moved from");
  return state_->records.next();
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
  const RecordFrame frame(record);
  state_->file.write({{frame.header, RecordFrame::kHeader}, record, {frame.footer, RecordFrame::kFooter}});
}

void RecordWriter::flush() {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "record_writer: it was moved from");
  state_->file.flush();
}

void RecordWriter::close() {
  if (state_ != nullptr) state_->file.close();
}

}  // namespace capstan::io
