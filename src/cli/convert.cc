#include <cstdio>

#include "src/cli/commands.h"
#include "src/cli/formats.h"

namespace capstan::cli {

int convert(const ConvertOptions& options) {
  const Format& to = format_to_write(options.format, options.to);
  const Content content = format_of(options.from).read(options.from);
  to.write(options.to, content.tensors);
  std::printf("%s: %zu tensors\n", options.to.c_str(), content.tensors.size());
  if (!content.notes.empty()) {
    std::printf("left out, since they are no tensors: %zu values\n", content.notes.size());
  }
  return 0;
}

}  // namespace capstan::cli
