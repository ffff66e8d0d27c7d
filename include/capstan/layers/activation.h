// Activations as layers. All take a tensor of any shape and give one of the same shape.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capstan/activations.h"
#include "capstan/layer.h"

namespace capstan {
namespace layers {

/// Options of ReLU.
struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0;
  double threshold = 0;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// max(x, 0); with options x from `threshold` up to `max_value`, which is not exceeded, and
/// negative_slope * (x - threshold) below. Errors: ValueError for options that are negative.
class CAPSTAN_EXPORT ReLU final : public Layer {
 public:
  explicit ReLU(const ReLUOptions& options = {});
};

/// Options of LeakyReLU.
struct LeakyReLUOptions {
  double negative_slope = 0.3;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// x where it is positive, `negative_slope * x` elsewhere.
class CAPSTAN_EXPORT LeakyReLU final : public Layer {
 public:
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
};

/// Options of ELU.
struct ELUOptions {
  double alpha = 1;
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// x where it is positive, `alpha * (exp(x) - 1)` elsewhere.
class CAPSTAN_EXPORT ELU final : public Layer {
 public:
  explicit ELU(const ELUOptions& options = {});
};

/// Options of PReLU.
struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  std::optional<std::vector<int>> shared_axes =
      {};  ///< axes along which one slope is used; the first after the batch is 1
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// x where it is positive, alpha * x elsewhere, with slopes that are learnt. Weights: alpha, with the shape of one
/// example, 1 along shared axes. Errors: IndexError for a shared axis that there is not, ShapeError for an input whose
/// shape differs from the first one's.
class CAPSTAN_EXPORT PReLU final : public Layer {
 public:
  explicit PReLU(const PReLUOptions& options = {});
};

/// Options of Softmax.
struct SoftmaxOptions {
  Axes axis = -1;  ///< one, or several together
  std::string name = {};
  InputShape input_shape = {};
  bool trainable = true;
  DTypePolicy dtype = {};
};

/// Probabilities along an axis. A mask of the input's rank leaves out the elements where it is false: they get the
/// probability 0, also where nothing is left. A mask of a lower rank, of steps, is passed on. Errors: IndexError for
/// an axis out of range, ValueError if none is given.
///
///     layers::Softmax()(scores, {.mask = is_valid});
class CAPSTAN_EXPORT Softmax final : public Layer {
 public:
  explicit Softmax(const SoftmaxOptions& options = {});
};

static_assert(detail::kAddNothing<ReLU, LeakyReLU, ELU, PReLU, Softmax>);

}  // namespace layers
}  // namespace capstan
