// ONNX: models of other frameworks as functions whose weights are variables, and functions and models as files that
// other runtimes run.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "capstan/function.h"
#include "capstan/function_of_tensors.h"
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

class Model;

/// Options of save_onnx.
struct SaveOnnxOptions {
  /// What a function takes: dtypes and shapes, where -1 is any length, and names. Not needed for a model that knows.
  std::vector<TensorSpec> inputs = {};
  /// The first axis of all inputs has any length, under the name "batch". Otherwise it has the length that the input
  /// says, and 1 for a model.
  bool dynamic_batch = false;
  /// The version of ONNX's operators, from 18 to 24.
  std::int64_t opset = 18;
  /// In their order. Unless given, inputs are called as their TensorSpecs or layers, or else "input", outputs "output";
  /// several are "input_0" and so on.
  std::vector<std::string> input_names = {};
  std::vector<std::string> output_names = {};
  /// For people who look at the file.
  std::string description = {};
};

namespace detail {

CAPSTAN_EXPORT void save_traced(const std::string& path, const FunctionBody& body, int taken,
                                const SaveOnnxOptions& options);
CAPSTAN_EXPORT void save_model(const std::string& path, const Model& model, const SaveOnnxOptions& options);

}  // namespace detail

/// Writes a model or a function as an ONNX file, which onnxruntime and others run. It is traced, as at inference;
/// variables that it reads become initializers with their values and names.
///
/// A functional model and a Sequential that is built know their inputs. A function is one of up to four tensors or of a
/// list of them, such as a lambda, a function() or a layer, and gives a structure of tensors, whose leaves are the
/// outputs. Lengths of -1 are open in the file. What C++ computes from such a length is found by tracing twice, and is
/// part of the file where it is a length of a shape; else it is an error. Inputs and outputs keep the library's layout:
/// images have the channels last. docs/onnx.md lists the ops that can be exported.
///
///     Sequential model({layers::Dense(3, {.activation = "relu", .input_shape = {4}}), layers::Dense(2)});
///     save_onnx("model.onnx", model, {.dynamic_batch = true});
///     save_onnx("f.onnx", [](const Tensor& x) { return softmax(x); }, {.inputs = {TensorSpec({-1, 4}, float32,
///     "x")}});
///
/// Errors, before anything is written: ValueError for ops that ONNX does not have, all of them in one message, for
/// variables that are assigned, for what depends on an open length, for an opset out of range, for names that are not
/// as many as inputs or outputs or not unique, and for a model that does not know its inputs or has layers without a
/// configuration, unless they are given; what the function throws. IoError if the file cannot be written. A file there
/// is replaced as a whole.
template <class F>
void save_onnx(const std::string& path, F&& f, const SaveOnnxOptions& options = {}) {
  if constexpr (std::is_convertible_v<std::remove_cvref_t<F>*, const Model*>) {
    detail::save_model(path, f, options);
  } else {
    auto body = [&f](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
      tensors = detail::call_with_tensors(f, tensors);
      return nullptr;
    };
    detail::save_traced(path, detail::FunctionBody(body), detail::tensors_taken<F>(), options);
  }
}

}  // namespace capstan
