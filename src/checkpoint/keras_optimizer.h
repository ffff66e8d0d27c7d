// What Keras keeps of an optimizer, which is not quite what State has.
//
// Keras numbers the variables of an optimizer: the count of updates, the rate unless a schedule gives it, and the
// slots. Two classes have numbers among the slots that no slot here corresponds to: Nadam ends with the product of its
// factors, which follows from the count, and Adafactor has two zeros before the slot of a variable of fewer than two
// axes. One that scales the loss of another has a list of its own beside that of the other, which is meant here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capstan/optimizers.h"
#include "capstan/state.h"

namespace capstan::detail {

/// The tensors "prefix0", "prefix1", ...
std::vector<Tensor> numbered_tensors(const std::map<std::string, Tensor>& tensors, const std::string& prefix);

/// Another number of the same kind; what is of another kind stays as it is.
Tensor with_dtype(const Tensor& tensor, DType dtype);

/// An option of the optimizer that makes the updates, or nothing.
AttributeValue optimizer_option(const Optimizer& optimizer, std::string_view name);

/// Whether the last variable of Keras's is the product that no slot here corresponds to.
bool ends_with_product(const Optimizer& optimizer);

/// The variables, in Keras's order. Throws ValueError for an Adafactor whose slots were restored and wait for its
/// variables, whose number of axes counts.
std::vector<Tensor> keras_variables(const Optimizer& optimizer);

/// Those of a file, without the product, under the names that State has. Without a rate there is none in the file.
NamedTensors optimizer_state(const Optimizer& optimizer, const Tensor& iterations, const std::optional<Tensor>& rate,
                             std::vector<Tensor> slots);

}  // namespace capstan::detail
