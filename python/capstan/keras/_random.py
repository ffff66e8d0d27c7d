"""keras.random: draws, with seeds that are numbers or SeedGenerators."""
from .. import _core, _modules, _ops


class SeedGenerator:
    """Gives another seed for every draw."""

    def __init__(self, seed=None):
        self.seed, self._next = seed, None if seed is None else int(seed)

    def next(self):
        """The next seed; None inside of a traced function, whose runs draw anew from the stream of the process."""
        if self._next is None or _core.inside_function():
            return None
        seed = self._next
        # Seeds that are neighbours would be those of two generators with neighbouring seeds.
        self._next = (seed * 6364136223846793005 + 1442695040888963407) % 2**63
        return seed

    def get_config(self):
        return {"seed": self.seed}


def _number(seed):
    return seed.next() if isinstance(seed, SeedGenerator) else seed


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Draws of a normal distribution."""
    return _modules.normal(shape, mean, stddev, dtype or _core.floatx(), _number(seed))


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Draws of a normal distribution, those beyond two deviations drawn again."""
    return _modules.truncated_normal(shape, mean, stddev, dtype or _core.floatx(), _number(seed))


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Draws of a uniform distribution."""
    return _modules.uniform(shape, minval, maxval, dtype or _core.floatx(), _number(seed))


def randint(shape, minval, maxval, dtype="int32", seed=None):
    """Draws of integers below `maxval`."""
    return _modules.uniform(shape, minval, maxval, dtype, _number(seed))


def categorical(logits, num_samples, dtype="int32", seed=None):
    """Draws of class numbers."""
    return _modules.categorical(logits, num_samples, dtype, _number(seed))


def shuffle(x, axis=0, seed=None):
    """The parts of a tensor along an axis in another order."""
    if axis == 0:
        return _modules.shuffle(x, _number(seed))
    axes = list(range(len(_ops.convert_to_tensor(x).shape)))
    axes[0], axes[axis] = axes[axis], axes[0]
    return _ops.transpose(_modules.shuffle(_ops.transpose(x, axes), _number(seed)), axes)


def dropout(inputs, rate, noise_shape=None, seed=None):
    """Elements at random set to zero and the others divided by 1 - rate."""
    return _modules.nn.dropout(inputs, rate, noise_shape=noise_shape, seed=_number(seed))


NAMES = {f.__name__: f for f in (SeedGenerator, normal, truncated_normal, uniform, randint, categorical, shuffle,
                                 dropout)}
