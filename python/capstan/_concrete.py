"""One kind of calls of a traced function: what get_concrete_function() gives."""
import functools
import inspect

import numpy as np

from . import _core, nest
from ._convert import TensorSpec, convert_to_tensor, is_tensor
from ._core import Tensor, Variable
from ._dtypes import string
from ._texts import TextTensor


class _Node:
    """An op of a graph: its name, what it does, and the names of what it takes."""

    def __init__(self, name, op, input):
        self.name, self.op, self.type, self.input = name, op, op, list(input)

    def __repr__(self):
        return f"{self.name} = {self.op}({', '.join(self.input)})"


class _Nodes:
    """The ops of a graph, each before those that use it."""

    def __init__(self, nodes):
        self.node = nodes

    def __repr__(self):
        return "\n".join(map(repr, self.node))


class _Graph(str):
    """The text of a graph, one op per line, and its ops."""

    def as_graph_def(self):
        """The ops, as `node`."""
        return _Nodes(self.get_operations())

    def get_operations(self):
        """The ops, each before those that use it."""
        return [_Node(*node) for node in self._nodes]


def _as_spec(leaf, is_declared):
    """The TensorSpec of what becomes a tensor of a trace, as everything does if it has been declared; else the leaf."""
    becomes_tensor = isinstance(leaf, (Tensor, TextTensor, np.ndarray, np.generic)) or is_declared and not isinstance(leaf, (
        TensorSpec, Variable))
    return TensorSpec.from_tensor(convert_to_tensor(leaf)) if becomes_tensor else leaf


def _of_spec(spec):
    return TensorSpec(spec.lengths, spec.dtype)


class ConcreteFunction:
    """A function for one kind of arguments. It is called with all of them, or with the tensors among them alone."""

    def __init__(self, function, args, kwargs, bound=()):
        self._function, self._bound = function, bound
        self.name = function.__name__
        self._form = [args, kwargs]
        self._leaves = [_as_spec(leaf, function.input_signature) for leaf in nest.flatten([args, kwargs])]
        self._places = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, TensorSpec)]
        specs = [self._leaves[i] for i in self._places]
        self._handle = None
        # Without a rank, or of texts, there is no trace: the function is called, and traced as its arguments say.
        if all(spec.shape is not None and spec.shape.rank is not None and spec.dtype != string for spec in specs):
            try:
                self._handle = _core.Concrete(function, *self._filled([_core.Spec(
                    list(spec.shape), spec.dtype, spec.name or "") for spec in specs]))
            except _core.UntraceableError:
                pass

    def _filled(self, values):
        """All arguments, with these where tensors are."""
        leaves = list(self._leaves)
        for place, value in zip(self._places, values):
            leaves[place] = value
        args, kwargs = nest.pack_sequence_as(self._form, leaves)
        return (*self._bound, *args), dict(kwargs)

    def _differs(self, what):
        return TypeError(f"{self.name}: {what}; this concrete function was made for {self.structured_input_signature}")

    def _values(self, args, kwargs):
        """The tensors of a call, in their order."""
        args, kwargs, parameters = list(args), dict(kwargs), self._parameters
        while len(args) < len(self._form[0]) and parameters[len(args)] in kwargs:
            args.append(kwargs.pop(parameters[len(args)]))
        given = nest.flatten([args, kwargs])
        if len(given) == len(self._leaves) and len(args) == len(self._form[0]) and set(kwargs) == set(self._form[1]):
            for i, (leaf, made_for) in enumerate(zip(given, self._leaves)):
                if not isinstance(made_for, TensorSpec) and leaf is not made_for and (is_tensor(leaf) or leaf != made_for):
                    raise self._differs(f"the argument {i} is {leaf!r}")
            return [given[i] for i in self._places]
        names = self._names
        values = dict(zip(self._places, nest.flatten(args)))
        for name, value in kwargs.items():
            for place, value in zip([p for p in self._places if names.get(p) == name], nest.flatten(value)):
                if place in values:
                    raise self._differs(f"{name!r} is given twice")
                values[place] = value
        if len(values) != len(self._places) or len(given) != len(self._places):
            raise self._differs(f"{len(given)} arguments are given where there are {len(self._places)} tensors")
        return [values[place] for place in self._places]

    @functools.cached_property
    def _parameters(self):
        """The names of the parameters, None for positions without one."""
        try:
            names = list(inspect.signature(self._function.python_function).parameters)[len(self._bound):]
        except (TypeError, ValueError):
            names = []
        return names + [None] * len(self._form[0])

    @functools.cached_property
    def _names(self):
        """The parameter that each leaf belongs to, by the number of the leaf."""
        args, kwargs = self._form
        names, number = {}, 0
        parts = list(zip(self._parameters, args)) + [(key, kwargs[key]) for key in sorted(kwargs)]
        for name, part in parts:
            for _ in nest.flatten(part):
                names[number] = name
                number += 1
        return names

    def __call__(self, *args, **kwargs):
        values = []
        for place, value in zip(self._places, self._values(args, kwargs)):
            spec = self._leaves[place]
            if not is_tensor(value):
                value = convert_to_tensor(value, dtype=spec.dtype)
            if value.dtype != spec.dtype or not (spec.shape is None or spec.shape.is_compatible_with(value.shape)):
                raise _core.InvalidArgumentError(
                    f"{self.name}: a tensor of {value.dtype.name} and shape {value.shape} is given where this concrete "
                    f"function was made for {spec}")
            values.append(value)
        args, kwargs = self._filled(values)
        if self._handle is None or _core.functions_run_eagerly():
            return self._function(*args, **kwargs)
        return self._handle(args, kwargs)

    @property
    def _trace(self):
        if self._handle is None:
            raise ValueError(f"{self.name}: there is no trace: a TensorSpec has no rank, or is of texts, or the function needs "
                             "values")
        return self._handle

    @property
    def structured_input_signature(self):
        """The arguments, with TensorSpecs where tensors are."""
        args, kwargs = nest.pack_sequence_as(self._form, self._leaves)
        return tuple(args), dict(kwargs)

    @property
    def inputs(self):
        """The TensorSpecs of the tensors among the arguments."""
        return [self._leaves[place] for place in self._places]

    @property
    def structured_outputs(self):
        """The result, with TensorSpecs where tensors are. Errors: ValueError where there is no trace."""
        return nest.map_structure(lambda leaf: _of_spec(leaf) if isinstance(leaf, _core.Spec) else leaf, self._trace.results)

    @property
    def outputs(self):
        """The TensorSpecs of the tensors of the result."""
        return [leaf for leaf in nest.flatten(self.structured_outputs) if isinstance(leaf, TensorSpec)]

    @property
    def output_shapes(self):
        """The shapes of the result."""
        return nest.map_structure(lambda spec: spec.shape, self.structured_outputs)

    @property
    def output_dtypes(self):
        """The dtypes of the result."""
        return nest.map_structure(lambda spec: spec.dtype, self.structured_outputs)

    @property
    def function_type(self):
        """What it takes and gives, as text."""
        return self.name + str(self.structured_input_signature) if self._handle is None else self._handle.signature

    def pretty_printed_signature(self, verbose=True):
        """The arguments, and what is returned if `verbose`."""
        arguments = "\n".join(f"  {self._names.get(place) or place}: {self._leaves[place]}" for place in self._places)
        text = f"{self.name}\nArgs:\n{arguments}"
        return f"{text}\nReturns:\n  {self.structured_outputs}" if verbose and self._handle is not None else text

    @property
    def graph(self):
        """Its ops, one per line, with as_graph_def() and get_operations()."""
        graph = _Graph(self._trace.text)
        graph._nodes = self._trace.nodes
        return graph

    def __repr__(self):
        return f"<ConcreteFunction {self.function_type}>"


def _concrete(function, bound, args, kwargs):
    if not args and not kwargs and function.input_signature:
        args = tuple(function.input_signature)
    return ConcreteFunction(function, list(args), dict(kwargs), bound)


def pretty_printed_concrete_signatures(self, verbose=True):
    """What the function was traced for, one after the other."""
    from ._saved_functions import concretes_of
    return "\n\n".join(concrete.pretty_printed_signature(verbose) for concrete in concretes_of(self))


def of_function(self, *args, **kwargs):
    """The trace for these arguments, among which TensorSpecs stand for tensors; nothing is run.

    It is called with the tensors. Without arguments it is the one of the input_signature. A spec without a rank, or of
    texts, is traced when it is called.
    """
    return _concrete(self, (), args, kwargs)


def of_method(self, *args, **kwargs):
    """As get_concrete_function of the function; the object is its first argument."""
    return _concrete(self.__func__, (self.__self__,), args, kwargs)
