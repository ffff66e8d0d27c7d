// Traced functions in files: what a program computes, with its weights, for programs that do not have its code.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capstan/function.h"
#include "capstan/function_of_tensors.h"
#include "capstan/tensor.h"
#include "capstan/tensor_spec.h"
#include "capstan/variable.h"

namespace capstan::saved_model {

/// A function to be saved: see entry().
struct Entry {
  std::string name;
  std::vector<TensorSpec> inputs;
  std::vector<std::string> output_names;  ///< empty: "output", or "output_0" and so on
  // The traces, the second for other lengths where some are open; set by entry().
  std::shared_ptr<const ConcreteState> trace, other;
};

}  // namespace capstan::saved_model

namespace capstan::detail {

CAPSTAN_EXPORT saved_model::Entry traced_entry(std::string name, const FunctionBody& body, int taken,
                                               const std::vector<TensorSpec>& inputs,
                                               std::vector<std::string> output_names);
// Of a function that others trace, for inputs of these shapes.
CAPSTAN_EXPORT saved_model::Entry entry_of_traces(
    std::string name, const std::function<std::shared_ptr<const ConcreteState>(const std::vector<Shape>&)>& trace,
    const std::vector<TensorSpec>& inputs, std::vector<std::string> output_names);

}  // namespace capstan::detail

namespace capstan::saved_model {

/// Traces a function of up to four tensors, or of a list of them, for inputs of these dtypes and shapes, where -1 is
/// any length; it gives a structure of tensors, whose leaves are the outputs. Errors: ValueError for another number of
/// inputs than the function takes and for one without a rank, for what a file cannot hold (see save()); what the
/// function throws.
///
///     auto serve = saved_model::entry("serve", [](const Tensor& x) { return softmax(x); },
///                                     {TensorSpec({-1, 784}, float32, "images")}, {"scores"});
template <class F>
Entry entry(std::string name, F&& f, const std::vector<TensorSpec>& inputs,
            std::vector<std::string> output_names = {}) {
  auto body = [&f](std::vector<Tensor>& tensors) -> std::shared_ptr<void> {
    tensors = detail::call_with_tensors(f, tensors);
    return nullptr;
  };
  return detail::traced_entry(std::move(name), detail::FunctionBody(body), detail::tensors_taken<F>(), inputs,
                              std::move(output_names));
}

/// Options of save().
struct SaveOptions {
  /// Variables that are saved whether a function uses them or not, and the first of those that load() gives.
  std::vector<Variable> variables = {};
  /// Whatever a program wants to find again: load() gives it as it is.
  std::string description = {};
};

/// Writes functions into a folder, as the file saved_model.capstan: their ops, the values of the variables that they
/// read and assign, and the tensors from outside that they use. Control flow, draws and gradients of one's own are
/// saved with them. The folder is made unless it is there, and a file there is replaced as a whole.
///
/// Draws of a loaded function come from the global generator. Not saved: numbers and effects of C++ (host_value(),
/// call_at_every_run(), ops registered by programs), the gradients of control flow within a function, implicit
/// functions: entry() refuses these, all of them in one message, and what depends on a length that is open. Errors,
/// before anything is written: ValueError for two functions, inputs or outputs of one name and for row-sparse results;
/// TraceError in a traced function. IoError if the file cannot be written.
///
///     Variable w(random::normal({784, 10}));
///     auto serve = saved_model::entry("serve", [&](const Tensor& x) { return matmul(x, w); },
///                                     {TensorSpec({-1, 784})});
///     saved_model::save("classifier", {serve});
CAPSTAN_EXPORT void save(const std::string& folder, const std::vector<Entry>& functions,
                         const SaveOptions& options = {});

class LoadedState;

/// A function from a file. A handle; copies share the function and its variables.
class CAPSTAN_EXPORT LoadedFunction {
 public:
  const std::string& name() const;
  /// What it takes and gives, by name, in the order of a call; open lengths are -1.
  const std::vector<TensorSpec>& inputs() const;
  const std::vector<TensorSpec>& outputs() const;

  /// Calls it: traced once for each kind of inputs, as function() is, so tapes around it have all gradients. An output
  /// that the function left empty is empty. Errors: ValueError for another number of inputs; DTypeError and ShapeError
  /// for inputs that it was not made for; what its ops throw.
  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) const;

 private:
  friend class LoadedState;
  LoadedFunction(std::shared_ptr<const LoadedState> state, std::size_t number)
      : state_(std::move(state)), number_(number) {}

  std::shared_ptr<const LoadedState> state_;
  std::size_t number_;
};

/// What load() gives.
struct Loaded {
  std::vector<LoadedFunction> functions;
  std::vector<Variable> variables;
  std::string description;

  /// The function of this name. Errors: ValueError if there is none, with the names that there are.
  CAPSTAN_EXPORT const LoadedFunction& function(const std::string& name) const;
};

/// Reads what save() has written. Nothing of the file is run before a function is called, and then ops of the library
/// alone. Errors: IoError for a file that is damaged, or of a version with ops that this one does not have.
///
///     auto classifier = saved_model::load("classifier");
///     Tensor scores = classifier.function("serve")({ones({32, 784})})[0];  // float32[32, 10]
CAPSTAN_EXPORT Loaded load(const std::string& folder);

}  // namespace capstan::saved_model
