"""Draws that are functions of seeds, with TensorFlow's numbers, and generators with a state."""
import os

from . import _core, _ops
from ._convert import convert_to_tensor, dims, refuse
from ._dtypes import as_dtype, float32, int64


def _checked(alg):
    """There is one algorithm: Philox."""
    name = getattr(alg, "name", alg)
    refuse("tf.random", alg=(name.lower() if isinstance(name, str) else name, None, 1, "philox", "auto_select"))


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=float32, name=None, alg="auto_select"):
    """Evenly distributed numbers, a function of two seeds; integers without a range if minval and maxval are None."""
    _checked(alg)
    dtype = as_dtype(dtype)
    if not dtype.is_integer:
        low, high = float(minval or 0), 1.0 if maxval is None else float(maxval)
        return _core.stateless_uniform(dims(shape), seed, low, high, dtype)
    if minval is None and maxval is None:
        return _core.stateless_any_integers(dims(shape), seed, dtype)
    if minval is None or maxval is None:
        raise ValueError("stateless_uniform: integers need both minval and maxval, or neither")
    return _core.stateless_integers(dims(shape), seed, int(minval), int(maxval), dtype)


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name=None, alg="auto_select"):
    """Normal numbers, a function of two seeds."""
    _checked(alg)
    return _core.stateless_normal(dims(shape), seed, float(mean), float(stddev), as_dtype(dtype))


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name=None, alg="auto_select"):
    """The same, without those of two deviations or more."""
    _checked(alg)
    return _core.stateless_truncated_normal(dims(shape), seed, float(mean), float(stddev), as_dtype(dtype))


def split(seed, num=2, alg="auto_select"):
    """Seeds for `num` independent draws, [num, 2], from two seeds."""
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, None, None, seed.dtype, alg=alg)


def fold_in(seed, data, alg="auto_select"):
    """Two seeds from two others and a number."""
    data = convert_to_tensor(data)
    return _ops.stack([stateless_uniform([], seed, None, None, data.dtype, alg=alg), data])


class Generator:
    """Draws from a state that moves on with each of them, also in traced functions and over checkpoints."""

    def __init__(self, copy_from=None, state=None, alg=None):
        _checked(alg)
        if (copy_from is None) == (state is None):
            raise ValueError("Generator: give either copy_from or state\n  help: tf.random.Generator.from_seed(1)")
        state = copy_from.state.value() if state is None else convert_to_tensor(state, dtype=int64)
        self._generator = _core.RandomGenerator(state)

    @classmethod
    def from_seed(cls, seed, alg=None):
        """A generator whose counter is `seed`, with the key 0."""
        _checked(alg)
        made = cls.__new__(cls)
        made._generator = _core.RandomGenerator.from_seed(int(seed) % 2**64)
        return made

    @classmethod
    def from_state(cls, state, alg=None):
        """A generator with this state: int64[3]."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        """A generator with a state of the machine's random numbers."""
        return cls.from_seed(int.from_bytes(os.urandom(8), "little"), alg)

    @classmethod
    def from_key_counter(cls, key, counter, alg=None):
        """A generator with this key and counter: a number and two."""
        return cls(state=[*convert_to_tensor(counter).numpy().tolist(), int(key)], alg=alg)

    state = property(lambda self: self._generator.state)
    key = property(lambda self: self.state.value()[2])
    algorithm = property(lambda self: 1)

    def uniform(self, shape, minval=0, maxval=None, dtype=float32, name=None):
        """Evenly distributed numbers."""
        dtype = as_dtype(dtype)
        if not dtype.is_integer:
            return self._generator.uniform(dims(shape), float(minval), 1.0 if maxval is None else float(maxval), dtype)
        if maxval is None:
            raise ValueError("Generator.uniform: maxval must be given for integers")
        return self._generator.integers(dims(shape), int(minval), int(maxval), dtype)

    def uniform_full_int(self, shape, dtype=int64, name=None):
        """Any integers of the dtype, int32 or int64."""
        return self._generator.any_integers(dims(shape), as_dtype(dtype))

    def normal(self, shape, mean=0.0, stddev=1.0, dtype=float32, name=None):
        """Normal numbers."""
        return self._generator.normal(dims(shape), float(mean), float(stddev), as_dtype(dtype))

    def truncated_normal(self, shape, mean=0.0, stddev=1.0, dtype=float32, name=None):
        """The same, without those of two deviations or more."""
        return self._generator.truncated_normal(dims(shape), float(mean), float(stddev), as_dtype(dtype))

    def make_seeds(self, count=1):
        """int64[2, count]: in each column two seeds for a stateless draw."""
        return self._generator.make_seeds(int(count))

    def skip(self, delta):
        """Moves on as if `delta` numbers had been drawn."""
        self._generator.skip(int(delta))
        return self.state.value()

    def split(self, count=1):
        """New generators, whose keys are drawn here."""
        return [Generator.from_key_counter(key, [0, 0]) for key in self.uniform_full_int([count]).numpy().tolist()]

    def reset(self, state):
        """Takes this state."""
        self.state.assign(convert_to_tensor(state, dtype=int64))

    def reset_from_seed(self, seed):
        """Takes the state of a seed."""
        self.reset(_core.RandomGenerator.from_seed(int(seed) % 2**64).state.value())


_global = []


def get_global_generator():
    """The generator of the process."""
    if not _global:
        _global.append(Generator.from_non_deterministic_state())
    return _global[0]


def set_global_generator(generator):
    """Makes it the generator of the process."""
    _global[:] = [generator]


NAMES = {f.__name__: f for f in (stateless_uniform, stateless_normal, stateless_truncated_normal, split, fold_in,
                                 Generator, get_global_generator, set_global_generator)}
