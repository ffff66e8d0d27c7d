"""keras.random. Outside of functions a draw depends on its seed alone. Inside of a function that is traced the seed has
no value yet: there draws come from the library's own stream, new ones at each run, which set_random_seed sets, too."""
import numpy as np
from keras.src.backend import floatx
from keras.src.random.seed_generator import SeedGenerator, draw_seed, make_default_seed  # noqa: F401

import capstan as tf

from . import numpy as knp
from .core import cast, convert_to_tensor, is_known

OPS = tf._ops.OPS


def _generator(seed):
    """A generator of NumPy for the seed, or None inside of a function."""
    state = convert_to_tensor(draw_seed(seed))
    if not is_known(state):
        return None
    return np.random.Generator(np.random.Philox(key=np.asarray(state.numpy(), "int64").view("uint64")))


def _drawn(array, dtype):
    return convert_to_tensor(array, dtype)


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    generator = _generator(seed)
    if generator is None:
        return cast(tf.random.normal(list(shape), mean, stddev), dtype or floatx())
    return _drawn(generator.normal(mean, stddev, tuple(shape)), dtype or floatx())


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    generator = _generator(seed)
    if generator is None:
        unit = tf.random.uniform(list(shape))
        return cast(unit * (convert_to_tensor(maxval, "float32") - minval) + minval, dtype or floatx())
    low, high = (convert_to_tensor(v, "float64").numpy() for v in (minval, maxval))
    wanted = dtype or floatx()
    unit = generator.random(tuple(shape), np.float32 if str(wanted) != "float64" else np.float64)
    return _drawn(unit * (high - low) + low, wanted)


def categorical(logits, num_samples, dtype="int64", seed=None):
    logits = convert_to_tensor(logits)
    generator = _generator(seed)
    if generator is None or not is_known(logits):
        return cast(tf.random.categorical(logits, num_samples), dtype)
    noise = generator.gumbel(size=(logits.shape[0], num_samples, logits.shape[1]))
    return _drawn(np.argmax(logits.numpy()[:, None, :] + noise, -1), dtype)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    generator = _generator(seed)
    if generator is None:
        unit = tf.random.uniform(list(shape), dtype=tf.float64)
        return cast(tf.floor(unit * (maxval - minval) + minval), dtype)
    return _drawn(generator.integers(int(minval), int(maxval), tuple(shape)), dtype)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    generator = _generator(seed)
    if generator is None:
        return cast(tf.random.truncated_normal(list(shape), mean, stddev), dtype or floatx())
    drawn = generator.normal(size=tuple(shape))
    while (far := np.abs(drawn) > 2).any():
        drawn[far] = generator.normal(size=int(far.sum()))
    return _drawn(drawn * stddev + mean, dtype or floatx())


def dropout(inputs, rate, noise_shape=None, seed=None):
    inputs = convert_to_tensor(inputs)
    shape = list(inputs.shape) if noise_shape is None else [
        n if given is None else given for n, given in zip(inputs.shape, noise_shape)]
    keep = tf.greater_equal(uniform(shape, dtype="float32", seed=seed), tf.fill(shape, tf.constant(rate, tf.float32)))
    return knp.where(keep, inputs / (1.0 - rate), knp.zeros_like(inputs))


def shuffle(x, axis=0, seed=None):
    x = convert_to_tensor(x)
    generator = _generator(seed)
    if generator is None:
        if axis == 0:
            return tf.random.shuffle(x)
        order = tf.random.shuffle(tf.range(x.shape[axis]))
    else:
        order = tf.constant(generator.permutation(x.shape[axis]).astype("int32"))
    return tf.gather(x, order, axis=axis)


def _only_known(name, generator):
    if generator is None:
        raise NotImplementedError(f"random.{name}: inside of a function it cannot be drawn with the capstan backend\n"
                                  "  help: draw it outside of the function, or compile with run_eagerly=True")
    return generator


def gamma(shape, alpha, dtype=None, seed=None):
    generator = _generator(seed)
    if generator is None:
        return cast(OPS["random_gamma"](tf.broadcast_to(convert_to_tensor(alpha, "float32"), list(shape)), []), dtype or floatx())
    return _drawn(generator.gamma(np.asarray(convert_to_tensor(alpha, "float64")), size=tuple(shape)), dtype or floatx())


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    generator = _only_known("binomial", _generator(seed))
    counts, probabilities = (np.asarray(convert_to_tensor(v, "float64")) for v in (counts, probabilities))
    return _drawn(generator.binomial(counts.astype("int64"), probabilities, size=tuple(shape)), dtype or floatx())


def beta(shape, alpha, beta, dtype=None, seed=None):
    generator = _generator(seed)
    if generator is None:  # two gammas make a beta
        a, b = gamma(shape, alpha, "float32"), gamma(shape, beta, "float32")
        return cast(a / (a + b), dtype or floatx())
    alpha, beta = (np.asarray(convert_to_tensor(v, "float64")) for v in (alpha, beta))
    return _drawn(generator.beta(alpha, beta, size=tuple(shape)), dtype or floatx())
