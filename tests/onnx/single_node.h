// Models of one node, for tests of how an operator is read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "capstan/onnx.h"

#include "src/onnx/export.h"
#include "src/onnx/proto.h"
#include "tests/support/temporary_directory.h"

namespace capstan::testing {

/// What a node gives for inputs, of which those with a name of their own are read as weights; an empty one is left out.
struct SingleNode {
  std::string op;
  std::vector<onnx::Attribute> attributes = {};
  std::int64_t opset = 18;
  std::size_t outputs = 1;
  std::size_t weights_from = 1;  // the first input that is a weight

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const {
    onnx::ModelProto model{.opset = opset};
    model.graph.name = "single";
    onnx::NodeProto node{.name = "node", .op = op, .attributes = attributes};
    std::vector<Tensor> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = inputs[i].has_value() ? "x" + std::to_string(i) : "";
      node.inputs.push_back(name);
      if (name.empty()) continue;
      if (i >= weights_from) {
        model.graph.initializers.emplace_back(name, inputs[i]);
      } else {
        model.graph.inputs.push_back({.name = name, .type = onnx::type_number(inputs[i].dtype())});
        given.push_back(inputs[i]);
      }
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      node.outputs.push_back("y" + std::to_string(i));
      model.graph.outputs.push_back({.name = node.outputs.back(), .type = onnx::type_number(inputs[0].dtype())});
    }
    model.graph.nodes.push_back(node);
    const io::TemporaryDirectory folder;
    onnx::write_model("test", folder.file("single.onnx"), model);
    return load_onnx(folder.file("single.onnx"), {.trainable = false})(given);
  }
};

}  // namespace capstan::testing
