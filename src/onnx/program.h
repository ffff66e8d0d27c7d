// A model that has been read and checked, with its weights.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "capstan/onnx.h"

#include "src/onnx/import.h"

namespace capstan::onnx {

class Program {
 public:
  /// Throws IoError in the name of the origin's reader.
  Program(Origin origin, ModelProto model, bool trainable);

  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;

  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const std::vector<std::string>& output_names() const { return output_names_; }
  const std::vector<Variable>& variables() const { return variables_; }
  std::int64_t opset() const { return model_.opset; }

 private:
  struct Weight {
    std::string name;
    Tensor tensor;      // of a constant
    Variable variable;  // else
    bool is_filter = false;
  };

  Origin origin_;
  ModelProto model_;
  std::vector<Weight> weights_;
  std::vector<TensorSpec> inputs_;
  std::vector<std::string> output_names_;
  std::vector<Variable> variables_;
};

}  // namespace capstan::onnx
