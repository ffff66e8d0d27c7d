// The attributes of a node for one run of it.
#pragma once

#include <cstring>

#include "src/core/context.h"
#include "src/graph/graph.h"

namespace capstan {

// A node with a draw gets new attributes for every run. In an enclosing trace it is not run but traced once more, and
// renewed at every run of that.
class RunAttributes {
 public:
  explicit RunAttributes(const Graph::Node& node)
      : node_(node), traced_(node.renew && context.tracer != nullptr), renewed_(node.renew && !traced_) {
    if (!renewed_) return;
    std::memcpy(own_, node.attributes, sizeof(own_));
    node.renew(own_);
  }

  const void* data() const {
    if (node_.op->attributes == nullptr) return nullptr;
    return renewed_ ? own_ : node_.attributes;
  }

  // After the call of the op.
  void close() const {
    if (traced_) context.tracer->renew_attributes(node_.renew);
  }

 private:
  const Graph::Node& node_;
  bool traced_;
  bool renewed_;
  alignas(16) std::byte own_[sizeof(Graph::Node::attributes)];
};

}  // namespace capstan
