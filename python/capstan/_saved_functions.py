"""Functions of saved models: their arguments and results as data, and the functions that are loaded."""
import collections
import inspect

import numpy as np

from . import _core, nest
from ._concrete import ConcreteFunction
from ._convert import TensorSpec, convert_to_tensor, is_tensor
from ._core import Variable
from ._dtypes import as_dtype, string

_LITERALS = (type(None), bool, int, float, str)


def form_of(value, owner):
    """A structure as data; TensorSpecs become their places among the tensors. Errors: ValueError for what data cannot be."""
    count = [0]

    def convert(item):
        if isinstance(item, TensorSpec):
            count[0] += 1
            return {"tensor": count[0] - 1}
        if isinstance(item, _core.Spec):
            return {"tensor": int(item.name)}
        if isinstance(item, _LITERALS):
            return {"value": item}
        if isinstance(item, dict):
            keys = sorted(item) if all(isinstance(key, str) for key in item) else None
            if keys is not None:
                return {"dict": [[key, convert(item[key])] for key in keys]}
        elif isinstance(item, tuple) and hasattr(item, "_fields"):
            return {"named": [type(item).__name__, list(item._fields), [convert(one) for one in item]]}
        elif type(item) in (list, tuple):
            return {type(item).__name__: [convert(one) for one in item]}
        elif type(item).__name__ == "DType":
            return {"dtype": item.name}
        raise ValueError(f"saved_model.save: the function {owner!r} has {item!r} among its arguments or results\n"
                         "  help: files hold tensors, numbers, texts, None, and lists, tuples and dicts of these")

    return convert(value)


def from_form(form, tensors):
    """The structure of a form, with these in the places of tensors."""
    (kind, content), = form.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "dict":
        return {key: from_form(one, tensors) for key, one in content}
    if kind == "named":
        name, fields, values = content
        return collections.namedtuple(name, fields)(*(from_form(one, tensors) for one in values))
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(from_form(one, tensors) for one in content)
    return as_dtype(content) if kind == "dtype" else content


def parameters_of(function, bound):
    """Names of positional parameters, of keyword-only ones, and the defaults that are data."""
    kinds = inspect.Parameter
    try:
        parameters = list(inspect.signature(function).parameters.values())[bound:]
    except (TypeError, ValueError):
        return {"names": [], "keywords": [], "defaults": {}}
    names = [p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    keywords = [p.name for p in parameters if p.kind is kinds.KEYWORD_ONLY]
    defaults = {p.name: p.default for p in parameters
                if p.default is not kinds.empty and isinstance(p.default, _LITERALS)}
    return {"names": names, "keywords": keywords, "defaults": defaults}


def canonical(parameters, args, kwargs):
    """Arguments in the order of the parameters, defaults filled in; those that have no place are left in the keywords."""
    args, kwargs = list(args), dict(kwargs)
    for name in parameters["names"][len(args):]:
        if name in kwargs:
            args.append(kwargs.pop(name))
        elif name in parameters["defaults"]:
            args.append(parameters["defaults"][name])
        else:
            break
    for name in parameters["keywords"]:
        if name not in kwargs and name in parameters["defaults"]:
            kwargs[name] = parameters["defaults"][name]
    return tuple(args), kwargs


def _matches(wanted, given, tensors):
    """Whether an argument is of the kind that is wanted; its tensors are added to the list."""
    if isinstance(wanted, TensorSpec):
        if not is_tensor(given):
            if not isinstance(given, (bool, int, float, complex, np.ndarray, np.generic, list, tuple)):
                return False
            given = convert_to_tensor(given, None if isinstance(given, (np.ndarray, np.generic)) else wanted.dtype)
        tensors.append(given)
        return given.dtype == wanted.dtype and wanted.shape.is_compatible_with(given.shape)
    if isinstance(wanted, dict):
        return isinstance(given, dict) and set(given) == set(wanted) and all(
            _matches(wanted[key], given[key], tensors) for key in wanted)
    if isinstance(wanted, (list, tuple)):
        return isinstance(given, (list, tuple)) and len(given) == len(wanted) and all(
            _matches(one, other, tensors) for one, other in zip(wanted, given))
    return not is_tensor(given) and type(given) is type(wanted) and given == wanted


class Kind:
    """One kind of arguments that a saved function takes, and the trace for it."""

    def __init__(self, function, form, specs):
        self.function = function
        self._form = form
        self.arguments = from_form(form["arguments"], specs)

    def tensors(self, args, kwargs):
        """The tensors of a call, or None if it is of another kind."""
        tensors = []
        return tensors if _matches(self.arguments, (args, kwargs), tensors) else None

    def __call__(self, tensors):
        return from_form(self._form["results"], self.function(tensors))


def _described(args, kwargs):
    lines = "".join(f"\n    * {arg!r}" for arg in args)
    return f"  Positional arguments ({len(args)} total):{lines}\n  Keyword arguments: {kwargs}"


class RestoredFunction:
    """A function of a saved model: called with arguments of one of the kinds that it was saved for."""

    def __init__(self, name, form, kinds):
        self.__name__ = self.name = name
        self._parameters, self.kinds = form["parameters"], kinds

    def _find(self, args, kwargs):
        args, kwargs = canonical(self._parameters, args, kwargs)
        for kind in self.kinds:
            tensors = kind.tensors(args, kwargs)
            if tensors is not None:
                return kind, tensors
        options = "\n\n".join(f"Option {i + 1}:\n{_described(*kind.arguments)}" for i, kind in enumerate(self.kinds))
        raise ValueError(
            f"Could not find matching concrete function to call loaded from the SavedModel. Got:\n{_described(args, kwargs)}"
            f"\n\n Expected these arguments to match one of the following {len(self.kinds)} option(s):\n\n{options}")

    def __call__(self, *args, **kwargs):
        kind, tensors = self._find(args, kwargs)
        return kind(tensors)

    def get_concrete_function(self, *args, **kwargs):
        """The trace for these arguments, among which TensorSpecs stand for tensors."""
        if not args and not kwargs and len(self.kinds) == 1:
            args, kwargs = self.kinds[0].arguments
        return ConcreteFunction(_core_function(self), list(args), dict(kwargs))

    def __repr__(self):
        return f"<capstan RestoredFunction {self.name}>"


def _core_function(restored):
    """The function as one that is traced here."""
    from ._control import function
    return function(restored.__call__, autograph=False)


def _joined(specs):
    """The spec of tensors that have one of these."""
    shapes = {tuple(spec.lengths) for spec in specs}
    return TensorSpec(specs[0].lengths if len(shapes) == 1 else None, specs[0].dtype, specs[0].name)


class Signature:
    """A function of a saved model that takes tensors by name and gives a dict of them; one trace for each rank."""

    def __init__(self, name, functions):
        self._functions, self.name = functions, name

    @property
    def structured_input_signature(self):
        """Nothing by place, and the TensorSpecs by name."""
        return (), {specs[0].name: _joined(specs) for specs in zip(*(f.inputs for f in self._functions))}

    @property
    def structured_outputs(self):
        """The TensorSpecs of the results, by name."""
        return {specs[0].name: _joined(specs) for specs in zip(*(f.outputs for f in self._functions))}

    @property
    def inputs(self):
        """The TensorSpecs of the arguments."""
        return list(self.structured_input_signature[1].values())

    @property
    def outputs(self):
        """The TensorSpecs of the results."""
        return list(self.structured_outputs.values())

    def __call__(self, *args, **kwargs):
        specs = self.structured_input_signature[1]
        given = dict(zip(specs, args)) if len(args) <= 1 else None
        if given is None or len(args) > len(specs) or set(given) & set(kwargs) or {*given, *kwargs} != set(specs):
            raise TypeError(f"{self.name}: {len(args)} arguments by place and {sorted(kwargs)} by name are given, and the "
                            f"signature takes tensors by the names {list(specs)}")
        given.update(kwargs)
        tensors = []
        for name, spec in specs.items():
            value = given[name]
            tensors.append(value if is_tensor(value) else convert_to_tensor(value, spec.dtype))
        function = next((f for f in self._functions if all(
            len(spec.lengths) == tensor.shape.rank for spec, tensor in zip(f.inputs, tensors))), self._functions[0])
        return {spec.name: value for spec, value in zip(function.outputs, function(tensors))}

    def __repr__(self):
        return f"<capstan signature {self.name}(*, {', '.join(map(repr, self.inputs))}) -> {self.structured_outputs}>"


def _as_spec(leaf):
    return TensorSpec(leaf.lengths, leaf.dtype, leaf.name or None) if isinstance(leaf, _core.Spec) else leaf


_RANKS = 5  # from 0, of tensors whose rank a signature leaves open


def _for_each_rank(concrete):
    """The concrete function, or, if a TensorSpec has no rank, those for the ranks that the function takes."""
    open_places = [p for p in concrete._places if concrete._leaves[p].shape is None or concrete._leaves[p].shape.rank is None]
    if not open_places or any(concrete._leaves[p].dtype == string for p in concrete._places):
        return [concrete]
    found, failure = [], None
    for rank in range(_RANKS):
        leaves = list(concrete._leaves)
        for place in open_places:
            leaves[place] = TensorSpec([None] * rank, leaves[place].dtype, leaves[place].name)
        args, kwargs = nest.pack_sequence_as(concrete._form, leaves)
        count = len(concrete._function._kinds)
        try:
            found.append(ConcreteFunction(concrete._function, list(args), dict(kwargs), concrete._bound))
        except Exception as error:  # of the function, which need not take every rank
            failure = failure or error
        finally:
            del concrete._function._kinds[count:]
    if not found:
        raise failure
    return found


def concretes_of(function):
    """The concrete functions of a traced function or method: of its signature, or of what it was traced for."""
    return [one for concrete in _concretes_of(function) for one in _for_each_rank(concrete)]


def _concretes_of(function):
    if isinstance(function, ConcreteFunction):
        return [function]
    if isinstance(function, RestoredFunction):
        return [function.get_concrete_function(*kind.arguments[0], **kind.arguments[1]) for kind in function.kinds]
    inner = getattr(function, "__func__", function)
    bound = (function.__self__,) if inner is not function else ()
    if inner.input_signature:
        return [function.get_concrete_function()]
    parameters, found = parameters_of(inner.python_function, len(bound)), []
    for args, names in list(inner._kinds):
        values = nest.map_structure(_as_spec, list(args))
        args, kwargs = values[:len(values) - len(names)], dict(zip(names, values[len(values) - len(names):]))
        if bound and not (args and args[0] is bound[0]):
            continue
        args, kwargs = canonical(parameters, args[len(bound):], kwargs)
        if any(isinstance(leaf, Variable) for leaf in nest.flatten((args, kwargs))):
            raise ValueError(f"saved_model.save: {inner.__name__} was called with a variable\n"
                             "  help: keep it in an attribute of the object that is saved")
        if not any(known == (args, kwargs) for known in found):
            found.append((args, kwargs))
    return [ConcreteFunction(inner, list(args), dict(kwargs), bound) for args, kwargs in found]


def names_of(concrete):
    """The names of the tensors that a concrete function takes: of their specs or parameters, each once."""
    names = []
    for place in concrete._places:
        name = concrete._leaves[place].name or concrete._names.get(place) or f"input_{len(names)}"
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


def entry_of(concrete, name, names, output_names=()):
    """What a file needs of a concrete function. Errors: ValueError for one without a trace."""
    specs = concrete.inputs
    if any(spec.shape is None or spec.shape.rank is None or spec.dtype == string for spec in specs):
        raise ValueError(f"saved_model.save: {concrete.name} takes texts, or tensors whose rank is open\n"
                         "  help: give an input_signature with shapes, in which lengths may be None")
    concrete._trace  # says why there is none

    def make(shapes):
        """The trace for these lengths; what it was traced for is noted only if a program called it so."""
        kinds = concrete._function._kinds
        count = len(kinds)
        try:
            return _core.Concrete(concrete._function, *concrete._filled([
                _core.Spec(shape, spec.dtype, spec.name or "") for shape, spec in zip(shapes, specs)]))
        finally:
            del kinds[count:]

    return _core.saved_entry(name, [_core.Spec(list(spec.shape), spec.dtype, label) for spec, label in zip(specs, names)],
                             make, list(output_names))
