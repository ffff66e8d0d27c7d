#include "src/io/csv_records.h"

#include <algorithm>
#include <cstring>

namespace capstan::io {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

}  // namespace

CsvRecords::CsvRecords(std::unique_ptr<ByteSource> source, const Rules& rules)
    : source_(std::move(source)), rules_(rules) {
  for (const char c : {rules.delimiter, '\n', '\r'}) stops_[static_cast<unsigned char>(c)] = true;
  if (rules.has_quotes) stops_['"'] = true;
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  refill();
  if (std::string_view(buffer_.data(), end_).starts_with(kMark)) begin_ = kMark.size();
}

void CsvRecords::fail(const std::string& problem, const std::string& help) const {
  source_->fail("line " + std::to_string(line_) + ": " + problem, help);
}

// More bytes behind those that are there; false at the end of the file.
bool CsvRecords::refill() {
  if (source_ended_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Doubling, so that a long record is not looked at again for every piece.
  const std::size_t wanted = std::max(piece_of(*source_, kPiece), end_);
  if (buffer_.size() < end_ + wanted) buffer_.resize(end_ + wanted);
  const std::size_t got = source_->read(reinterpret_cast<std::byte*>(buffer_.data()) + end_, wanted);
  source_ended_ = got < wanted;
  end_ += got;
  return got > 0;
}

bool CsvRecords::next() {
  line_ = next_line_;
  while (!parse()) {
    if (refill()) continue;
    if (begin_ == end_) return false;
    parse();  // what is there is all of it
    return true;
  }
  return true;
}

// Reads a quoted field, whose first quote is behind; false if its end is not there yet.
bool CsvRecords::parse_quoted(const char*& at, const char* end) {
  const char* const begin = at;
  std::string* text = nullptr;  // once there is a quote inside
  const char* part = begin;
  while (true) {
    const char* quote = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (quote == nullptr || (quote + 1 == end && !source_ended_)) {
      if (!source_ended_) return false;
      failed_ = true;
      begin_ = end_;
      fail("a quote is not closed before the file ends");
    }
    if (quote + 1 == end || quote[1] != '"') {
      at = quote + 1;
      if (text == nullptr) {
        fields_.emplace_back(begin, static_cast<std::size_t>(quote - begin));
      } else {
        text->append(part, quote);
        fields_.emplace_back(*text);
      }
      next_line_ += static_cast<std::uint64_t>(std::count(begin, quote, '\n'));
      return true;
    }
    if (text == nullptr) {
      if (unescaped_count_ == unescaped_.size()) unescaped_.push_back(std::make_unique<std::string>());
      text = unescaped_[unescaped_count_++].get();
      text->clear();
    }
    text->append(part, quote + 1);
    at = part = quote + 2;
  }
}

// One record from the buffer; false if its end is not there.
bool CsvRecords::parse() {
  fields_.clear();
  unescaped_count_ = 0;
  next_line_ = line_;
  const char* at = buffer_.data() + begin_;
  const char* const end = buffer_.data() + end_;
  if (at == end || failed_) return false;
  const auto skip_line = [&](const char* from) {
    const char* stop = std::find_if(from, end, is_line_end);
    begin_ = static_cast<std::size_t>((stop == end ? end : stop + 1) - buffer_.data());
    next_line_ = line_ + 1;
  };
  const char delimiter = rules_.delimiter;
  while (true) {
    if (rules_.has_quotes && at != end && *at == '"') {
      ++at;
      if (!parse_quoted(at, end)) return false;
      if (at != end && *at != delimiter && !is_line_end(*at)) {
        skip_line(at);
        fail("field " + std::to_string(fields_.size() - 1) + " goes on behind its closing quote");
      }
    } else {
      const char* const begin = at;
      while (at != end && !stops_[static_cast<unsigned char>(*at)]) ++at;
      if (at != end && rules_.has_quotes && *at == '"') {
        skip_line(at);
        fail("field " + std::to_string(fields_.size()) + " has a quote and does not begin with one",
             "set use_quote_delim = false if quotes are plain characters here");
      }
      if (at == end && !source_ended_) return false;
      fields_.emplace_back(begin, static_cast<std::size_t>(at - begin));
    }
    if (at == end) {
      if (!source_ended_) return false;
      break;
    }
    if (*at != delimiter) break;
    ++at;
  }
  if (at != end) {
    // A "\n" behind a "\r" may not be there yet.
    if (*at == '\r' && at + 1 == end && !source_ended_) return false;
    at += *at == '\r' && at + 1 != end && at[1] == '\n' ? 2 : 1;
    ++next_line_;
  }
  begin_ = static_cast<std::size_t>(at - buffer_.data());
  return true;
}

}  // namespace capstan::io
