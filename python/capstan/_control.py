"""Functions of functions: tf.function, custom gradients, control flow. Structures are taken apart here; the extension
module works on lists."""
import functools
import inspect

from . import _concrete, _core, _dtypes, nest
from ._convert import convert_to_tensor, is_tensor
from ._core import Tensor, Variable
from ._tensor_array import TensorArray


def function(func=None, input_signature=None, autograph=True, jit_compile=None, reduce_retracing=False,
             experimental_implements=None, experimental_autograph_options=None, experimental_attributes=None,
             experimental_relax_shapes=None, experimental_compile=None, experimental_follow_type_hints=None,
             memory_budget=0):
    """A function that runs once for each kind of arguments, with symbolic tensors, and then as a program.

    `input_signature` is a list of TensorSpecs, whose open lengths share a trace unless it depends on them; with
    `reduce_retracing` all lengths are open once a second one has come. With `autograph` statements on tensors become parts of the program (see
    _autograph.py). The arguments that name compilers and attributes of graphs are accepted and ignored.
    """
    def decorate(f):
        if isinstance(f, _core.Function):
            return f
        if not callable(f):
            raise TypeError(f"function: {f!r} is not a callable object")
        specs, is_method, is_flat = None, _is_method(f), False
        # There are no symbols of texts, so a function of them runs op by op.
        if input_signature is not None and not any(s.dtype == _dtypes.string for s in nest.flatten(list(input_signature))):
            is_flat = not any(map(nest.is_nested, input_signature))
            specs = [(None if s.shape is None else list(s.shape), s.dtype, s.name or "")
                     for s in nest.flatten(list(input_signature))]
        name = getattr(f, "__name__", type(f).__name__)
        body = f
        if autograph:
            from ._autograph import Converted
            body = Converted(f)
        # A trace that depends on a length which a signature leaves open serves the calls of that length.
        traced = _core.Function(body, name, specs, int(bool(specs or reduce_retracing or experimental_relax_shapes)),
                                memory_budget, int(is_method), int(is_flat))
        functools.update_wrapper(traced, f, updated=())
        traced.input_signature = input_signature
        traced._options = {"input_signature": input_signature, "autograph": autograph, "memory_budget": memory_budget,
                           "reduce_retracing": reduce_retracing, "experimental_relax_shapes": experimental_relax_shapes,
                           "jit_compile": jit_compile, "experimental_implements": experimental_implements,
                           "experimental_autograph_options": experimental_autograph_options,
                           "experimental_attributes": experimental_attributes}
        return traced
    return decorate if func is None else decorate(func)


def _is_method(f):
    """Whether the first argument is the object that a function in a class is called for, to which no spec belongs."""
    try:
        return next(iter(inspect.signature(f).parameters), None) == "self"
    except (TypeError, ValueError):
        return False


def _traced_anew(f, options):
    return function(f, **options)


def _repr(self):
    return f"<tf.function {getattr(self, '__name__', 'function')}>"


def _clone(self, python_function):
    """Another function, with the options of this one."""
    return function(python_function, **self._options)


def _option(name):
    return property(lambda self: self._options[name])


def stop_recording(tape):
    return tape.stop_recording()


def _takes_variables(rule):
    try:
        parameters = inspect.signature(rule).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == "variables" or p.kind == p.VAR_KEYWORD for p in parameters)


def custom_gradient(f=None):
    """A function with a gradient of its own: `f` returns its result and a function of the cotangents of the result,
    which gives one gradient for each argument, and for the keyword `variables` a pair of these and those of the
    variables."""
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        form = []
        leaves = nest.flatten(list(args))
        at = [i for i, leaf in enumerate(leaves) if _differentiable(leaf)]

        def body(tensors):
            given = list(leaves)
            for i, tensor in zip(at, tensors):
                given[i] = tensor
            result = f(*nest.pack_sequence_as(list(args), given), **kwargs)
            if not isinstance(result, (tuple, list)) or len(result) != 2:
                raise TypeError("custom_gradient: the function returns its result and a gradient function")
            value, rule = result
            form.append(nest.map_structure(lambda leaf: None, value))

            takes = _takes_variables(rule)
            outputs = [convert_to_tensor(v) for v in nest.flatten(value)]
            return outputs, _BothGradients(rule, at, len(leaves), takes), takes
        outputs = _core.custom_gradient(body, [convert_to_tensor(leaves[i]) for i in at])
        return nest.pack_sequence_as(form[0], outputs)
    return decorated


class _BothGradients:
    """The rule of a custom gradient, which the library asks once for the arguments and once for the variables: with
    variables it is called once, and what it gave is kept for the second question."""

    def __init__(self, rule, at, count, takes):
        self.rule, self.at, self.count, self.takes = rule, at, count, takes
        self.variables = []

    def __call__(self, cotangents, variables):
        if not self.takes:
            return _gradients_of(self.rule(*cotangents), self.at, self.count)
        if variables is None:
            given = self.rule(*cotangents, variables=self.variables) if self.variables else self._plain(cotangents)
            return _gradients_of(given[0] if self._is_pair(given) else given, self.at, self.count)
        self.variables = list(variables)
        return nest.flatten(self.rule(*cotangents, variables=self.variables)[1])

    def _plain(self, cotangents):
        try:
            return self.rule(*cotangents)
        except TypeError:
            return self.rule(*cotangents, variables=[])

    def _is_pair(self, given):
        return isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], (list, tuple)) and (
            len(given[1]) == len(self.variables))


def _gradients_of(given, at, count):
    """One gradient for each argument that is a tensor, of what a rule gave."""
    flat = list(given) if isinstance(given, (list, tuple)) else [given]
    flat = [g for item in flat for g in nest.flatten(item)]
    if len(flat) == count:
        return [flat[i] for i in at]
    if len(flat) == len(at):
        return flat
    raise ValueError(f"custom_gradient: the gradient function gives {len(flat)} gradients for {len(at)} arguments")


def _differentiable(leaf):
    return is_tensor(leaf) or hasattr(leaf, "__array__") or isinstance(leaf, (int, float, complex)) and not isinstance(
        leaf, bool)


def recompute_grad(f):
    """A function that keeps only its arguments for gradients, and runs again for them."""
    @functools.wraps(f)
    def recomputed(*args, **kwargs):
        form = []

        def body(*tensors):
            result = f(*nest.pack_sequence_as(list(args), tensors), **kwargs)
            form[:] = [result]
            return [convert_to_tensor(r) for r in nest.flatten(result)]
        outputs = _core.recompute(body, [convert_to_tensor(a) for a in nest.flatten(list(args))])
        return nest.pack_sequence_as(form[0], outputs)
    return recomputed


def grad_pass_through(f):
    """A function whose gradient is that of the identity."""
    @custom_gradient
    def passed(*args, **kwargs):
        def rule(*cotangents, **named):
            variables = named.get("variables")
            return (list(cotangents), [None] * len(variables)) if variables is not None else list(cotangents)
        return f(*args, **kwargs), rule
    return passed


class _ElementShape(Exception):
    """The shape of the elements of an array, that a trace has found too late: the loop or choice began with an array
    without elements. It is traced anew, with zeros of that shape."""

    def __init__(self, leaf, shape):
        super().__init__()
        self.leaf, self.shape = leaf, list(shape)


def _with_shapes(trace):
    """What trace(shapes) returns; `shapes` has those of the elements of arrays, by the number of the leaf."""
    shapes = {}
    while True:
        try:
            return trace(shapes)
        except _ElementShape as found:
            shapes[found.leaf] = found.shape


def _tensor_of(leaf, shape=None, dtype_hint=None):
    """What loops and branches carry of a leaf: an array as one tensor, None while its elements have no shape."""
    return leaf.opened(shape) if isinstance(leaf, TensorArray) else convert_to_tensor(leaf, dtype_hint=dtype_hint)


def _like(leaf, tensor):
    """A tensor as the leaf that it was made of; None: nothing was."""
    return leaf.with_tensor(tensor) if isinstance(leaf, TensorArray) and tensor is not None else tensor


def _after_branches(run, functions):
    """The results of a choice; run(branches) traces functions that return lists of tensors."""
    def trace(shapes):
        forms = []

        def branch(f):
            def call():
                forms.append(f())
                leaves = nest.flatten(forms[-1])
                tensors = [None if r is None else _tensor_of(r, shapes.get(i)) for i, r in enumerate(leaves)]
                for i, first in enumerate(nest.flatten(forms[0])[:len(leaves)]):
                    if isinstance(first, TensorArray) and isinstance(leaves[i], TensorArray):
                        if tensors[i] is not None and first.opened(shapes.get(i)) is None:
                            raise _ElementShape(i, tensors[i].shape[1:])
                        if tensors[i] is None and first.opened() is not None:
                            raise _ElementShape(i, first.element_shape)
                        if first.count() != leaves[i].count():
                            raise ValueError(f"TensorArray: the branches leave {first.count()} and {leaves[i].count()} "
                                             "elements, and the condition is a tensor; give the size from the start")
                return tensors
            return call
        outputs = run([branch(f) for f in functions])
        for form in forms[1:]:
            nest.assert_same_structure(forms[0], form)
        leaves = [first if out is None else _like(first, out) for first, out in zip(nest.flatten(forms[0]), outputs)]
        return nest.pack_sequence_as(forms[0], leaves)
    return _with_shapes(trace)


def cond(pred, true_fn=None, false_fn=None, name=None):
    """Calls one of two functions, by a truth value that may be a tensor."""
    if not isinstance(pred, (Tensor, Variable)):
        if isinstance(pred, bool) or not hasattr(pred, "__array__"):
            return true_fn() if pred else false_fn()
        pred = convert_to_tensor(pred)
    pred = convert_to_tensor(pred)
    if not pred.is_symbolic:
        return true_fn() if pred else false_fn()
    return _after_branches(lambda branches: _core.cond(pred, *branches), [true_fn, false_fn])


def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """Calls the function with this number; the default, or the last one, for any other."""
    if isinstance(branch_fns, dict) or branch_fns and isinstance(branch_fns[0], (list, tuple)):
        pairs = dict(branch_fns)
        if sorted(pairs) != list(range(len(pairs))):
            raise ValueError(f"switch_case: branch indices must be 0 to {len(pairs) - 1}, not {sorted(pairs)}")
        branch_fns = [pairs[i] for i in sorted(pairs)]
    functions = list(branch_fns) + ([default] if default is not None else [])
    index = convert_to_tensor(branch_index)
    return _after_branches(lambda branches: _core.switch_case(index, branches), functions)


def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """Calls the function of the first condition that holds."""
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if default is None:
        *pairs, (_, default) = pairs

    def choose(i):
        if i == len(pairs):
            return default()
        condition, f = pairs[i]
        return cond(condition, f, lambda: choose(i + 1))
    return choose(0)


def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False,
               maximum_iterations=None, return_same_structure=True, name=None):
    """Calls the body with what it returned as long as the condition holds."""
    variables = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]
    leaves = nest.flatten(variables)
    most = None if maximum_iterations is None else int(maximum_iterations)
    if not _core.inside_function() and any(isinstance(leaf, TensorArray) for leaf in leaves):
        return _plain_loop(cond, body, loop_vars, most)
    end = _with_shapes(lambda shapes: _trace_loop(cond, body, variables, leaves, most, shapes))
    packed = nest.pack_sequence_as(loop_vars if isinstance(loop_vars, (list, tuple)) else variables, end)
    return packed if isinstance(loop_vars, (list, tuple)) else packed[0]


def _plain_loop(cond, body, loop_vars, most):
    """A loop outside of functions, in which arrays are what they are, and may become longer."""
    is_list = isinstance(loop_vars, (list, tuple))
    values = list(loop_vars) if is_list else [loop_vars]
    count = 0
    while (most is None or count < most) and cond(*values):
        result = body(*values)
        is_one = len(values) == 1 and not (isinstance(result, (list, tuple)) and len(result) == 1)
        values = [result] if is_one else list(result)
        count += 1
    return nest.pack_sequence_as(loop_vars, nest.flatten(values)) if is_list else values[0]


def _trace_loop(cond, body, variables, leaves, most, shapes):
    """The leaves after a loop."""
    start = [_tensor_of(leaf, shapes.get(i)) for i, leaf in enumerate(leaves)]

    def structure(tensors):
        """Tensors as what the functions take; arrays that hold nothing yet are not among them."""
        tensors = iter(tensors)
        return nest.pack_sequence_as(
            variables, [leaf if s is None else _like(leaf, next(tensors)) for leaf, s in zip(leaves, start)])

    def holds(*tensors):
        return [convert_to_tensor(cond(*structure(tensors)))]

    def run(*tensors):
        result = body(*structure(tensors))
        if len(variables) == 1 and not (isinstance(result, (list, tuple)) and len(result) == 1):
            result = [result]
        made = nest.flatten(result)
        if len(made) != len(leaves):
            raise ValueError(f"while_loop: the body returns {len(made)} tensors for {len(leaves)} loop variables")
        return [tensor for i in range(len(made)) if (tensor := after(i, made[i])) is not None]

    def after(i, made):
        if not isinstance(leaves[i], TensorArray):
            return _tensor_of(made, dtype_hint=start[i].dtype)
        if not isinstance(made, TensorArray):
            raise TypeError(f"while_loop: the body returns {made!r} for a TensorArray")
        if made.count() != leaves[i].count():
            raise ValueError(f"TensorArray: a loop over a tensor makes {made.count()} of {leaves[i].count()} elements; "
                             "give the size from the start")
        tensor = made.opened(shapes.get(i))
        if tensor is not None and start[i] is None:
            raise _ElementShape(i, tensor.shape[1:])
        return tensor
    return nest.flatten(structure(_core.while_loop(holds, run, [s for s in start if s is not None], most)))


def _rows(name, run):
    def mapped(fn, elems):
        form = []

        def body(*leaves):
            result = fn(nest.pack_sequence_as(elems, leaves))
            form[:] = [result]
            return [None if r is None else convert_to_tensor(r) for r in nest.flatten(result)]
        outputs = run(body, [convert_to_tensor(e) for e in nest.flatten(elems)])
        return nest.pack_sequence_as(form[0], outputs)
    mapped.__name__ = mapped.__qualname__ = name
    return mapped


_map_rows = _rows("map_fn", _core.map_fn)
_map_at_once = _rows("vectorized_map", _core.vectorized_map)


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False, infer_shape=True, name=None,
           fn_output_signature=None):
    """Calls a function for each row, and stacks what it returns."""
    return _map_rows(fn, elems)


def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
    """Calls a function once, with a symbolic row, and runs its ops on all rows."""
    return _map_at_once(fn, elems)


def _carried(run, fn, elems, initializer, reverse):
    """Runs `run` over rows, with what the function returned for the row before; without an initializer the first row
    is that. Gives the form of what is carried, and the results as a list."""
    elements = [convert_to_tensor(e) for e in nest.flatten(elems)]
    if initializer is None:
        edge, rest = (-1, slice(None, -1)) if reverse else (0, slice(1, None))
        initializer = nest.pack_sequence_as(elems, [e[edge] for e in elements])
        elements = [e[rest] for e in elements]
    start = [convert_to_tensor(i) for i in nest.flatten(initializer)]

    def body(*leaves):
        carried = nest.pack_sequence_as(initializer, leaves[:len(start)])
        row = nest.pack_sequence_as(elems, leaves[len(start):])
        return [convert_to_tensor(r) for r in nest.flatten(fn(carried, row))]
    return initializer, run(body, elements, start, reverse)


def _fold(reverse):
    def fold(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
        form, results = _carried(_core.fold, fn, elems, initializer, reverse)
        return nest.pack_sequence_as(form, results)
    fold.__name__ = fold.__qualname__ = "foldr" if reverse else "foldl"
    fold.__doc__ = f"The last of what fn(carried, row) gives, from the {'last' if reverse else 'first'} row on."
    return fold


foldl = _fold(False)
foldr = _fold(True)


def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, infer_shape=True,
         reverse=False, name=None):
    """Calls a function with what it returned for the row before, and stacks all of that."""
    form, results = _carried(_core.scan, fn, elems, initializer, reverse)
    if initializer is None:
        from ._ops import concat
        first = [convert_to_tensor(e) for e in nest.flatten(elems)]
        first = [e[-1:] if reverse else e[:1] for e in first]
        results = [concat([r, f] if reverse else [f, r], 0) for f, r in zip(first, results)]
    return nest.pack_sequence_as(form, results)


_core.Function.get_concrete_function = _concrete.of_function
_core.Function.pretty_printed_concrete_signatures = _concrete.pretty_printed_concrete_signatures
_core.BoundFunction.get_concrete_function = _concrete.of_method
_core.BoundFunction.__reduce__ = lambda self: (getattr, (self.__self__, self.__name__))
_core.Function.__repr__ = _repr
# What is pickled is the function and its options; it is traced anew where it is loaded.
_core.Function.__reduce__ = lambda self: (_traced_anew, (self.__wrapped__, self._options))
_core.Function.python_function = property(lambda self: self.__wrapped__, doc="The function that is traced.")
_core.Function.input_signature = None
# Names that code around TensorFlow looks at, though they are private there.
_core.Function._clone = _clone
_core.Function._name = property(lambda self: self.__name__)
_core.Function._python_function = _core.Function.python_function
_core.Function._attributes = property(lambda self: dict(self._options["experimental_attributes"] or {}))
for _name in ("autograph", "experimental_autograph_options", "reduce_retracing", "jit_compile"):
    setattr(_core.Function, "_" + _name, _option(_name))
