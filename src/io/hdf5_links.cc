#include "src/io/hdf5_links.h"

#include <algorithm>

namespace capstan::io::hdf5 {

namespace {

constexpr int kMostSteps = 32;              // from link to link
constexpr std::uint64_t kBytesOfName = 64;  // what a name of its own takes in a file, at least

// A path without empty parts and dots.
std::string plain(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") result.append(result.empty() ? "" : "/").append(part);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return result;
}

std::string inside(const std::string& group) { return group.empty() ? "" : group + "/"; }

}  // namespace

bool SoftLinks::add(const std::string& parent, const std::string& path, std::string_view target) {
  const bool is_absolute = target.starts_with('/');
  return links_.emplace(path, plain(is_absolute ? std::string(target) : inside(parent) + std::string(target))).second;
}

// The path of an object, where links are in the way of `path` or at its end.
std::string SoftLinks::end_of(const File& file, const std::string& path,
                              const std::map<std::string, Tensor>& tensors) const {
  std::string at = path;
  for (int step = 0; step < kMostSteps; ++step) {
    if (tensors.contains(at) || groups_.contains(at)) return at;
    auto link = links_.end();
    std::size_t end = 0;
    while (link == links_.end() && end < at.size()) {
      end = std::min(at.find('/', end + 1), at.size());
      link = links_.find(at.substr(0, end));
    }
    if (link == links_.end())
      file.fail("the link " + in_quotes(path) + " leads to " + in_quotes(at) + ", which is not there");
    at = plain(inside(link->second) + at.substr(end));
  }
  file.fail("the link " + in_quotes(path) + " leads from link to link without an end");
}

bool SoftLinks::has_links(const std::string& group) const {
  const std::string begin = inside(group);
  const auto first = links_.lower_bound(begin);
  return first != links_.end() && first->first.starts_with(begin);
}

void SoftLinks::follow(const File& file, std::map<std::string, Tensor>& tensors) const {
  std::uint64_t left = file.size() / kBytesOfName + 1;
  std::map<std::string, Tensor> more;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    if (left-- == 0) file.fail("its soft links give more names than it has room for");
    if (tensors.contains(name)) file.fail("two objects are called " + in_quotes(name));
    more.emplace(name, tensor);
  };
  for (const auto& [path, target] : links_) {
    const std::string end = end_of(file, path, tensors);
    if (const auto dataset = tensors.find(end); dataset != tensors.end()) {
      add(path, dataset->second);
      continue;
    }
    if (has_links(end)) {
      file.fail("the link " + in_quotes(path) + " leads to a group that has soft links, which is not supported");
    }
    const std::string begin = inside(end);
    for (auto one = tensors.lower_bound(begin); one != tensors.end() && one->first.starts_with(begin); ++one) {
      add(path + "/" + one->first.substr(begin.size()), one->second);
    }
  }
  tensors.merge(more);
}

}  // namespace capstan::io::hdf5
