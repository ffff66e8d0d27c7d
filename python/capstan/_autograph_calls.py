"""What functions call that AutoGraph has converted (_autograph.py): statements, by the value that they depend on."""
import types

class Undefined:
    """A name that is not bound yet."""
    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def _use(self, *args, **kwargs):
        raise UnboundLocalError(f"'{self.name}' has no value here, or only in one branch or a loop whose condition is a "
                                "tensor; give it one before")

    __getattr__ = __call__ = __getitem__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = _use
    __bool__ = __iter__ = __len__ = __float__ = __int__ = __str__ = __format__ = _use
    __truediv__ = __neg__ = __lt__ = __gt__ = __le__ = __ge__ = _use

    def __repr__(self):
        return f"<undefined {self.name}>"


def member(read, name):
    """The value of an attribute or an item, if it has one."""
    try:
        return read()
    except (AttributeError, LookupError, NameError):
        return Undefined(name)


def _is_symbolic(value):
    from ._core import Tensor
    return isinstance(value, Tensor) and value.is_symbolic


def check_defined(result):
    """Raises UnboundLocalError for a result that a name without a value is part of."""
    from . import nest
    for leaf in nest.flatten(result):
        if isinstance(leaf, Undefined):
            leaf._use()


def converted(function):
    """What a call in converted code calls."""
    if isinstance(function, (types.FunctionType, types.MethodType)):
        from ._autograph import convert
        return convert(function)
    return function


def _truth(value):
    from ._core import Variable
    return value.value() if isinstance(value, Variable) else value


def if_stmt(test, body, orelse, get, set_, names):
    """`if`."""
    test = _truth(test)
    if not _is_symbolic(test):
        return body() if test else orelse()
    before = get()

    def run(branch):
        set_(before)
        branch()
        return get()
    try:
        results = _cond_of_states(test, lambda: run(body), lambda: run(orelse), names)
    except BaseException:
        set_(before)
        raise
    set_(results)


def _is_tensor_like(value):
    from . import nest
    leaves = nest.flatten(value)
    return bool(leaves) and all(_is_number(leaf) for leaf in leaves)


def _is_number(leaf):
    from ._convert import is_tensor
    from ._tensor_array import TensorArray
    return is_tensor(leaf) or isinstance(leaf, (int, float, complex, TensorArray)) or hasattr(leaf, "__array__")


def _value(leaf, dtype_hint=None):
    """A leaf as what loops and branches carry."""
    from ._convert import convert_to_tensor
    from ._tensor_array import TensorArray
    return leaf if isinstance(leaf, TensorArray) else convert_to_tensor(leaf, dtype_hint=dtype_hint)


def _cond_of_states(test, body, orelse, names):
    """The state after tf.cond: tensors where both branches give tensors or numbers, and otherwise what both give. A name
    that only one of them binds, or that is another function in each, has no value afterwards."""
    from ._control import cond
    from . import nest
    from ._convert import is_tensor
    first, second = [], []

    def then():
        first[:] = body()
        return [nest.map_structure(_value, v) for v in first if is_carried(v)]

    def otherwise():
        second[:] = orelse()
        tensors = []
        for a, b in zip(first, second):
            if not is_carried(a):
                continue
            if not is_carried(b):  # to be dropped; anything of the same form will do
                b = nest.map_structure(lambda leaf: _zeros_like(leaf), a)
            hint = next((leaf.dtype for leaf in nest.flatten(a) if is_tensor(leaf)), None)
            tensors.append(nest.map_structure(lambda leaf, h=hint: _value(leaf, h), b))
        return tensors

    def is_carried(value):
        return not isinstance(value, Undefined) and _is_tensor_like(value)
    results = iter(cond(test, then, otherwise))
    values = []
    for name, a, b in zip(names, first, second):
        made = next(results) if is_carried(a) else a
        if any(isinstance(v, Undefined) for v in (a, b)) or a is not b and all(isinstance(v, types.FunctionType) for v in (a, b)):
            made = Undefined(name)
        elif is_carried(a) != is_carried(b) or not is_carried(a) and not (a is b or a == b):
            raise ValueError(f"if: the branches give '{name}' values that cannot be chosen between, {a!r} and {b!r}, "
                             "and the condition is a tensor")
        values.append(made)
    return tuple(values)


def _zeros_like(leaf):
    from ._convert import is_tensor
    from ._ops import zeros
    return zeros(list(leaf.shape), leaf.dtype) if is_tensor(leaf) else leaf


def _tensor_loop(test, body, get, set_, names, what, extra=()):
    """A loop whose condition is symbolic; `extra` are tensors that it carries beside the state."""
    from ._control import while_loop
    from . import nest
    before = get()
    # A name without a value before the loop is one of the body's own.
    carried = [not isinstance(v, Undefined) and _is_tensor_like(v) for v in before]
    start = [nest.map_structure(_value, v) for v, c in zip(before, carried) if c]

    def merged(tensors):
        tensors = iter(tensors)
        return tuple(next(tensors) if c else v for v, c in zip(before, carried))

    def condition(*tensors):
        set_(merged(tensors[len(extra):]))
        return test(*tensors[:len(extra)])

    def step(*tensors):
        set_(merged(tensors[len(extra):]))
        more = body(*tensors[:len(extra)])
        values = get()
        for name, value, was, c in zip(names, values, before, carried):
            if not c and value is not was and not isinstance(was, (Undefined, types.FunctionType)):
                raise ValueError(f"{what}: the loop changes '{name}', which is no tensor, and its condition is one")
        return list(more or ()) + [v for v, c in zip(values, carried) if c]
    try:
        end = while_loop(condition, step, list(extra) + start)
    except BaseException:
        set_(before)
        raise
    set_(merged(end[len(extra):]))


def while_stmt(test, body, get, set_, names, stop):
    """`while`; `stop` tells whether a `break` was met."""
    from ._ops import logical_and, logical_not

    def goes_on():
        left = stop() if stop is not None else False
        if _is_symbolic(left):
            return logical_and(logical_not(left), test())
        return False if left else test()
    value = _truth(goes_on())
    while not _is_symbolic(value):
        if not value:
            return
        body()
        value = _truth(goes_on())
    _tensor_loop(goes_on, body, get, set_, names, "while")


class _Range:
    """tf.range of a limit that only a run knows: what a loop of the graph counts."""

    def __init__(self, start, limit, delta):
        self.start, self.limit, self.delta = start, limit, delta


def range_(start, limit=None, delta=1, dtype=None, name="range"):
    """`tf.range` as what a loop goes over."""
    from . import _ops
    given = (0, start, delta) if limit is None else (start, limit, delta)
    known = [_ops.known(v) for v in given]
    if any(_is_symbolic(v) for v in known) and not _is_symbolic(delta):
        hint = next(v.dtype for v in known if _is_symbolic(v))
        return _Range(*[_ops.cast(_ops.convert_to_tensor(v, dtype_hint=hint), dtype or hint) for v in known])
    return _ops.range(start, limit, delta, dtype)


def converted_iterable(function):
    """What is called for the iterable of a `for`."""
    from . import _ops
    return range_ if function is _ops.range else converted(function)


def _range_loop(numbers, body, get, set_, names, stop):
    from ._ops import logical_and, logical_not
    rising = bool(numbers.delta.numpy() > 0)

    def goes_on(i):
        left = stop() if stop is not None else False
        more = i < numbers.limit if rising else i > numbers.limit
        if _is_symbolic(left):
            return logical_and(logical_not(left), more)
        return more

    def step(i):
        body(i)
        return [i + numbers.delta]
    _tensor_loop(goes_on, step, get, set_, names, "for", (numbers.start,))


def for_stmt(iterable, body, get, set_, names, stop, forget):
    """`for`; rows of a symbolic tensor are a loop of the graph, after which the loop's variable has no value: it was one
    of the loop's own."""
    from ._convert import is_tensor
    from ._ops import logical_and, logical_not
    if isinstance(iterable, _Range):
        _range_loop(iterable, body, get, set_, names, stop)
        return forget()
    first = 0
    if not _is_symbolic(iterable):
        for item in iterable:
            body(item)
            first += 1
            left = stop() if stop is not None else False
            if _is_symbolic(left):
                break
            if left:
                return
        else:
            return
        if not is_tensor(iterable):
            raise ValueError("for: `break` under a condition that is a tensor needs a loop over a tensor")
    count = iterable.shape[0]

    def goes_on(i):
        left = stop() if stop is not None else False
        more = i < count
        if _is_symbolic(left):
            return logical_and(logical_not(left), more)
        return more if not left else more & False
    from ._ops import gather

    def step(i):
        body(gather(iterable, i))
        return [i + 1]
    from ._convert import constant
    _tensor_loop(goes_on, step, get, set_, names, "for", (constant(first),))
    return forget()


def if_expression(test, body, orelse):
    """`a if test else b`."""
    test = _truth(test)
    if not _is_symbolic(test):
        return body() if test else orelse()
    from ._control import cond
    return cond(test, body, orelse)


def and_(*values):
    """`a and b`."""
    return _logical(values, "logical_and", lambda v: not v)


def or_(*values):
    """`a or b`."""
    return _logical(values, "logical_or", bool)


def _logical(values, name, decides):
    from . import _ops
    result = values[0]()
    for later in values[1:]:
        if _is_symbolic(_truth(result)):
            result = _ops.OPS[name](result, later())
        elif decides(result):
            return result
        else:
            result = later()
    return result


def chained(left, *steps):
    """`left < b < c`: pairs of a comparison and what its right side is asked for."""
    values, rights = [], [left]

    def holds(compare, later):
        rights.append(later())
        return compare(rights[-2], rights[-1])
    for compare, later in zip(steps[::2], steps[1::2]):
        values.append(lambda compare=compare, later=later: holds(compare, later))
    return and_(*values)


def not_(value):
    """`not a`."""
    if _is_symbolic(_truth(value)):
        from ._ops import logical_not
        return logical_not(value)
    return not value
