// What names stand for while a program is evaluated.
#pragma once

#include <memory>
#include <utility>

namespace capstan::nested {

// A list that grows at its head: functions that are called later keep the scope they were made in, by value.
template <class T>
class Scope {
 public:
  Scope with(int name, T value) const {
    Scope inner;
    inner.head_ = std::make_shared<const Link>(Link{name, std::move(value), head_});
    return inner;
  }
  // Null for a name that is not bound.
  const T* find(int name) const {
    for (const Link* link = head_.get(); link != nullptr; link = link->outer.get()) {
      if (link->name == name) return &link->value;
    }
    return nullptr;
  }

 private:
  struct Link {
    int name;
    T value;
    std::shared_ptr<const Link> outer;
  };
  std::shared_ptr<const Link> head_;
};

}  // namespace capstan::nested
