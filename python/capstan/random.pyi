# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor

class Generator:
    """Draws from a state that moves on with each of them, also in traced functions and over checkpoints."""
    def __init__(self, copy_from: Any = None, state: Any = None, alg: Any = None) -> None: ...
    algorithm: Any
    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any = None) -> Any:
        """A generator with this key and counter: a number and two."""
        ...
    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Any:
        """A generator with a state of the machine's random numbers."""
        ...
    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Any:
        """A generator whose counter is `seed`, with the key 0."""
        ...
    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Any:
        """A generator with this state: int64[3]."""
        ...
    key: Any
    def make_seeds(self, count: _b.int | Any = 1) -> Any:
        """int64[2, count]: in each column two seeds for a stateless draw."""
        ...
    def normal(self, shape: Any, mean: _b.float | Any = 0.0, stddev: _b.float | Any = 1.0, dtype: Any = ..., name: _b.str | None = None) -> Tensor:
        """Normal numbers."""
        ...
    def reset(self, state: Any) -> Any:
        """Takes this state."""
        ...
    def reset_from_seed(self, seed: Any) -> Any:
        """Takes the state of a seed."""
        ...
    def skip(self, delta: Any) -> Any:
        """Moves on as if `delta` numbers had been drawn."""
        ...
    def split(self, count: _b.int | Any = 1) -> _b.list[Tensor]:
        """New generators, whose keys are drawn here."""
        ...
    state: Any
    def truncated_normal(self, shape: Any, mean: _b.float | Any = 0.0, stddev: _b.float | Any = 1.0, dtype: Any = ..., name: _b.str | None = None) -> Tensor:
        """The same, without those of two deviations or more."""
        ...
    def uniform(self, shape: Any, minval: _b.int | Any = 0, maxval: Any = None, dtype: Any = ..., name: _b.str | None = None) -> Tensor:
        """Evenly distributed numbers."""
        ...
    def uniform_full_int(self, shape: Any, dtype: Any = ..., name: _b.str | None = None) -> Any:
        """Any integers of the dtype, int32 or int64."""
        ...
def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: _b.str | None = None) -> Tensor:
    """Draws of class numbers."""
    ...
def fold_in(seed: Any, data: Any, alg: _b.str | Any = 'auto_select') -> Any:
    """Two seeds from two others and a number."""
    ...
def gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Any:
    """Draws of gamma distributions, [shape, alpha's shape]."""
    ...
def get_global_generator() -> Any:
    """The generator of the process."""
    ...
def log_uniform_candidate_sampler(true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, range_max: Any, seed: Any = None, name: _b.str | None = None) -> Any:
    """Classes drawn by Zipf's law, the lower the more often: int64[num_sampled], and how often the true ones and these are"""
    ...
def normal(shape: Any, mean: _b.float | Any = 0.0, stddev: _b.float | Any = 1.0, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Tensor:
    """Draws of a normal distribution."""
    ...
def poisson(shape: Any, lam: Any, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Any:
    """Draws of Poisson distributions, [shape, lam's shape]."""
    ...
def set_global_generator(generator: Any) -> Any:
    """Makes it the generator of the process."""
    ...
def set_seed(seed: Any) -> None:
    """Starts all streams of random numbers of the process."""
    ...
def shuffle(value: Any, seed: Any = None, name: _b.str | None = None) -> Tensor:
    """The rows of a tensor in another order."""
    ...
def split(seed: Any, num: _b.int | Any = 2, alg: _b.str | Any = 'auto_select') -> _b.list[Tensor]:
    """Seeds for `num` independent draws, [num, 2], from two seeds."""
    ...
def stateless_normal(shape: Any, seed: Any, mean: _b.float | Any = 0.0, stddev: _b.float | Any = 1.0, dtype: Any = ..., name: _b.str | None = None, alg: _b.str | Any = 'auto_select') -> Tensor:
    """Normal numbers, a function of two seeds."""
    ...
def stateless_truncated_normal(shape: Any, seed: Any, mean: _b.float | Any = 0.0, stddev: _b.float | Any = 1.0, dtype: Any = ..., name: _b.str | None = None, alg: _b.str | Any = 'auto_select') -> Tensor:
    """The same, without those of two deviations or more."""
    ...
def stateless_uniform(shape: Any, seed: Any, minval: _b.int | Any = 0, maxval: Any = None, dtype: Any = ..., name: _b.str | None = None, alg: _b.str | Any = 'auto_select') -> Tensor:
    """Evenly distributed numbers, a function of two seeds; integers without a range if minval and maxval are None."""
    ...
def truncated_normal(shape: Any, mean: _b.float | Any = 0.0, stddev: _b.float | Any = 1.0, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Tensor:
    """Draws of a normal distribution, those beyond two deviations drawn again."""
    ...
def uniform(shape: Any, minval: _b.int | Any = 0, maxval: Any = None, dtype: Any = ..., seed: Any = None, name: _b.str | None = None) -> Tensor:
    """Draws of a uniform distribution; of integers `maxval` must be given and is left out."""
    ...
def uniform_candidate_sampler(true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, range_max: Any, seed: Any = None, name: _b.str | None = None) -> Any:
    """Classes drawn equally often: int64[num_sampled], and how often the true ones and these are expected."""
    ...
