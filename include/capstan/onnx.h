// ONNX: models of other frameworks as functions whose weights are variables.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/tensor.h"
#include "capstan/tensor_spec.h"
#include "capstan/variable.h"

namespace capstan {

namespace onnx {
class Program;
}

/// Options of load_onnx.
struct LoadOnnxOptions {
  /// The floating initializers become variables that tapes watch. If false they are constants, which a function
  /// computes with when it is traced, and `variables()` is empty.
  bool trainable = true;
};

/// A model from an ONNX file: a function of tensors whose weights are variables. A handle; copies share the weights.
///
/// A call runs the nodes in their order with the library's ops, so tapes, function() and vectorized_map work on it as
/// on any function; wrap it in function() for speed. Inputs and outputs have ONNX's layout (images are [batch,
/// channels, height, width]); inside, images are kept with the channels last from one convolution to the next.
/// Normalisation and dropout are those of inference unless the node says otherwise.
class CAPSTAN_EXPORT OnnxModel {
 public:
  /// The outputs, in the order of output_names(). Errors: ValueError for another number of inputs; DTypeError and
  /// ShapeError for inputs that the file declares otherwise; what the ops throw, with the node.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;
  /// The output of a model with one input and one output. Errors: as above, and ValueError for several outputs.
  Tensor operator()(const Tensor& input) const;

  /// What it takes, by name, in the order of a call; open lengths are -1.
  const std::vector<TensorSpec>& inputs() const;
  /// The names of what it gives, in order.
  const std::vector<std::string>& output_names() const;
  /// The weights: initializers of floating dtypes, under their names. A filter that only convolutions read is
  /// [height, width, in, out], as the layers of the library have it, and not [out, in, height, width] as in the file.
  const std::vector<Variable>& variables() const;
  /// The weights that tapes watch: all of them, unless set_trainable(false) was called on one.
  std::vector<Variable> trainable_variables() const;
  /// The weight of that name. Errors: ValueError if there is none.
  const Variable& variable(const std::string& name) const;
  /// The opset that the file asks for.
  std::int64_t opset() const;

 private:
  friend CAPSTAN_EXPORT OnnxModel load_onnx(const std::string& path, const LoadOnnxOptions& options);
  explicit OnnxModel(std::shared_ptr<const onnx::Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const onnx::Program> program_;
};

/// Reads a model. Operators of the standard domain are known from opset 7 on; sequences, texts, quantised and training
/// operators, sparse tensors, other domains, and elements in other files are not supported. Errors: IoError for a file
/// that is damaged, for names that nothing makes, for types that tensors do not have, and for operators that are not
/// supported, all of them in one message.
///
///     OnnxModel model = load_onnx("resnet50.onnx");
///     auto f = function([&](const Tensor& x) { return model(x); });
///     Tensor scores = f(images);                       // [8, 3, 224, 224] -> [8, 1000]
CAPSTAN_EXPORT OnnxModel load_onnx(const std::string& path, const LoadOnnxOptions& options = {});

}  // namespace capstan
