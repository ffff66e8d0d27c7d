"""keras.random: draws, with seeds that are numbers or SeedGenerators."""
import os

from .. import _core, _modules, _ops, _streams


class SeedGenerator:
    """Gives another seed for every draw: the seed and a counter, which `state` holds."""

    def __init__(self, seed=None, name=None, **kwargs):
        del kwargs
        self._given = seed
        self.seed = int.from_bytes(os.urandom(4), "little") if seed is None else int(seed)
        self.state = _core.Variable([self.seed, 0], dtype="int64", trainable=False,
                                    name="seed_generator_state" if name is None else name)

    def next(self, ordered=True):
        """The next two seeds, a tensor."""
        del ordered  # it always is
        seeds = _ops.OPS["identity"](self.state)
        self.state.assign_add([0, 1])
        return seeds

    def get_config(self):
        return {"seed": self._given}


def _seeds(seed):
    """What a stateless draw takes; None for the stream of the process."""
    if seed is None:
        return None
    return seed.next() if isinstance(seed, SeedGenerator) else [int(seed), 0]


def _number(seed):
    """The same as one number. In a traced function a SeedGenerator has none, and every run draws anew."""
    if not isinstance(seed, SeedGenerator):
        return seed
    if _core.inside_function():
        return None
    first, count = seed.next().numpy().tolist()
    # Seeds that are neighbours would be those of two generators with neighbouring seeds.
    return (first * 6364136223846793005 + count * 1442695040888963407) % 2**63


def _draw(kind, shape, first, second, dtype, seed):
    seeds, dtype = _seeds(seed), dtype or _core.floatx()
    if seeds is None:
        return getattr(_modules, kind)(shape, first, second, dtype)
    return getattr(_streams, "stateless_" + kind)(shape, seeds, first, second, dtype)


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Draws of a normal distribution."""
    return _draw("normal", shape, mean, stddev, dtype, seed)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Draws of a normal distribution, those beyond two deviations drawn again."""
    return _draw("truncated_normal", shape, mean, stddev, dtype, seed)


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Draws of a uniform distribution."""
    return _draw("uniform", shape, minval, maxval, dtype, seed)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    """Draws of integers below `maxval`."""
    return _draw("uniform", shape, int(minval), int(maxval), dtype, seed)


def categorical(logits, num_samples, dtype="int32", seed=None):
    """Draws of class numbers."""
    return _modules.categorical(logits, num_samples, dtype, _number(seed))


def shuffle(x, axis=0, seed=None):
    """The parts of a tensor along an axis in another order."""
    x, seeds = _ops.convert_to_tensor(x), _seeds(seed)
    count = [x.shape[axis]]
    draws = _modules.uniform(count) if seeds is None else _streams.stateless_uniform(count, seeds)
    return _ops.gather(x, _ops.argsort(draws), axis=axis)


def dropout(inputs, rate, noise_shape=None, seed=None):
    """Elements at random set to zero and the others divided by 1 - rate."""
    seeds = _seeds(seed)
    if seeds is None:
        return _modules.nn.dropout(inputs, rate, noise_shape=noise_shape)
    x = _ops.convert_to_tensor(inputs)
    shape = x.shape if noise_shape is None else [m if n is None else n for n, m in zip(noise_shape, x.shape)]
    keeps = _streams.stateless_uniform(shape, seeds, dtype=x.dtype) >= rate
    return _ops.OPS["where"](keeps, x * (1 / (1 - rate)), 0.0)


NAMES = {f.__name__: f for f in (SeedGenerator, normal, truncated_normal, uniform, randint, categorical, shuffle,
                                 dropout)}
