#include "src/data/position.h"

#include <algorithm>
#include <cstring>

#include "src/core/allocator.h"
#include "src/core/check.h"

namespace capstan::detail {

namespace {

constexpr const char* kEnd = "end";

bool can_be_joined(const std::vector<Tensor>& tensors) {
  if (tensors.empty() || tensors[0].rank() >= kMaxRank) return false;
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& one) {
    return one.dtype() == tensors[0].dtype() && one.shape() == tensors[0].shape();
  });
}

// Gives one tensor after the other.
class TensorList {
 public:
  explicit TensorList(const std::vector<Tensor>& tensors) : tensors_(tensors) {}
  const Tensor& next() {
    if (at_ == tensors_.size() || !tensors_[at_].has_value()) throw_wrong_position("parts");
    return tensors_[at_++];
  }
  std::size_t left() const { return tensors_.size() - at_; }

 private:
  const std::vector<Tensor>& tensors_;
  std::size_t at_ = 0;
};

std::vector<std::int64_t> integers_of(const Tensor& tensor) {
  if (!tensor.has_value() || tensor.dtype() != int64 || tensor.rank() != 1) throw_wrong_position("numbers");
  return tensor.to_vector<std::int64_t>();
}

}  // namespace

Tensor numbers_as_tensor(const std::vector<std::int64_t>& numbers) {
  const Tensor tensor = new_tensor(int64, {static_cast<std::int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), mutable_data<std::int64_t>(tensor));
  return tensor;
}

// Of each part a header: how many tensors each element has, or -n for n elements joined to one tensor.
std::vector<Tensor> encode_parts(std::string_view stage, PartTypes types, const std::vector<Part>& parts) {
  std::vector<Tensor> all;
  const std::size_t width = types.size();
  for (std::size_t column = 0; column < width; ++column) {
    const PartType& type = *types[column];
    CAPSTAN_CHECK(type.save != nullptr && type.restore != nullptr, ValueError, "save: ", stage, " holds elements of ",
                  type.name, ", which cannot be written",
                  help("specialise DatasetTraits for this type, with save() and restore()"));
    std::vector<Tensor> tensors;
    std::vector<std::int64_t> counts;
    for (std::size_t i = column; i < parts.size(); i += width) {
      const std::vector<Tensor> one = type.save(parts[i]);
      counts.push_back(static_cast<std::int64_t>(one.size()));
      tensors.insert(tensors.end(), one.begin(), one.end());
    }
    if (type.is_tensor && can_be_joined(tensors)) {
      all.push_back(numbers_as_tensor({-static_cast<std::int64_t>(tensors.size())}));
      all.push_back(joined(tensors));
    } else {
      all.push_back(numbers_as_tensor(counts));
      all.insert(all.end(), tensors.begin(), tensors.end());
    }
  }
  return all;
}

std::vector<Part> decode_parts(PartTypes types, const std::vector<Tensor>& tensors) {
  TensorList list(tensors);
  const std::size_t width = types.size();
  std::vector<Part> parts;
  for (std::size_t column = 0; column < width; ++column) {
    const PartType& type = *types[column];
    const std::vector<std::int64_t> header = integers_of(list.next());
    std::vector<Part> items;
    if (header.size() == 1 && header[0] < 0) {
      const Tensor& rows = list.next();
      if (!type.is_tensor || rows.rank() == 0 || rows.dim(0) != -header[0]) throw_wrong_position(type.name);
      for (Tensor& row : rows_of(rows)) items.push_back({std::move(row), nullptr});
    } else {
      for (const std::int64_t count : header) {
        if (type.restore == nullptr || count < 0 || static_cast<std::size_t>(count) > list.left()) {
          throw_wrong_position(type.name);
        }
        std::vector<Tensor> one;
        for (std::int64_t i = 0; i < count; ++i) one.push_back(list.next());
        items.push_back(type.restore(one));
      }
    }
    if (column == 0) parts.resize(items.size() * width);
    if (items.size() * width != parts.size()) throw_wrong_position(type.name);
    for (std::size_t i = 0; i < items.size(); ++i) parts[i * width + column] = std::move(items[i]);
  }
  if (list.left() != 0) throw_wrong_position("parts");
  return parts;
}

// --- Writing ---

void PositionWriter::number(std::string_view name, std::int64_t value) {
  position_[path_ + std::string(name)] = number_as_tensor(int64, &value);
}

void PositionWriter::numbers(std::string_view name, const std::vector<std::int64_t>& values) {
  position_[path_ + std::string(name)] = numbers_as_tensor(values);
}

void PositionWriter::parts(std::string_view name, PartTypes types, const std::vector<Part>& parts) {
  const std::vector<Tensor> tensors = encode_parts(stage_, types, parts);
  const std::string key = path_ + std::string(name);
  number(name, static_cast<std::int64_t>(tensors.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) position_[key + "/" + std::to_string(i)] = tensors[i];
}

void PositionWriter::stage(DatasetCursor& cursor, const std::string& place) {
  const std::string path = path_, stage = stage_;
  path_ += place + cursor.name() + "/";
  stage_ = cursor.name();
  cursor.save(*this);
  path_ = path;
  stage_ = stage;
}

// --- Reading ---

const Tensor& PositionReader::at(const std::string& key) {
  const auto found = position_.find(key);
  CAPSTAN_CHECK(found != position_.end() && found->second.has_value(), ValueError, "restore: the position has no \"",
                key, "\"", help("it belongs to another pipeline"));
  read_.insert(key);
  return found->second;
}

void PositionReader::refuse(std::string_view name) const {
  fail<ValueError>("restore: \"", path_, name, "\" does not fit this pipeline",
                   help("the position belongs to another pipeline"));
}

std::int64_t PositionReader::number(std::string_view name, std::int64_t least, std::int64_t most) {
  const Tensor& tensor = at(path_ + std::string(name));
  if (tensor.dtype() != int64 || tensor.rank() != 0) refuse(name);
  const auto value = tensor.item<std::int64_t>();
  if (value < least || value > most) refuse(name);
  return value;
}

std::vector<std::int64_t> PositionReader::numbers(std::string_view name, std::int64_t least, std::int64_t most) {
  const Tensor& tensor = at(path_ + std::string(name));
  if (tensor.dtype() != int64 || tensor.rank() != 1) refuse(name);
  std::vector<std::int64_t> values = tensor.to_vector<std::int64_t>();
  for (const std::int64_t value : values) {
    if (value < least || value > most) refuse(name);
  }
  return values;
}

std::vector<Part> PositionReader::parts(std::string_view name, PartTypes types) {
  const std::int64_t count = number(name, 0, static_cast<std::int64_t>(position_.size()));
  std::vector<Tensor> tensors;
  for (std::int64_t i = 0; i < count; ++i) {
    tensors.push_back(at(path_ + std::string(name) + "/" + std::to_string(i)));
  }
  return decode_parts(types, tensors);
}

void PositionReader::stage(DatasetCursor& cursor, const std::string& place) {
  const std::string path = path_;
  path_ += place + cursor.name() + "/";
  cursor.restore(*this);
  path_ = path;
}

void PositionReader::check_all_read() const {
  for (const auto& [key, tensor] : position_) {
    CAPSTAN_CHECK(read_.contains(key), ValueError, "restore: the pipeline has no \"", key, "\"",
                  help("the position belongs to another pipeline"));
  }
}

DatasetPosition save_position(DatasetCursor& cursor) {
  DatasetPosition position;
  PositionWriter(position).stage(cursor);
  return position;
}

DatasetPosition save_end() {
  const std::int64_t one = 1;
  return {{kEnd, number_as_tensor(int64, &one)}};
}

bool restore_position(DatasetCursor& cursor, const DatasetPosition& position) {
  if (position.size() == 1 && position.contains(kEnd)) return false;
  PositionReader reader(position);
  reader.stage(cursor);
  reader.check_all_read();
  return true;
}

void throw_wrong_position(std::string_view type) {
  fail<ValueError>("restore: the tensors are none of ", type, help("the position belongs to another pipeline"));
}

}  // namespace capstan::detail
