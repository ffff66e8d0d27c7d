# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor
from capstan import Variable as Variable
from capstan.keras import activations as activations
from capstan.keras import applications as applications
from capstan.keras import backend as backend
from capstan.keras import callbacks as callbacks
from capstan.keras import config as config
from capstan.keras import constraints as constraints
from capstan.keras import datasets as datasets
from capstan.keras import initializers as initializers
from capstan.keras import layers as layers
from capstan.keras import losses as losses
from capstan.keras import metrics as metrics
from capstan.keras import mixed_precision as mixed_precision
from capstan.keras import models as models
from capstan.keras import ops as ops
from capstan.keras import optimizers as optimizers
from capstan.keras import preprocessing as preprocessing
from capstan.keras import random as random
from capstan.keras import regularizers as regularizers
from capstan.keras import saving as saving
from capstan.keras.optimizers import schedules as schedules
from capstan.keras import utils as utils

class DTypePolicy:
    """The dtypes of a layer: `compute_dtype` of inputs and results, `variable_dtype` of weights."""
    def __init__(self, name: _b.str | None = 'float32') -> None: ...
    @classmethod
    def from_config(cls, config: Any) -> Any:
        """A policy of what get_config() gave."""
        ...
    def get_config(self) -> _b.dict[_b.str, Any]:
        """What the policy is made of."""
        ...
class Initializer:
    """What makes the first value of a weight; a class of one's own overrides `__call__`."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @classmethod
    def from_config(cls, config: Any) -> Any:
        """An object of what get_config() gave."""
        ...
    def get_config(self) -> _b.dict[_b.str, Any]:
        """What the object was made with, with Keras's keys."""
        ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
class Layer:
    """What a layer of one's own derives from: it makes its weights in `build` and computes in `call`."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def add_loss(self, loss: Any) -> Any:
        """Adds scalars to the loss of the model; in `call`."""
        ...
    def add_weight(self, shape: Any = None, initializer: Any = None, dtype: Any = None, trainable: _b.bool = True, autocast: _b.bool = True, regularizer: Any = None, constraint: Any = None, aggregation: Any = None, overwrite_with_gradient: _b.bool = False, name: _b.str | None = None, **kwargs: Any) -> Variable:
        """A new weight, in `build` or in the constructor."""
        ...
    def build(self, input_shape: Any) -> Any:
        """Makes the weights; `input_shape` starts with the batch."""
        ...
    built: Any
    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """The result."""
        ...
    compute_dtype: Any
    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """The mask of what the layer gives; a class of one's own may make it of the inputs."""
        ...
    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the result for inputs of a shape, whose first length may be None."""
        ...
    def count_params(self) -> _b.int:
        """The number of elements of all weights."""
        ...
    dtype: Any
    dtype_policy: Any
    @classmethod
    def from_config(cls, config: Any) -> Any:
        """A layer of what get_config() gave."""
        ...
    def get_config(self) -> _b.dict[_b.str, Any]:
        """What the layer was made with. A class of one's own overrides it, if its options are no plain data."""
        ...
    def get_weights(self) -> _b.list[Any]:
        """Copies of all weights, as arrays."""
        ...
    layers: Any
    losses: Any
    name: Any
    non_trainable_variables: Any
    non_trainable_weights: Any
    def set_weights(self, weights: Any) -> None:
        """Takes over arrays, one for each weight."""
        ...
    supports_masking: Any
    trainable: Any
    trainable_variables: Any
    trainable_weights: Any
    variable_dtype: Any
    variables: Any
    weights: Any
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
class Loss:
    """A loss, which compares labels and predictions; a class of one's own overrides `call`."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def call(self, y_true: Any, y_pred: Any) -> Any:
        """One value for each example."""
        ...
    @classmethod
    def from_config(cls, config: Any) -> Any:
        """An object of what get_config() gave."""
        ...
    def get_config(self) -> _b.dict[_b.str, Any]:
        """What the object was made with, with Keras's keys."""
        ...
    name: Any
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
class Metric:
    """A metric, which accumulates over batches; a class of one's own overrides `update_state` and `result`."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def add_variable(self, shape: Any, initializer: Any, dtype: Any = None, aggregation: Any = None, name: _b.str | None = None) -> Variable:
        """A variable of the state, which reset_state() sets back."""
        ...
    def add_weight(self, shape: Any = ..., initializer: _b.str | Any = 'zeros', dtype: Any = None, name: _b.str | None = None, synchronization: Any = None, aggregation: Any = None) -> Variable:
        """A variable of the state, which reset_state() sets back."""
        ...
    dtype: Any
    @classmethod
    def from_config(cls, config: Any) -> Any:
        """An object of what get_config() gave."""
        ...
    def get_config(self) -> _b.dict[_b.str, Any]:
        """What the object was made with, with Keras's keys."""
        ...
    name: Any
    def reset_state(self) -> Any:
        """As before the first update."""
        ...
    def reset_states(self) -> Any:
        """As before the first update."""
        ...
    def result(self) -> Any:
        """The value so far."""
        ...
    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Adds examples."""
        ...
    variables: Any
    weights: Any
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
class Optimizer:
    """An optimizer of the library."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def apply(self, grads: Any, trainable_variables: Any = None) -> Any:
        """The same with two lists."""
        ...
    def apply_gradients(self, grads_and_vars: Any, name: _b.str | None = None, skip_gradients_aggregation: _b.bool = False, experimental_aggregate_gradients: _b.bool = True) -> None:
        """Changes variables by their gradients; takes pairs."""
        ...
    def build(self, variables: Any) -> Any:
        """Makes the slots now."""
        ...
    @classmethod
    def from_config(cls, config: Any) -> Any:
        """An object of what get_config() gave."""
        ...
    def get_config(self) -> _b.dict[_b.str, Any]:
        """What the object was made with, with Keras's keys."""
        ...
    iterations: Any
    learning_rate: Any
    lr: Any
    def minimize(self, loss: Any, var_list: Any, tape: Any = None) -> Any:
        """The gradient of a loss, which may be a function, and its update."""
        ...
    name: Any
    variables: Any
class Regularizer:
    """A penalty on weights; a class of one's own overrides `__call__`."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @classmethod
    def from_config(cls, config: Any) -> Any:
        """An object of what get_config() gave."""
        ...
    def get_config(self) -> _b.dict[_b.str, Any]:
        """What the object was made with, with Keras's keys."""
        ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
class Model(Layer):
    """A model: a class of one's own with `call`, or `Model(inputs, outputs)` of what layers were called on."""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def build(self, input_shape: Any = None) -> Any:
        """Makes the weights for inputs of a shape."""
        ...
    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """The results; a class of one's own overrides it, unless it was made of inputs and outputs."""
        ...
    def compile(self, optimizer: _b.str | Any = 'rmsprop', loss: Any = None, loss_weights: Any = None, metrics: Any = None, weighted_metrics: Any = None, run_eagerly: _b.bool = False, steps_per_execution: _b.int | Any = 1, jit_compile: _b.str | Any = 'auto', auto_scale_loss: _b.bool = True) -> None:
        """Sets the optimizer, the losses and the metrics of fit() and evaluate()."""
        ...
    def compute_loss(self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: _b.bool = True) -> Any:
        """The losses of compile() with their weights, and what the layers add; a class of one's own may override it."""
        ...
    def compute_metrics(self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Updates the metrics of compile() and gives the values so far; a class of one's own may override it."""
        ...
    def evaluate(self, x: Any = None, y: Any = None, batch_size: Any = None, verbose: _b.str | Any = 'auto', sample_weight: Any = None, steps: Any = None, callbacks: Any = None, return_dict: _b.bool = False) -> Any:
        """The loss and the metrics: a number, a list of them, or a dict."""
        ...
    def fit(self, x: Any = None, y: Any = None, batch_size: Any = None, epochs: _b.int | Any = 1, verbose: _b.str | Any = 'auto', callbacks: Any = None, validation_split: _b.float | Any = 0.0, validation_data: Any = None, shuffle: _b.bool = True, class_weight: Any = None, sample_weight: Any = None, initial_epoch: _b.int | Any = 0, steps_per_epoch: Any = None, validation_steps: Any = None, validation_batch_size: Any = None, validation_freq: _b.int | Any = 1) -> Any:
        """Trains for some epochs; gives a History."""
        ...
    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        """A model of what get_config() gave."""
        ...
    def get_layer(self, name: _b.str | None = None, index: Any = None) -> Any:
        """A layer by its name or its number."""
        ...
    def get_metrics_result(self) -> Any:
        """The values of all metrics so far."""
        ...
    layers: Any
    def load_weights(self, filepath: Any, skip_mismatch: _b.bool = False) -> None:
        """Takes over the weights of a file."""
        ...
    metrics: Any
    metrics_names: Any
    def predict(self, x: Any, batch_size: Any = None, verbose: _b.str | Any = 'auto', steps: Any = None, callbacks: Any = None) -> Any:
        """The results as arrays, computed in batches."""
        ...
    def predict_on_batch(self, x: Any) -> Any:
        """The result for one batch."""
        ...
    def predict_step(self, data: Any) -> Any:
        """One step of predict(); a class of one's own may override it."""
        ...
    def save(self, filepath: Any, overwrite: _b.bool = True, zipped: Any = None, include_optimizer: _b.bool = True) -> None:
        """Writes the model as a .keras archive."""
        ...
    def save_weights(self, filepath: Any, overwrite: _b.bool = True, max_shard_size: Any = None) -> None:
        """Writes the weights, by the name of the file."""
        ...
    stop_training: Any
    def summary(self, line_length: Any = None, positions: Any = None, print_fn: Any = None, expand_nested: _b.bool = False, show_trainable: _b.bool = False, layer_range: Any = None) -> None:
        """Prints a table of the layers."""
        ...
    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, return_dict: _b.bool = False) -> Any:
        """The loss and the metrics of one batch."""
        ...
    def test_step(self, data: Any) -> Any:
        """One step of evaluate(); a class of one's own may override it."""
        ...
    def to_json(self) -> Any:
        """What the model is made of, without weights."""
        ...
    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, return_dict: _b.bool = False) -> Any:
        """One step on one batch."""
        ...
    def train_step(self, data: Any) -> Any:
        """One step of fit(); a class of one's own may override it."""
        ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
class Sequential(Model):
    """Layers one after the other."""
    def __init__(self, layers: Any = None, trainable: _b.bool = True, name: _b.str | None = None) -> None: ...
    def add(self, layer: Any, rebuild: _b.bool = True) -> Tensor:
        """Puts a layer at the end."""
        ...
    def count_params(self) -> _b.int:
        """The number of elements of all weights."""
        ...
    input: Any
    layers: Any
    output: Any
    def pop(self, rebuild: _b.bool = True) -> Any:
        """Takes the last layer off and gives it back."""
        ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
def Input(shape: Any = None, batch_size: Any = None, dtype: Any = None, name: _b.str | None = None, sparse: Any = None, ragged: Any = None, batch_shape: Any = None, tensor: Any = None, optional: _b.bool = False) -> Tensor:
    """An input of a functional model."""
    ...
def clear_session() -> Any:
    """Starts the numbering of names anew."""
    ...
