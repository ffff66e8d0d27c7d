#include "src/io/element_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <utility>

#include "src/core/unfilled.h"
#include "src/io/raw_array.h"
#include "src/io/wire.h"

namespace capstan::io {

namespace {

constexpr std::string_view kElementsMagic = "hcapstan elements 1\n";
constexpr char kBlock = 'b', kEnd = 'e';
constexpr std::size_t kEndSize = 16;
constexpr std::size_t kFullBlock = std::size_t{1} << 16;
constexpr const char* kDoubt = "is this a file that cache(), save() or snapshot() of a dataset wrote?";

// The bytes that stand for dtypes, by their place. New ones come at the end.
constexpr std::array<DType, 9> kDTypeBytes = {float32, float64, bfloat16,  int32,     int64,
                                              uint8,   bool_,   complex64, complex128};

std::string end_record(std::int64_t count) {
  std::string record(kEndSize, '\0');
  record[0] = kEnd;
  std::memcpy(record.data() + 8, &count, sizeof count);
  return record;
}

// The number of elements that a record says, if it is the last one of a file.
std::optional<std::int64_t> count_at_end(std::string_view record) {
  if (record.size() != kEndSize || record[0] != kEnd) return {};
  std::int64_t count = 0;
  std::memcpy(&count, record.data() + 8, sizeof count);
  return count;
}

std::span<const std::byte> bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

void append_tensor(std::string& block, const Tensor& tensor) {
  const auto* const place = std::find(kDTypeBytes.begin(), kDTypeBytes.end(), tensor.dtype());
  block.push_back(static_cast<char>(place - kDTypeBytes.begin()));
  block.push_back(static_cast<char>(tensor.rank()));
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    wire::append_varint(block, static_cast<std::uint64_t>(tensor.dim(axis)));
  }
  const std::size_t size = static_cast<std::size_t>(tensor.size()) * size_of(tensor.dtype());
  if (size > 0) block.append(static_cast<const char*>(tensor.raw_data()), size);
}

}  // namespace

// --- Writing ---

ElementWriter::ElementWriter(const std::string& writer, const std::string& path, const std::vector<std::string>& kinds)
    : draft_(writer, path) {
  std::string record(kElementsMagic);
  wire::append_varint(record, kinds.size());
  for (const std::string& kind : kinds) {
    wire::append_varint(record, kind.size());
    record += kind;
  }
  write_record(record);
}

void ElementWriter::write_record(std::string_view record) {
  const RecordFrame frame(record);
  draft_.write(std::as_bytes(std::span(frame.header)));
  draft_.write(bytes_of_text(record));
  draft_.write(std::as_bytes(std::span(frame.footer)));
}

void ElementWriter::add(std::span<const ElementPart> parts) {
  for (const ElementPart& part : parts) {
    wire::append_varint(block_, part.size());
    for (const Tensor& tensor : part) append_tensor(block_, tensor);
  }
  ++in_block_;
  ++count_;
  if (block_.size() >= kFullBlock) flush();
}

void ElementWriter::add_block(std::string_view block, std::int64_t elements) {
  flush();
  write_record(block);
  count_ += elements;
}

void ElementWriter::flush() {
  if (in_block_ == 0) return;
  // What is in front is known at the end.
  std::string front(1, kBlock);
  wire::append_varint(front, static_cast<std::uint64_t>(in_block_));
  block_.insert(0, front);
  write_record(block_);
  block_.clear();
  in_block_ = 0;
}

void ElementWriter::finish() {
  flush();
  write_record(end_record(count_));
  draft_.finish();
}

// --- Reading ---

ElementReader::ElementReader(const std::string& reader, const std::string& path, Form form)
    : records_(open_plain_file(reader, path), kDoubt), form_(form) {
  read_kinds();
  if (form == Form::kDraft) return;
  constexpr std::size_t kFrame = RecordFrame::kHeader + kEndSize + RecordFrame::kFooter;
  std::string end(kFrame, '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(-static_cast<std::streamoff>(kFrame), std::ios::end);
  file.read(end.data(), static_cast<std::streamsize>(kFrame));
  const std::string_view record = std::string_view(end).substr(RecordFrame::kHeader, kEndSize);
  const std::optional<std::int64_t> count = file ? count_at_end(record) : std::nullopt;
  if (!count || *count < 0 || framed_record(record) != end) {
    records_.source().fail("the file has no end, so it is cut off or damaged", kFetchAgain);
  }
  count_ = *count;
}

void ElementReader::fail_at(std::int64_t element, const std::string& problem) const {
  records_.source().fail("element " + std::to_string(element) + ": " + problem, kFetchAgain);
}

void ElementReader::read_kinds() {
  std::optional<std::string> record = records_.next();
  if (!record || !record->starts_with(kElementsMagic)) records_.source().fail("not a file of elements", kDoubt);
  record_ = *std::move(record);
  place_ = kElementsMagic.size();
  const std::uint64_t parts = varint();
  for (std::uint64_t i = 0; i < parts; ++i) kinds_.emplace_back(take(varint()));
  if (place_ != record_.size()) records_.source().fail("the kinds of the parts are damaged", kFetchAgain);
}

std::string_view ElementReader::take(std::uint64_t size) {
  if (size > record_.size() - place_) fail("its block ends within it");
  const std::string_view taken = std::string_view(record_).substr(place_, size);
  place_ += size;
  return taken;
}

std::uint64_t ElementReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  fail("a number is too long");
}

std::optional<std::string_view> ElementReader::next_block(std::int64_t* elements) {
  if (has_ended_) return {};
  has_ended_ = true;  // stays so after an error
  std::optional<std::string> record = records_.next();
  if (!record) {
    if (form_ == Form::kWhole) fail("the file ends without a last record");
    return {};
  }
  if (const std::optional<std::int64_t> count = count_at_end(*record)) {
    if (*count != at_ || *count != count_) {
      fail("the last record says " + std::to_string(*count) + " elements, and " + std::to_string(at_) + " were read");
    }
    if (records_.next()) fail("there is something behind the last record");
    return {};
  }
  record_ = *std::move(record);
  place_ = 0;
  if (take(1)[0] != kBlock) fail("expected a block of elements");
  const std::uint64_t count = varint();
  // Every part takes a byte at least.
  if (count == 0 || count > record_.size() - place_) {
    fail("its block says " + std::to_string(count) + " elements in " + std::to_string(record_.size()) + " bytes");
  }
  *elements = static_cast<std::int64_t>(count);
  has_ended_ = false;
  return record_;
}

bool ElementReader::open_block() {
  if (left_ == 0 && next_block(&in_block_)) left_ = in_block_;
  return left_ > 0;
}

Tensor ElementReader::read_tensor() {
  const auto dtype_byte = static_cast<unsigned char>(take(1)[0]);
  const auto rank = static_cast<unsigned char>(take(1)[0]);
  if (dtype_byte >= kDTypeBytes.size()) fail("dtype " + std::to_string(dtype_byte) + " is not known");
  if (rank > kMaxRank) fail("a tensor has " + std::to_string(rank) + " axes, the most are " + std::to_string(kMaxRank));
  const DType dtype = kDTypeBytes[dtype_byte];
  std::vector<std::int64_t> lengths(rank);
  for (std::int64_t& length : lengths) {
    const std::uint64_t value = varint();
    if (value > std::numeric_limits<std::uint32_t>::max()) fail("an axis is " + std::to_string(value) + " long");
    length = static_cast<std::int64_t>(value);
  }
  const std::optional<std::int64_t> size = checked_count(lengths);
  if (!size || static_cast<std::uint64_t>(*size) > (record_.size() - place_) / size_of(dtype)) {
    fail("its block has " + std::to_string(record_.size() - place_) + " bytes left, which cannot hold a tensor of it");
  }
  const std::string_view bytes = take(static_cast<std::uint64_t>(*size) * size_of(dtype));
  if (dtype == bool_ && std::any_of(bytes.begin(), bytes.end(), [](char byte) { return byte != 0 && byte != 1; })) {
    fail("a bool is neither 0 nor 1");
  }
  const Tensor tensor = detail::unfilled(dtype, Shape(std::span<const std::int64_t>(lengths)));
  if (!bytes.empty()) std::memcpy(const_cast<void*>(tensor.raw_data()), bytes.data(), bytes.size());
  return tensor;
}

bool ElementReader::next(std::vector<ElementPart>& parts) {
  if (!open_block()) return false;
  const std::int64_t left = std::exchange(left_, 0);
  has_ended_ = true;  // stays so after an error
  parts.resize(kinds_.size());
  for (ElementPart& part : parts) {
    part.clear();
    const std::uint64_t tensors = varint();
    for (std::uint64_t i = 0; i < tensors; ++i) part.push_back(read_tensor());
  }
  if (left == 1 && place_ != record_.size()) fail("its block has bytes behind it");
  left_ = left - 1;
  has_ended_ = false;
  ++at_;
  return true;
}

bool ElementReader::skip(std::int64_t elements) {
  std::vector<ElementPart> parts;
  const std::int64_t to = at_ + elements;
  while (at_ < to) {
    if (!open_block()) return false;
    if (left_ == in_block_ && left_ <= to - at_) {
      at_ += std::exchange(left_, 0);
    } else {
      next(parts);
    }
  }
  return true;
}

}  // namespace capstan::io
