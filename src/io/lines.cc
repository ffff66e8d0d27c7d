// Lines of text files.
#include <algorithm>
#include <cstring>

#include "capstan/text_files.h"
#include "src/core/check.h"
#include "src/io/compression.h"

namespace capstan::io {

struct LineReader::State {
  std::unique_ptr<ByteSource> source;
  std::vector<char> buffer;
  std::size_t begin = 0, end = 0;
};

LineReader::LineReader(const std::string& path, const LineReaderOptions& options) : state_(std::make_unique<State>()) {
  const Compression compression = compression_from("line_reader", options.compression);
  state_->source = open_compressed("line_reader", path, compression);
  state_->buffer.resize(piece_of(*state_->source, std::size_t{1} << 16));
}
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;
LineReader::~LineReader() = default;

std::optional<std::string> LineReader::next() {
  CAPSTAN_CHECK(state_ != nullptr, ValueError, "line_reader: it was moved from");
  State& state = *state_;
  std::string line;
  bool has_line = false;
  while (true) {
    if (state.begin == state.end) {
      state.begin = 0;
      state.end = state.source->read(reinterpret_cast<std::byte*>(state.buffer.data()), state.buffer.size());
      if (state.end == 0) break;
    }
    has_line = true;
    const char* const from = state.buffer.data() + state.begin;
    const auto* const stop = static_cast<const char*>(std::memchr(from, '\n', state.end - state.begin));
    const std::size_t size = stop == nullptr ? state.end - state.begin : static_cast<std::size_t>(stop - from);
    line.append(from, size);
    state.begin += size + (stop == nullptr ? 0 : 1);
    if (stop != nullptr) break;
  }
  if (!has_line) return std::nullopt;
  std::erase(line, '\r');
  return line;
}

}  // namespace capstan::io
