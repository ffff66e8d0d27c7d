# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor

def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: _b.str | None = None) -> Tensor:
    """Draws of class numbers."""
    ...
def gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Any:
    """Draws of gamma distributions, [shape, alpha's shape]."""
    ...
def normal(shape: Any, mean: _b.float | Any = 0.0, stddev: _b.float | Any = 1.0, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Tensor:
    """Draws of a normal distribution."""
    ...
def poisson(shape: Any, lam: Any, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Any:
    """Draws of Poisson distributions, [shape, lam's shape]."""
    ...
def set_seed(seed: Any) -> None:
    """Starts all streams of random numbers of the process."""
    ...
def shuffle(value: Any, seed: Any = None, name: _b.str | None = None) -> Tensor:
    """The rows of a tensor in another order."""
    ...
def truncated_normal(shape: Any, mean: _b.float | Any = 0.0, stddev: _b.float | Any = 1.0, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Tensor:
    """Draws of a normal distribution, those beyond two deviations drawn again."""
    ...
def uniform(shape: Any, minval: _b.int | Any = 0, maxval: Any = None, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Tensor:
    """Draws of a uniform distribution; of integers `maxval` must be given and is left out."""
    ...
