#include "capstan/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "src/checkpoint/checkpoint_impl.h"
#include "src/checkpoint/checkpoint_list.h"
#include "src/core/check.h"
#include "src/core/hooks.h"
#include "src/io/byte_source.h"

namespace capstan {

namespace {

constexpr const char* kCounter = "save_counter";

std::string full_name(const std::string& object, const std::string& name) {
  return name.empty() ? object : object + "/" + name;
}

// A line begins with the name of a tensor in quotes; puts that of the object in front of it.
std::string with_object(const std::string& object, const std::string& line) {
  if (line.starts_with("\"\"")) return "\"" + object + line.substr(1);
  return line.starts_with("\"") ? "\"" + object + "/" + line.substr(1) : object + ": " + line;
}

std::string lines_of(const char* what, const std::vector<std::string>& list) {
  std::string lines;
  for (const std::string& line : list) lines += "\n  " + std::string(what) + ": " + line;
  return lines;
}

}  // namespace

// --- The status ---

RestoreStatus::RestoreStatus(std::string path, StateDifference difference)
    : path_(std::move(path)), difference_(std::move(difference)) {}

RestoreStatus::RestoreStatus(RestoreStatus&& other) noexcept
    : path_(std::move(other.path_)),
      difference_(std::move(other.difference_)),
      is_asked_(std::exchange(other.is_asked_, true)) {}

RestoreStatus::~RestoreStatus() {
  const std::size_t count = difference_.missing.size() + difference_.left_over.size() + difference_.mismatched.size();
  if (is_asked_ || count == 0) return;
  warn(detail::join("restore: of ", path_, ", ", difference_.missing.size(), " tensors were missing, ",
                    difference_.left_over.size(), " left over and ", difference_.mismatched.size(),
                    " of another shape"));
}

const RestoreStatus& RestoreStatus::assert_consumed() const {
  is_asked_ = true;
  const std::string lines = lines_of("missing", difference_.missing) + lines_of("left over", difference_.left_over) +
                            lines_of("different", difference_.mismatched);
  CAPSTAN_CHECK(lines.empty(), ValueError, "assert_consumed: the checkpoint and the objects differ\n  file: ", path_,
                lines);
  return *this;
}

const RestoreStatus& RestoreStatus::assert_existing_objects_matched() const {
  is_asked_ = true;
  const std::string lines = lines_of("missing", difference_.missing) + lines_of("different", difference_.mismatched);
  CAPSTAN_CHECK(lines.empty(), ValueError,
                "assert_existing_objects_matched: the checkpoint lacks what the objects have\n  file: ", path_, lines);
  return *this;
}

const RestoreStatus& RestoreStatus::expect_partial() const {
  is_asked_ = true;
  return *this;
}

// --- The objects ---

Checkpoint::Impl::Impl(std::vector<std::pair<std::string, State>> given) : objects(std::move(given)) {
  std::set<std::string> names;
  for (const auto& [name, state] : objects) {
    CAPSTAN_CHECK(!name.empty() && name.find('/') == std::string::npos && name != kCounter, ValueError,
                  "checkpoint: an object cannot have the name \"", name, "\"");
    CAPSTAN_CHECK(names.insert(name).second, ValueError, "checkpoint: two objects have the name \"", name, "\"");
  }
}

io::CheckpointContent Checkpoint::Impl::collect() const {
  io::CheckpointContent content;
  content.metadata = {{"format", "capstan checkpoint"}};
  for (const auto& [object, state] : objects) {
    for (auto& [name, tensor] : state.save()) content.tensors.emplace(full_name(object, name), tensor);
  }
  content.tensors.emplace(kCounter, constant(std::span(&save_counter, 1), Shape()));
  return content;
}

Checkpoint::Impl::Found Checkpoint::Impl::find(const NamedTensors& saved) const {
  Found found;
  std::map<std::string, NamedTensors> parts;
  for (const auto& [name, tensor] : saved) {
    const std::size_t end = std::min(name.find('/'), name.size());
    parts[name.substr(0, end)].emplace(name.substr(std::min(end + 1, name.size())), tensor);
  }
  for (const auto& [object, state] : objects) {
    const NamedTensors& part = found.parts.emplace_back(std::move(parts[object]));
    parts.erase(object);
    found.knows_any = found.knows_any || !part.empty();
    const StateDifference one = state.compare(part);
    StateDifference& all = found.difference;
    for (const std::string& line : one.missing) all.missing.push_back(with_object(object, line));
    for (const std::string& line : one.left_over) all.left_over.push_back(with_object(object, line));
    for (const std::string& line : one.mismatched) all.mismatched.push_back(with_object(object, line));
    if (!state.is_comparable() && part.empty()) all.missing.push_back("\"" + object + "\"");
  }
  parts.erase(kCounter);
  for (const auto& [object, part] : parts) {
    for (const auto& [name, tensor] : part) {
      found.difference.left_over.push_back("\"" + full_name(object, name) + "\", " +
                                           std::string(name_of(tensor.dtype())) + tensor.shape().to_string());
    }
  }
  return found;
}

Checkpoint::Checkpoint(std::initializer_list<std::pair<std::string, State>> objects)
    : Checkpoint(std::vector<std::pair<std::string, State>>(objects)) {}
Checkpoint::Checkpoint(std::vector<std::pair<std::string, State>> objects)
    : impl_(std::make_shared<Impl>(std::move(objects))) {}

std::int64_t Checkpoint::save_counter() const { return impl_->save_counter; }

std::string Checkpoint::write(const std::string& path) const {
  io::write_checkpoint("write", path, impl_->collect());
  return path;
}

std::string Checkpoint::save(const std::string& prefix) const {
  ++impl_->save_counter;
  const std::string path = prefix + "-" + std::to_string(impl_->save_counter);
  try {
    io::write_checkpoint("save", path, impl_->collect());
  } catch (...) {
    --impl_->save_counter;
    throw;
  }
  const std::string directory = directory_of(path);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  write_checkpoint_list(directory, {name, {name}, {}, {}});
  return path;
}

namespace {

NamedTensors read(const char* reader, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && std::filesystem::exists(path + ".index", error)) {
    io::fail_file(reader, "the checkpoint is one of TensorFlow", path + ".index", "read_tensorflow() restores it");
  }
  return io::read_checkpoint(reader, path).tensors;
}

}  // namespace

StateDifference Checkpoint::compare(const std::string& path) const {
  return impl_->find(read("compare", path)).difference;
}

RestoreStatus Checkpoint::Impl::take_over(const std::string& what, const std::string& path, const NamedTensors& saved,
                                          Found found, const RestoreOptions& options) {
  CAPSTAN_CHECK(found.knows_any || objects.empty(), ValueError, what,
                ": no tensor in the file has a name that the objects know\n  file: ", path,
                lines_of("missing", found.difference.missing), lines_of("left over", found.difference.left_over));
  CAPSTAN_CHECK(options.skip_mismatch || found.difference.mismatched.empty(), ValueError, what,
                ": tensors have other shapes or dtypes\n  file: ", path,
                lines_of("different", found.difference.mismatched), help("skip_mismatch = true restores the others"));
  for (const std::string& line : found.difference.mismatched) {
    warn(what + ": skipped: " + line);
  }
  // First those that may refuse, each with what it had, then those that were compared.
  std::vector<std::pair<const State*, NamedTensors>> changed;
  try {
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const State& state = objects[i].second;
      if (state.is_comparable() || found.parts[i].empty()) continue;
      changed.emplace_back(&state, state.save());
      state.restore(found.parts[i]);
    }
  } catch (...) {
    if (!changed.empty()) changed.pop_back();
    for (const auto& [state, before] : changed) state->restore(before);
    throw;
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const State& state = objects[i].second;
    if (state.is_comparable()) state.restore_matching(found.parts[i]);
  }
  if (const auto counter = saved.find(kCounter);
      counter != saved.end() && counter->second.dtype() == DType::kInt64 && counter->second.rank() == 0) {
    save_counter = counter->second.item<std::int64_t>();
  }
  return {path, std::move(found.difference)};
}

RestoreStatus Checkpoint::restore(const std::string& path, const RestoreOptions& options) const {
  const NamedTensors saved = read("restore", path);
  return impl_->take_over("restore", path, saved, impl_->find(saved), options);
}

std::optional<std::string> latest_checkpoint(const std::string& directory) {
  const std::optional<CheckpointList> list = read_checkpoint_list(directory);
  return list ? std::optional(path_in(directory, list->latest)) : std::nullopt;
}

}  // namespace capstan
