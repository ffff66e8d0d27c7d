# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras import Optimizer as Optimizer
from capstan.keras.optimizers import legacy as legacy
from capstan.keras.optimizers import schedules as schedules

class Adadelta(Optimizer):
    """Steps by the ratio of the mean squares of changes and gradients."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, rho: _b.float | Any = 0.95, epsilon: _b.float | Any = 1e-07, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class Adafactor(Optimizer):
    """Adam with second moments of rows and columns only."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, beta_2_decay: _b.float | Any = -0.8, epsilon_1: _b.float | Any = 1e-30, epsilon_2: _b.float | Any = 0.001, clip_threshold: _b.float | Any = 1.0, relative_step: _b.bool = True, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class Adagrad(Optimizer):
    """Divides by the root of the sum of the squares of all gradients."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, initial_accumulator_value: _b.float | Any = 0.1, epsilon: _b.float | Any = 1e-07, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class Adam(Optimizer):
    """Steps by the moments of the gradient, in Keras's form."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, beta_1: _b.float | Any = 0.9, beta_2: _b.float | Any = 0.999, epsilon: _b.float | Any = 1e-07, amsgrad: _b.bool = False, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class AdamW(Optimizer):
    """Adam with a weight decay of 0.004 unless given."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, weight_decay: Any = None, beta_1: _b.float | Any = 0.9, beta_2: _b.float | Any = 0.999, epsilon: _b.float | Any = 1e-07, amsgrad: _b.bool = False, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class Adamax(Optimizer):
    """Adam with the largest gradient instead of the second moment."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, beta_1: _b.float | Any = 0.9, beta_2: _b.float | Any = 0.999, epsilon: _b.float | Any = 1e-07, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class Ftrl(Optimizer):
    """Follows the regularised leader: zero where gradients are few."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, learning_rate_power: _b.float | Any = -0.5, initial_accumulator_value: _b.float | Any = 0.1, l1_regularization_strength: _b.float | Any = 0.0, l2_regularization_strength: _b.float | Any = 0.0, l2_shrinkage_regularization_strength: _b.float | Any = 0.0, beta: _b.float | Any = 0.0, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class Lamb(Optimizer):
    """Adam whose steps are as long as the norms of the variables say."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, beta_1: _b.float | Any = 0.9, beta_2: _b.float | Any = 0.999, epsilon: _b.float | Any = 1e-07, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class Lion(Optimizer):
    """Steps by the sign of the momentum."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, beta_1: _b.float | Any = 0.9, beta_2: _b.float | Any = 0.99, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class LossScaleOptimizer(Optimizer):
    """Another optimizer, for scaled losses; finds the scale."""
    def __init__(self, inner_optimizer: Any, initial_scale: _b.float | Any = 32768.0, dynamic_growth_steps: _b.int | Any = 2000, name: _b.str | None = None, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: Any = None, ema_momentum: Any = None, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None) -> None: ...
class Muon(Optimizer):
    """Steps by the orthogonal part of the momentum of matrices."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, adam_beta_1: _b.float | Any = 0.9, adam_beta_2: _b.float | Any = 0.999, adam_weight_decay: _b.float | Any = 0.004, epsilon: _b.float | Any = 1e-07, weight_decay: _b.float | Any = 0.004, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None, exclude_layers: Any = ..., exclude_embeddings: _b.bool = True, muon_a: _b.float | Any = 3.4445, muon_b: _b.float | Any = -4.775, muon_c: _b.float | Any = 2.0315, adam_lr_ratio: _b.float | Any = 1.0, momentum: _b.float | Any = 0.95, ns_steps: _b.int | Any = 5, nesterov: _b.bool = True, rms_rate: _b.float | Any = 0.2) -> None: ...
class Nadam(Optimizer):
    """Adam with Nesterov's momentum."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, beta_1: _b.float | Any = 0.9, beta_2: _b.float | Any = 0.999, epsilon: _b.float | Any = 1e-07, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class RMSprop(Optimizer):
    """Divides by the root of the mean square of the gradient."""
    def __init__(self, learning_rate: _b.float | Any = 0.001, rho: _b.float | Any = 0.9, momentum: _b.float | Any = 0.0, epsilon: _b.float | Any = 1e-07, centered: _b.bool = False, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class SGD(Optimizer):
    """Gradient descent, with momentum if that is given."""
    def __init__(self, learning_rate: _b.float | Any = 0.01, momentum: _b.float | Any = 0.0, nesterov: _b.bool = False, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
class ScheduleFreeAdamW(Optimizer):
    """Adam with a running mean of its steps instead of a schedule."""
    def __init__(self, learning_rate: _b.float | Any = 0.0025, beta_1: _b.float | Any = 0.9, beta_2: _b.float | Any = 0.999, epsilon: _b.float | Any = 1e-08, warmup_steps: _b.int | Any = 0, weight_decay: Any = None, clipnorm: Any = None, clipvalue: Any = None, global_clipnorm: Any = None, use_ema: _b.bool = False, ema_momentum: _b.float | Any = 0.99, ema_overwrite_frequency: Any = None, loss_scale_factor: Any = None, gradient_accumulation_steps: Any = None, name: _b.str | None = None) -> None: ...
def deserialize(config: Any, custom_objects: Any = None, safe_mode: _b.bool = True, **kwargs: Any) -> Any:
    """The object that serialize_keras_object() gave data for."""
    ...
def get(identifier: Any) -> Any:
    """An object by its name, from a configuration, or the object itself."""
    ...
def serialize(optimizer: Any) -> Any:
    """An object as numbers, texts, lists and dicts, as Keras writes it."""
    ...
