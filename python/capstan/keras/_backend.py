"""tf.keras.backend: the functions of scripts for Keras 2, under the names that they have there."""
from .. import _control, _convert, _modules, _ops
from .._core import Variable

# Of keras.ops, with the same names and arguments.
_SAME = """
    all any argmax argmin cast concatenate cos cumprod cumsum dot elu equal expand_dims eye greater greater_equal
    hard_sigmoid less less_equal maximum minimum not_equal ones ones_like prod relu repeat reshape round shape sigmoid sign
    sin softmax softplus softsign squeeze stack std stop_gradient tanh tile transpose var zeros zeros_like mean sum abs exp
    log sqrt square max min ndim one_hot in_top_k binary_crossentropy categorical_crossentropy
    sparse_categorical_crossentropy"""
_RENAMED = {"pow": "power", "permute_dimensions": "transpose", "reverse": "flip"}


def clip(x, min_value, max_value):
    """x, but nothing below or above the limits."""
    return _ops.clip_by_value(x, min_value, max_value)


def gather(reference, indices):
    """Rows by their numbers."""
    return _ops.gather(reference, indices)


def l2_normalize(x, axis=None):
    """x divided by its norm."""
    return _ops.OPS["l2_normalize"](x, axis)


def constant(value, dtype=None, shape=None, name=None):
    """A tensor of numbers."""
    return _convert.constant(value, dtype=dtype, shape=shape)


def variable(value, dtype=None, name=None, constraint=None):
    """A variable."""
    _convert.refuse("variable", constraint=(constraint, None))
    return Variable(value, dtype=dtype, name=name)


def int_shape(x):
    """The shape as a tuple."""
    return tuple(x.shape)


def dtype(x):
    """The name of the dtype."""
    return x.dtype.name


def get_value(x):
    """The elements as an array."""
    return x.numpy()


def set_value(x, value):
    """Writes a variable."""
    x.assign(value)


def update(x, new_x):
    """Writes a variable."""
    return x.assign(new_x)


def update_add(x, increment):
    """Adds to a variable."""
    return x.assign_add(increment)


def update_sub(x, decrement):
    """Subtracts from a variable."""
    return x.assign_sub(decrement)


def switch(condition, then_expression, else_expression):
    """One of two: by a scalar, or element by element."""
    then, other = ((lambda e=e: e() if callable(e) else e) for e in (then_expression, else_expression))
    condition = _convert.convert_to_tensor(condition)
    return _control.cond(condition, then, other) if condition.shape.rank == 0 else _ops.where(condition, then(), other())


def random_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Normally distributed numbers."""
    return _modules.random.normal(shape, mean, stddev, **({} if dtype is None else {"dtype": dtype}), seed=seed)


def random_uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Evenly distributed numbers."""
    return _modules.random.uniform(shape, minval, maxval, **({} if dtype is None else {"dtype": dtype}), seed=seed)


_OWN = (clip, gather, l2_normalize, constant, variable, int_shape, dtype, get_value, set_value, update, update_add,
        update_sub, switch, random_normal, random_uniform)


def functions(ops):
    """All of them."""
    return {**{name: getattr(ops, name) for name in _SAME.split()},
            **{name: getattr(ops, other) for name, other in _RENAMED.items()},
            **{f.__name__: f for f in _OWN}, "eval": get_value}
