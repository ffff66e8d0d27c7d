// Texts and images to files.
#include <string>

#include "capstan/io.h"
#include "src/io/file_sink.h"
#include "src/io/png.h"

namespace capstan::io {

void save_text(const std::string& path, std::string_view text) {
  write_file("save_text", path, std::as_bytes(std::span(text.data(), text.size())));
}

void save_png(const std::string& path, const Tensor& image) {
  const std::string bytes = encode_png("save_png", path, image);
  write_file("save_png", path, std::as_bytes(std::span(bytes)));
}

}  // namespace capstan::io
