#include "capstan/nest.h"

#include <algorithm>

#include "src/core/check.h"

namespace capstan {

Nest Nest::list(std::vector<Nest> items) {
  Nest nest;
  nest.parts_ = std::make_shared<Parts>(Parts{false, std::move(items), {}});
  return nest;
}

Nest Nest::map(std::vector<std::string> keys, std::vector<Nest> items) {
  CAPSTAN_CHECK(keys.size() == items.size(), ValueError, "nest: ", keys.size(), " keys for ", items.size(), " items");
  Nest nest;
  nest.parts_ = std::make_shared<Parts>(Parts{true, std::move(items), std::move(keys)});
  return nest;
}

std::span<const Nest> Nest::items() const {
  if (parts_ != nullptr) return parts_->items;
  return tensor_.has_value() ? std::span(this, 1) : std::span<const Nest>();
}

std::span<const std::string> Nest::keys() const {
  return is_map() ? std::span<const std::string>(parts_->keys) : std::span<const std::string>();
}

const Nest& Nest::operator[](std::size_t i) const {
  const std::span<const Nest> all = items();
  CAPSTAN_CHECK(i < all.size(), IndexError, "nest: item ", i, " of ", all.size(), ": ", form());
  return all[i];
}

const Nest& Nest::operator[](std::string_view key) const {
  const std::span<const std::string> all = keys();
  const auto found = std::find(all.begin(), all.end(), key);
  CAPSTAN_CHECK(found != all.end(), ValueError, "nest: there is no item \"", key, "\" in ", form());
  return parts_->items[static_cast<std::size_t>(found - all.begin())];
}

std::vector<Tensor> Nest::tensors() const {
  std::vector<Tensor> all;
  detail::for_each_leaf(*this, [&](const Tensor& tensor) { all.push_back(tensor); });
  return all;
}

std::string Nest::form() const {
  if (parts_ == nullptr) return tensor_.has_value() ? "_" : "-";
  std::string text = parts_->is_map ? "{" : "[";
  for (std::size_t i = 0; i < parts_->items.size(); ++i) {
    if (i > 0) text += ", ";
    if (parts_->is_map) text += parts_->keys[i] + ": ";
    text += parts_->items[i].form();
  }
  return text + (parts_->is_map ? "}" : "]");
}

void Nest::throw_not_one() const {
  throw ValueError(detail::join("nest: one tensor was expected, this is ", has_value() ? form() : "nothing"));
}

void Nest::check_size(std::size_t size) const {
  CAPSTAN_CHECK(parts_ != nullptr && parts_->items.size() == size, ValueError, "nest: ", size,
                " items were expected, this is ", form());
}

std::vector<Nest>& Nest::own_items() {
  if (parts_.use_count() > 1) parts_ = std::make_shared<Parts>(*parts_);
  return parts_->items;
}

}  // namespace capstan
