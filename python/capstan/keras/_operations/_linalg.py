"""keras.ops.linalg."""
import capstan as tf

from . import _numpy as knp
from ._by_numpy import by_numpy
from ._core import convert_to_tensor
from ._numpy import _floating
from ._rules import canonicalize_axis, to_tuple_or_list

lstsq, eig, lu_factor = (by_numpy("linalg", name) for name in ("lstsq", "eig", "lu_factor"))


def cholesky(x, upper=False):
    lower = tf.linalg.cholesky(_floating(x))
    return knp.swapaxes(lower, -1, -2) if upper else lower


def cholesky_inverse(x, upper=False):
    x = _floating(x)
    lower = knp.swapaxes(x, -1, -2) if upper else x
    return tf.linalg.cholesky_solve(lower, tf.eye(x.shape[-1], dtype=x.dtype) + tf.zeros_like(x))


def det(x):
    return tf.linalg.det(_floating(x))


def eigh(x):
    return tf.linalg.eigh(_floating(x))


def inv(x):
    return tf.linalg.inv(_floating(x))


def norm(x, ord=None, axis=None, keepdims=False):
    x = _floating(x)
    axes = list(range(len(x.shape))) if axis is None else [canonicalize_axis(a, len(x.shape)) for a in
                                                           to_tuple_or_list(axis)]
    if ord is None:
        return tf.sqrt(tf.reduce_sum(tf.square(tf.abs(x)), axis=axes, keepdims=keepdims))
    size = tf.abs(x)
    if len(axes) == 1:
        if ord == float("inf"):
            return tf.reduce_max(size, axis=axes, keepdims=keepdims)
        if ord == -float("inf"):
            return tf.reduce_min(size, axis=axes, keepdims=keepdims)
        if ord == 0:
            return knp.cast(knp.sum(tf.not_equal(x, tf.zeros_like(x)), axes, keepdims), x.dtype)
        if ord == 1:
            return tf.reduce_sum(size, axis=axes, keepdims=keepdims)
        if isinstance(ord, str):
            raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
        return tf.pow(tf.reduce_sum(tf.pow(size, convert_to_tensor(ord, x.dtype)), axis=axes, keepdims=keepdims),
                      convert_to_tensor(1.0 / ord, x.dtype))
    if len(axes) == 2:
        rows, columns = axes
        if ord == "fro":
            return tf.sqrt(tf.reduce_sum(tf.square(size), axis=axes, keepdims=keepdims))
        if ord in (1, -1):
            rows, columns = columns, rows
        if ord in (1, -1, float("inf"), -float("inf")):
            sums = tf.reduce_sum(size, axis=[columns], keepdims=True)
            best = (tf.reduce_max if ord > 0 else tf.reduce_min)(sums, axis=[rows], keepdims=True)
            return best if keepdims else tf.squeeze(best, axis=axes)
        if ord in (2, -2, "nuc"):
            values = tf.linalg.svd(knp.moveaxis(x, axes, (-2, -1)), compute_uv=False)
            best = {2: tf.reduce_max, -2: tf.reduce_min, "nuc": tf.reduce_sum}[ord](values, axis=-1)
            return knp.expand_dims(best, sorted(axes)) if keepdims else best
    raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")


def qr(x, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError(f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. Received: mode={mode}")
    return tf.linalg.qr(_floating(x), full_matrices=mode == "complete")


def solve(a, b):
    a, b = _floating(a), _floating(b)
    if len(b.shape) == len(a.shape) - 1:
        return tf.squeeze(tf.linalg.solve(a, tf.expand_dims(b, -1)), axis=[-1])
    return tf.linalg.solve(a, b)


def solve_triangular(a, b, lower=False):
    a, b = _floating(a), _floating(b)
    if len(b.shape) == len(a.shape) - 1:
        return tf.squeeze(tf.linalg.triangular_solve(a, tf.expand_dims(b, -1), lower=lower), axis=[-1])
    return tf.linalg.triangular_solve(a, b, lower=lower)


def svd(x, full_matrices=True, compute_uv=True):
    x = _floating(x)
    if not compute_uv:
        return tf.linalg.svd(x, compute_uv=False)
    s, u, v = tf.linalg.svd(x, full_matrices=full_matrices)
    return u, s, knp.swapaxes(v, -1, -2)


def matrix_rank(x, tol=None):
    return tf.linalg.matrix_rank(_floating(x), tol) if tol is not None else tf.linalg.matrix_rank(_floating(x))


def pinv(x, rcond=None):
    return tf.linalg.pinv(_floating(x), rcond) if rcond is not None else tf.linalg.pinv(_floating(x))


def jvp(fun, primals, tangents, has_aux=False):
    primals, tangents = ([convert_to_tensor(x) for x in xs] for xs in (primals, tangents))
    with tf.autodiff.ForwardAccumulator(primals, tangents) as accumulator:
        result = fun(*primals)
        value, aux = result if has_aux else (result, None)
    rate = tf.nest.map_structure(lambda y: accumulator.jvp(y, tf.UnconnectedGradients.ZERO), value)
    return (value, rate, aux) if has_aux else (value, rate)

