"""Variables, conversions, control flow and shapes of results."""
import builtins
import contextlib

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, dtypes, standardize_dtype
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import capstan as tf

from ._reference import MISSING, by_numpy, is_missing, known, with_missing_dtypes

SUPPORTS_SPARSE_TENSORS = False
SUPPORTS_RAGGED_TENSORS = False
SUPPORTS_COMPLEX_DTYPES = True
IS_THREAD_SAFE = True

# A number of Python beside a float64 tensor gives float64, as on TensorFlow. Keras's other backends fall to float32.
dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64"


def dtype_of(name):
    """The library's dtype for a name of Keras. Errors: TypeError where there is none."""
    name = standardize_dtype(name)
    if name == "string" or name in MISSING:
        raise TypeError(f"the backend capstan has no tensors of {name} inside of functions and variables")
    return getattr(tf, name)


# What data of a missing dtype are inside of functions; layers cast their inputs anyway.
WIDER = {"int8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64", "uint64": "int64",
         "float16": "float32"}


def of_data(x):
    """A part of a batch as a tensor, in a wider dtype if the library lacks its own. Errors: ValueError for an integer
    beyond int64."""
    if is_missing(x) and x.dtype.name in WIDER:
        if x.dtype.name == "uint64" and x.size and x.max() > np.iinfo("int64").max:
            raise ValueError(f"the number {x.max()} is beyond int64, the widest integer of the capstan backend")
        x = x.astype(WIDER[x.dtype.name])
    return convert_to_tensor(x)


class Variable(KerasVariable):
    def _initialize(self, value):
        if self._dtype in MISSING:
            self._value = np.array(convert_to_tensor(value, self._dtype))
        else:
            self._value = tf.Variable(convert_to_tensor(value, self._dtype), trainable=self._trainable, name=self._name)

    def _direct_assign(self, value):
        if self._dtype in MISSING:
            self._value = np.array(value)
        else:
            self._value.assign(value)

    def _convert_to_tensor(self, value, dtype=None):
        return convert_to_tensor(value, dtype=dtype)

    def numpy(self):
        return convert_to_numpy(self.value)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    if sparse or ragged:
        raise ValueError(f"`{'sparse' if sparse else 'ragged'}=True` is not supported with the capstan backend")
    if isinstance(x, Variable):
        x = x.value
    if isinstance(x, tf.Variable):
        x = x.read_value()
    if dtype is not None:
        dtype = standardize_dtype(dtype)
    if isinstance(x, tf.Tensor):
        if dtype in MISSING:
            return known(x).astype(dtype)
        wanted = x.dtype if dtype is None else dtype_of(dtype)
        return x if x.dtype == wanted else tf.cast(x, wanted)
    if dtype is None:
        if isinstance(x, (np.ndarray, np.generic)):
            dtype = standardize_dtype(x.dtype)
        else:
            leaves = tree.flatten(x)
            dtype = result_type(*[getattr(item, "dtype", type(item)) for item in leaves]) if leaves else "float32"
    if isinstance(x, (list, tuple)) and any(isinstance(item, (tf.Tensor, tf.Variable, Variable))
                                            for item in tree.flatten(x)):
        parts = [convert_to_tensor(item, dtype) for item in x]
        return np.stack(parts) if dtype in MISSING else tf.stack(parts)
    if dtype in MISSING:
        return np.asarray(x).astype(dtype)
    wanted = dtype_of(dtype)
    array = np.asarray(x)
    if array.dtype.kind in "US":
        raise TypeError("the backend capstan has no tensors of texts")
    if array.dtype == object:
        array = np.asarray(array, "float64")
    if wanted == tf.bfloat16:
        return tf.cast(tf.constant(array.astype("float32")), wanted)
    return tf.constant(array.astype(wanted.as_numpy_dtype))


def convert_to_numpy(x):
    if isinstance(x, Variable):
        x = x.value
    if isinstance(x, tf.Tensor) and x.is_row_sparse:
        x = x.to_dense()
    if isinstance(x, (tf.Tensor, tf.Variable)):
        if x.dtype == tf.bfloat16:
            import ml_dtypes
            return tf.cast(x, tf.float32).numpy().astype(ml_dtypes.bfloat16)
        return x.numpy()
    return np.array(x)


def is_tensor(x):
    return isinstance(x, (tf.Tensor, tf.Variable)) or is_missing(x)


def shape(x):
    return tuple(x.shape)


def cast(x, dtype):
    return convert_to_tensor(x, dtype=dtype)


class _Shapes(Exception):
    """Ends a trace whose only purpose was the shapes of its results."""


def compute_output_spec(fn, *args, **kwargs):
    """Traces the function and drops the trace: nothing is computed. Open lengths are found with two traces."""
    leaves = tree.flatten((args, kwargs))
    at = [i for i, x in enumerate(leaves) if isinstance(x, KerasTensor)]

    def results(length):
        given = [tf.broadcast_to(tf.zeros([], dtype_of(WIDER.get(leaves[i].dtype, leaves[i].dtype))),
                                 [length if n is None else n for n in leaves[i].shape]) for i in at]
        found = []

        def body(*tensors):
            filled = list(leaves)
            for i, tensor in zip(at, tensors):
                filled[i] = tensor
            a, k = tree.pack_sequence_as((args, kwargs), filled)
            found.append(tree.map_structure(_form, fn(*a, **k)))
            raise _Shapes

        # What the function assigns to variables belongs to this trace alone.
        with StatelessScope(), SymbolicScope(), contextlib.suppress(_Shapes):
            tf.function(body, autograph=False)(*given)
        return found[0]

    first = results(83)
    if not any(None in leaves[i].shape for i in at):
        return tree.map_structure(lambda x: x.tensor() if isinstance(x, _Form) else x, first)
    return tree.map_structure(lambda x, y: x.tensor(y) if isinstance(x, _Form) else x, first, results(89))


class _Form:
    def __init__(self, x):
        self.shape, self.dtype = tuple(x.shape), standardize_dtype(x.dtype)

    def tensor(self, other=None):
        lengths = self.shape if other is None else tuple(
            a if a == b else None for a, b in zip(self.shape, other.shape))
        return KerasTensor(lengths, self.dtype)


def _form(x):
    if isinstance(x, Variable):
        x = x.value
    return _Form(x) if is_tensor(x) else x


def is_known(x):
    return not (isinstance(x, tf.Tensor) and x.is_symbolic)


def cond(pred, true_fn, false_fn):
    if isinstance(pred, Variable):
        pred = pred.value
    if is_tensor(pred) and not is_known(pred):
        return tf.cond(cast(pred, "bool"), true_fn, false_fn)
    return true_fn() if bool(pred) else false_fn()


def switch(index, branches, *operands):
    index = convert_to_tensor(index, "int32")
    index = tf.clip_by_value(index, 0, len(branches) - 1)
    if is_known(index):
        return branches[int(index)](*operands)
    return tf.switch_case(index, [lambda b=b: b(*operands) for b in branches])


def vectorized_map(function, elements):
    return tf.vectorized_map(function, elements)


def map(f, xs):
    return scan(lambda _, x: ((), f(x)), (), xs)[1]


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    """As jax.lax.scan, one step after the other."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    slices = [convert_to_tensor(x) for x in tree.flatten(xs)] if xs is not None else []
    n = int(length) if length is not None else slices[0].shape[0]
    carry = tree.map_structure(convert_to_tensor, init)
    ys = [None] * n
    for i in reversed(range(n)) if reverse else range(n):
        x = tree.pack_sequence_as(xs, [s[i] for s in slices]) if slices else None
        carry, y = f(carry, x)
        ys[i] = y if y is not None else tree.map_structure(tf.zeros_like, carry)
    if not ys:
        return carry, []
    return carry, tree.map_structure(lambda *parts: tf.stack([convert_to_tensor(p) for p in parts]), *ys)


associative_scan = by_numpy("core", "associative_scan")


def scatter(indices, values, shape):
    indices, values = convert_to_tensor(indices, "int32"), convert_to_tensor(values)
    return tf.scatter_nd(indices, values, list(shape))


_SCATTERS = {None: "update", "add": "add", "max": "max", "min": "min"}


def scatter_update(inputs, indices, updates, reduction=None):
    inputs = convert_to_tensor(inputs)
    indices, updates = convert_to_tensor(indices, "int32"), convert_to_tensor(updates, inputs.dtype)
    if reduction == "mul":
        return by_numpy("core", "scatter_update")(inputs, indices, updates, reduction)
    if reduction not in _SCATTERS:
        raise ValueError(f"Unsupported reduction: {reduction}")
    return getattr(tf, "tensor_scatter_nd_" + _SCATTERS[reduction])(inputs, indices, updates)


def slice(inputs, start_indices, shape):
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
    inputs = convert_to_tensor(inputs)
    updates = convert_to_tensor(updates, inputs.dtype)
    axes = [convert_to_tensor(start, "int32") + tf.range(n) for start, n in zip(start_indices, updates.shape)]
    grid = tf.stack(list(tf.meshgrid(*axes, indexing="ij")), axis=-1)
    return tf.tensor_scatter_nd_update(inputs, grid, updates)


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    is_tuple = isinstance(loop_vars, (tuple, list))
    values = tuple(loop_vars) if is_tuple else (loop_vars,)
    values = tree.map_structure(convert_to_tensor, values)

    def one(*state):
        result = body(*state)
        result = tuple(result) if isinstance(result, (list, tuple)) else (result,)
        return tree.map_structure(lambda new, old: convert_to_tensor(new, old.dtype), result, state)
    if all(is_known(x) for x in tree.flatten(values)) and tf.executing_eagerly():
        steps = 0
        while (maximum_iterations is None or steps < maximum_iterations) and bool(cond(*values)):
            values, steps = one(*values), steps + 1
    else:
        values = tf.while_loop(cond, one, values, maximum_iterations=maximum_iterations)
    return tuple(values) if is_tuple else values[0]


def fori_loop(lower, upper, body_fun, init_val):
    if is_known(lower) and is_known(upper):
        value = init_val
        for i in range(int(lower), int(upper)):
            value = body_fun(i, value)
        return value
    return while_loop(lambda i, value: i < upper, lambda i, value: (i + 1, body_fun(i, value)), (lower, init_val))[1]


def stop_gradient(variable):
    return tf.stop_gradient(convert_to_tensor(variable))


def unstack(x, num=None, axis=0):
    return list(tf.unstack(convert_to_tensor(x), num=num, axis=axis))


def random_seed_dtype():
    return "int64"


class custom_gradient:
    """A function with a gradient of its own, as keras.ops.custom_gradient describes it."""

    def __init__(self, fun):
        def rule(*args):
            outputs, gradient = fun(*args)
            return outputs, lambda *upstream: gradient(*args, upstream=upstream[0]) if _takes_upstream(
                gradient) else gradient(*upstream)
        self._function = tf.custom_gradient(rule)

    def __call__(self, *args):
        return self._function(*[a.value if isinstance(a, Variable) else a for a in args])


def _takes_upstream(gradient):
    import inspect
    try:
        return "upstream" in inspect.signature(gradient).parameters
    except (TypeError, ValueError):
        return False


@contextlib.contextmanager
def device_scope(device_name):
    yield


def remat(f):
    return tf.recompute_grad(f)


def any_symbolic(*xs):
    return builtins.any(not is_known(x) for x in tree.flatten(list(xs)))


_of_arrays = {name: globals()[name] for name in ("scatter", "scatter_update", "slice", "slice_update", "unstack",
                                                 "stop_gradient")} | {"__name__": __name__}
with_missing_dtypes("core", _of_arrays)
globals().update(_of_arrays)
