#include "src/io/csv_records.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace capstan::io {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// Bytes are compared in vectors of SSE2 where there are any; elsewhere compilers make the best of the loops.

// The bytes of a block, 64 of them, that are equal to one of four.
std::uint64_t equal_bytes(const char* block, const std::array<CsvRecords::Stop, 4>& stops) {
  std::uint64_t found = 0;
#if defined(__SSE2__)
  const auto vector_at = [](const char* at) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at)); };
  const __m128i a = vector_at(stops[0].data()), b = vector_at(stops[1].data()), c = vector_at(stops[2].data()),
                d = vector_at(stops[3].data());
  const auto equal_at = [&](std::size_t i) {
    const __m128i bytes = vector_at(block + i);
    const __m128i equal = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, a), _mm_cmpeq_epi8(bytes, b)),
                                       _mm_or_si128(_mm_cmpeq_epi8(bytes, c), _mm_cmpeq_epi8(bytes, d)));
    return std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(equal))} << i;
  };
  found = equal_at(0) | equal_at(16) | equal_at(32) | equal_at(48);
#else
  for (std::size_t i = 0; i < 64; ++i) {
    bool is_equal = false;
    for (const CsvRecords::Stop& stop : stops) is_equal |= block[i] == stop[0];
    found |= std::uint64_t{is_equal} << i;
  }
#endif
  return found;
}

bool has_odd_count(std::string_view text, char byte) {
  std::size_t i = 0;
  bool is_odd = false;
#if defined(__SSE2__)
  __m128i odd = _mm_setzero_si128();
  for (; text.size() - i >= sizeof odd; i += sizeof odd) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + i));
    odd = _mm_xor_si128(odd, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte)));
  }
  is_odd = std::popcount(static_cast<std::uint32_t>(_mm_movemask_epi8(odd))) % 2 != 0;
#endif
  for (; i < text.size(); ++i) is_odd ^= text[i] == byte;
  return is_odd;
}

}  // namespace

CsvRecords::CsvRecords(std::unique_ptr<ByteSource> source, const Rules& rules)
    : CsvRecords(*source, rules, nullptr, 0, 0) {
  source_ = std::move(source);
  source_ended_ = false;
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  refill(kPiece);
  if (std::string_view(buffer_.get(), end_).starts_with(kMark)) begin_ = kMark.size();
}

// Records of which all are there; those of `source`.
CsvRecords::CsvRecords(const ByteSource& source, const Rules& rules, std::unique_ptr<char[]> text, std::size_t begin,
                       std::size_t end)
    : source_(open_memory(source.reader(), source.name(), {})),
      rules_(rules),
      buffer_(std::move(text)),
      begin_(begin),
      end_(end),
      first_(begin),
      source_ended_(true) {
  const char quote = rules.has_quotes ? '"' : rules.delimiter;
  const char stops[] = {rules.delimiter, '\n', '\r', quote};
  for (std::size_t i = 0; i < stops_.size(); ++i) stops_[i].fill(stops[i]);
}

void CsvRecords::fail(const std::string& problem, const std::string& help) const {
  source_->fail("line " + std::to_string(line_) + ": " + problem, help);
}

// More bytes after those that are there, `least` of them while the file has as many; false at its end.
bool CsvRecords::refill(std::size_t least) {
  if (source_ended_) return false;
  // Doubling, so that a long record is not looked at again for every piece.
  const std::size_t kept = end_ - begin_, wanted = std::max(piece_of(*source_, least), kept);
  if (capacity_ < kept + wanted) {
    auto larger = std::make_unique_for_overwrite<char[]>(kept + wanted + kBlock);
    if (kept > 0) std::memcpy(larger.get(), buffer_.get() + begin_, kept);
    buffer_ = std::move(larger);
    capacity_ = kept + wanted;
  } else if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, kept);
  }
  begin_ = 0;
  end_ = kept;
  block_ = {};
  const std::size_t got = source_->read(reinterpret_cast<std::byte*>(buffer_.get()) + end_, wanted);
  source_ended_ = got < wanted;
  end_ += got;
  return got > 0;
}

// Where in the buffer the last record ends that is there as a whole; the start, if there is none.
std::size_t CsvRecords::end_of_whole_records() const {
  const char* const text = buffer_.get();
  bool is_outside = !rules_.has_quotes || !has_odd_count({text + begin_, end_ - begin_}, '"');
  for (std::size_t end = end_; end > begin_; --end) {
    const char last = text[end - 1];
    if (rules_.has_quotes && last == '"') is_outside = !is_outside;
    // A "\n" after a "\r" may not be there yet.
    if (is_outside && (last == '\n' || (last == '\r' && end != end_))) return end;
  }
  return begin_;
}

std::unique_ptr<CsvRecords> CsvRecords::cut(std::size_t size) {
  if (end_ - begin_ < size) refill(size);
  if (begin_ == end_ || failed_) return nullptr;
  std::size_t end = source_ended_ ? end_ : end_of_whole_records();
  while (end == begin_) {
    refill(size);
    end = source_ended_ ? end_ : end_of_whole_records();
  }
  // The piece gets the buffer, and what is left over moves.
  const std::size_t left = end_ - end;
  std::unique_ptr<char[]> rest;
  if (left > 0) {
    rest = std::make_unique_for_overwrite<char[]>(left + kBlock);
    std::memcpy(rest.get(), buffer_.get() + end, left);
  }
  std::unique_ptr<CsvRecords> piece(new CsvRecords(*source_, rules_, std::move(buffer_), begin_, end));
  buffer_ = std::move(rest);
  capacity_ = end_ = left;
  begin_ = 0;
  block_ = {};
  fields_.clear();
  return piece;
}

void CsvRecords::restart(std::uint64_t line) {
  begin_ = first_;
  failed_ = false;
  next_line_ = line;
}

bool CsvRecords::next() {
  line_ = next_line_;
  while (!parse()) {
    if (refill(kPiece)) continue;
    if (begin_ == end_) return false;
    parse();  // what is there is all of it
    return true;
  }
  return true;
}

// Reads a quoted field, whose first quote has been read; false if its end is not there yet.
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

// The place of the first stop from `at` on, or of the end.
inline std::size_t CsvRecords::find_stop(Block& block, std::size_t at) const {
  std::uint64_t stops = at - block.begin < kBlock ? block.stops >> (at - block.begin) : 0;
  if (stops != 0) return at + static_cast<std::size_t>(std::countr_zero(stops));
  // Everything up to the end of the block has been looked at.
  std::size_t next = at - block.begin < kBlock ? block.begin + kBlock : at;
  for (; next < end_; next += kBlock) {
    stops = equal_bytes(buffer_.get() + next, stops_);
    if (end_ - next < kBlock) stops &= (std::uint64_t{1} << (end_ - next)) - 1;
    if (stops == 0) continue;
    block = {next, stops};
    return next + static_cast<std::size_t>(std::countr_zero(stops));
  }
  return end_;
}

// One record from the buffer; false if its end is not there.
bool CsvRecords::parse() {
  fields_.clear();
  unescaped_count_ = 0;
  next_line_ = line_;
  const char* const text = buffer_.get();
  const char* at = text + begin_;
  const char* const end = text + end_;
  if (at == end || failed_) return false;
  const auto skip_line = [&](const char* from) {
    const char* stop = std::find_if(from, end, is_line_end);
    begin_ = static_cast<std::size_t>((stop == end ? end : stop + 1) - text);
    next_line_ = line_ + 1;
  };
  const char delimiter = rules_.delimiter;
  Block block = block_;
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
      at = text + find_stop(block, static_cast<std::size_t>(at - text));
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
    // A "\n" after a "\r" may not be there yet.
    if (*at == '\r' && at + 1 == end && !source_ended_) return false;
    at += *at == '\r' && at + 1 != end && at[1] == '\n' ? 2 : 1;
    ++next_line_;
  }
  begin_ = static_cast<std::size_t>(at - text);
  block_ = block;
  return true;
}

}  // namespace capstan::io
