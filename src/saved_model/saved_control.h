// Control flow from a file: its graphs as the branches and bodies that functions such as while_loop() are given. What
// variables hold is carried with the other values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/saved_model/saved_graph.h"

namespace capstan::saved_model {

class SavedControl {
 public:
  // `slots` is the number of inputs of the node.
  static std::shared_ptr<const SavedControl> read(const std::string& op, const AttributeValue& form,
                                                  const AttributeValue& parts, std::size_t slots,
                                                  const Reading& reading);
  virtual ~SavedControl() = default;

  // `self` is this, for gradients, which are asked for later.
  virtual std::vector<Tensor> run(const std::shared_ptr<const SavedControl>& self, std::vector<Tensor> slots,
                                  const Constants& constants) const = 0;
};

}  // namespace capstan::saved_model
