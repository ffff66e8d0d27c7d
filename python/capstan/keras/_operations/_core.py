"""Tensors from anything, control flow, and parts of tensors."""
import builtins
import inspect

import numpy as np

import capstan as tf

from ... import nest
from . import _rules
from ._by_numpy import by_numpy, known


def dtype_of(name):
    """The library's dtype for a name. Errors: TypeError where there is none."""
    name = _rules.standardize_dtype(name)
    if name == "string" or not hasattr(tf, name):
        raise TypeError(f"there are no tensors of {name}")
    return getattr(tf, name)


def _plain(x):
    """The tensor of a variable, of the library or of Keras; anything else as it is."""
    if isinstance(x, tf.Tensor):
        return x
    if hasattr(x, "_value") and hasattr(x, "value"):
        x = x.value
    return x.read_value() if isinstance(x, tf.Variable) else x


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    """A tensor: numbers become int32 and floatx, arrays keep their dtype."""
    if sparse or ragged:
        raise ValueError(f"`{'sparse' if sparse else 'ragged'}=True` is not supported with capstan")
    x = _plain(x)
    if isinstance(x, tf.Tensor):
        wanted = x.dtype if dtype is None else dtype_of(dtype)
        return x if x.dtype == wanted else tf.cast(x, wanted)
    leaves = nest.flatten(x)
    if dtype is None:
        if isinstance(x, (np.ndarray, np.generic)):
            dtype = x.dtype.name
        else:
            if builtins.any(isinstance(v, str) for v in leaves):
                raise TypeError("there are no tensors of texts")
            dtype = _rules.result_type(*[getattr(v, "dtype", type(v)) for v in leaves]) if leaves else _rules.floatx()
    if isinstance(x, (list, tuple)) and builtins.any(isinstance(_plain(v), tf.Tensor) for v in leaves):
        return tf.stack([convert_to_tensor(part, dtype) for part in x])
    wanted = dtype_of(dtype)
    array = np.asarray(x)
    if array.dtype == object:
        array = np.asarray(array, "float64")
    if wanted == tf.bfloat16:
        return tf.cast(tf.constant(array.astype("float32")), wanted)
    return tf.constant(array.astype(wanted.as_numpy_dtype))


def convert_to_numpy(x):
    """An array of what a tensor holds."""
    return np.array(known(x))


def is_tensor(x):
    """Whether x is a tensor or a variable."""
    return isinstance(x, (tf.Tensor, tf.Variable))


def is_known(x):
    """Whether x has values: a tensor of a function that is traced has none yet."""
    x = _plain(x)
    return not (isinstance(x, tf.Tensor) and x.is_symbolic)


def any_symbolic(*xs):
    """Whether one of the tensors has no values yet."""
    return builtins.any(not is_known(x) for x in nest.flatten(list(xs)))


def shape(x):
    """The lengths of a tensor, None for those that a symbolic one leaves open."""
    return tuple(x.shape)


def dtype(x):
    """The name of a tensor's dtype."""
    return _rules.standardize_dtype(x.dtype)


def cast(x, dtype):
    """The tensor in another dtype."""
    return convert_to_tensor(x, dtype=dtype)


def saturate_cast(x, dtype):
    """The tensor in another dtype; what it cannot hold becomes its least or largest number."""
    return tf.saturate_cast(convert_to_tensor(x), dtype_of(dtype))


def stop_gradient(variable):
    """The tensor, through which no gradient flows."""
    return tf.stop_gradient(convert_to_tensor(variable))


def cond(pred, true_fn, false_fn):
    """What one of two functions gives."""
    pred = _plain(pred)
    if not is_known(pred):
        return tf.cond(cast(pred, "bool"), true_fn, false_fn)
    return true_fn() if builtins.bool(pred) else false_fn()


def switch(index, branches, *operands):
    """What one of several functions makes of operands; an index beyond them takes the first or the last."""
    index = tf.clip_by_value(convert_to_tensor(index, "int32"), 0, len(branches) - 1)
    if is_known(index):
        return branches[int(index)](*operands)
    return tf.switch_case(index, [lambda b=b: b(*operands) for b in branches])


def vectorized_map(function, elements):
    """A function of each row, computed for all rows at once."""
    return tf.vectorized_map(function, elements)


def map(f, xs):
    """A function of each row, one after the other."""
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    """As jax.lax.scan, one step after the other."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    slices = [convert_to_tensor(x) for x in nest.flatten(xs)] if xs is not None else []
    n = int(length) if length is not None else slices[0].shape[0]
    carry = nest.map_structure(convert_to_tensor, init)
    ys = [None] * n
    for i in reversed(range(n)) if reverse else range(n):
        x = nest.pack_sequence_as(xs, [s[i] for s in slices]) if slices else None
        carry, y = f(carry, x)
        ys[i] = y if y is not None else nest.map_structure(tf.zeros_like, carry)
    if not ys:
        return carry, []
    return carry, nest.map_structure(lambda *parts: tf.stack([convert_to_tensor(p) for p in parts]), *ys)


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    """Calls `body` on the variables of the loop as long as `cond` says so."""
    is_tuple = isinstance(loop_vars, (tuple, list))
    values = tuple(loop_vars) if is_tuple else (loop_vars,)
    values = nest.map_structure(convert_to_tensor, values)

    def one(*state):
        result = body(*state)
        result = tuple(result) if isinstance(result, (list, tuple)) else (result,)
        return nest.map_structure(lambda new, old: convert_to_tensor(new, old.dtype), result, state)
    if all(is_known(x) for x in nest.flatten(values)) and tf.executing_eagerly():
        steps = 0
        while (maximum_iterations is None or steps < maximum_iterations) and builtins.bool(cond(*values)):
            values, steps = one(*values), steps + 1
    else:
        values = tf.while_loop(cond, one, values, maximum_iterations=maximum_iterations)
    return tuple(values) if is_tuple else values[0]


def fori_loop(lower, upper, body_fun, init_val):
    """Calls `body_fun(i, value)` for the numbers from `lower` to `upper`."""
    if is_known(lower) and is_known(upper):
        value = nest.map_structure(convert_to_tensor, init_val)
        for i in range(int(lower), int(upper)):
            value = body_fun(i, value)
        return value
    return while_loop(lambda i, value: i < upper, lambda i, value: (i + 1, body_fun(i, value)), (lower, init_val))[1]


def scatter(indices, values, shape):
    """A tensor of zeros with values at places; what comes several times is added."""
    return tf.scatter_nd(convert_to_tensor(indices, "int32"), convert_to_tensor(values), list(shape))


_SCATTERS = {None: "update", "add": "add", "max": "max", "min": "min"}


def scatter_update(inputs, indices, updates, reduction=None):
    """The tensor with other values at places."""
    inputs = convert_to_tensor(inputs)
    indices, updates = convert_to_tensor(indices, "int32"), convert_to_tensor(updates, inputs.dtype)
    if reduction == "mul":
        return by_numpy("core", "scatter_update")(inputs, indices, updates, reduction)
    if reduction not in _SCATTERS:
        raise ValueError(f"Unsupported reduction: {reduction}")
    return getattr(tf, "tensor_scatter_nd_" + _SCATTERS[reduction])(inputs, indices, updates)


def slice(inputs, start_indices, shape):
    """A part of a tensor, from an index on."""
    inputs = convert_to_tensor(inputs)
    if len(start_indices) != len(shape):
        raise ValueError("Length of `start_indices` must match length of `shape`. "
                         f"Received: start_indices={start_indices}, shape={shape}")
    if all(is_known(i) for i in start_indices) and is_known(start_indices):
        return tf.slice(inputs, [int(i) for i in start_indices], [int(n) for n in shape])
    for axis, n in enumerate(shape):
        at = convert_to_tensor(start_indices[axis], "int32") + tf.range(int(n))
        inputs = tf.gather(inputs, at, axis=axis)
    return inputs


def slice_update(inputs, start_indices, updates):
    """The tensor with another part, from an index on."""
    inputs = convert_to_tensor(inputs)
    updates = convert_to_tensor(updates, inputs.dtype)
    axes = [convert_to_tensor(start, "int32") + tf.range(n) for start, n in zip(start_indices, updates.shape)]
    grid = tf.stack(list(tf.meshgrid(*axes, indexing="ij")), axis=-1)
    return tf.tensor_scatter_nd_update(inputs, grid, updates)


def unstack(x, num=None, axis=0):
    """The rows of a tensor along an axis, a list."""
    return list(tf.unstack(convert_to_tensor(x), num=num, axis=axis))


def _takes_upstream(gradient):
    try:
        return "upstream" in inspect.signature(gradient).parameters
    except (TypeError, ValueError):
        return False


class custom_gradient:  # noqa: N801
    """A function with a gradient of its own: `f(*args)` gives the outputs and `gradient(*args, upstream=...)`."""

    def __init__(self, f):
        def rule(*args):
            outputs, gradient = f(*args)
            return outputs, lambda *upstream: gradient(*args, upstream=upstream[0]) if _takes_upstream(
                gradient) else gradient(*upstream)
        self._function = tf.custom_gradient(rule)

    def __call__(self, *args):
        return self._function(*[_plain(a) for a in args])
