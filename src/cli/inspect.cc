#include <cstdio>
#include <cinttypes>

#include "src/cli/commands.h"
#include "src/cli/formats.h"
#include "src/cli/statistics.h"
#include "src/cli/table.h"

namespace capstan::cli {

namespace {

void inspect_one(const std::string& path, const InspectOptions& options) {
  const Format& format = format_of(path);
  const Content content = format.read(path);
  std::printf("%s: %s, %s\n", path.c_str(), std::string(format.name).c_str(), std::string(format.description).c_str());
  std::vector<std::vector<std::string>> rows = {{"name", "dtype", "shape", "bytes"}};
  if (options.statistics) rows[0].insert(rows[0].end(), {"least", "greatest", "mean", "not finite"});
  std::int64_t elements = 0, bytes = 0;
  for (const auto& [name, tensor] : content.tensors) {
    const std::int64_t size = tensor.size() * static_cast<std::int64_t>(size_of(tensor.dtype()));
    rows.push_back(
        {printable(name), std::string(name_of(tensor.dtype())), tensor.shape().to_string(), std::to_string(size)});
    if (options.statistics) {
      for (std::string& one : statistics_of(tensor)) rows.back().push_back(std::move(one));
    }
    elements += tensor.size();
    bytes += size;
  }
  if (!content.tensors.empty()) print_table(rows);
  for (const auto& [name, text] : content.notes) {
    std::printf("%s: %s\n", printable(name).c_str(), printable(text).c_str());
  }
  if (!content.tensors.empty()) {
    std::printf("%zu tensors, %" PRId64 " elements, %" PRId64 " bytes\n", content.tensors.size(), elements, bytes);
  }
}

}  // namespace

int inspect(const InspectOptions& options) {
  for (const std::string& path : options.files) inspect_one(path, options);
  return 0;
}

}  // namespace capstan::cli
