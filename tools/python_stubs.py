#!/usr/bin/env python3
"""Writes the type stubs of the Python package from the package itself: signatures, docstrings, classes and modules.

    PYTHONPATH=build/python_tests/python python tools/python_stubs.py [FOLDER]

FOLDER is python/capstan unless given. tests/python/test_stubs.py checks that the stubs in the tree are these.
"""
import enum
import inspect
import itertools
import pathlib
import sys
import types

import capstan as tf
from capstan import _core

HEAD = "# Written by tools/python_stubs.py.\nimport builtins as _b\nfrom typing import Any, Iterator\n"
# What functions give that are no ops, and properties.
RETURNS = {
    "Tensor.shape": "TensorShape", "Tensor.dtype": "DType", "Tensor.numpy": "Any", "Tensor.get_shape": "TensorShape",
    "Variable.shape": "TensorShape", "Variable.dtype": "DType", "Variable.name": "_b.str", "Variable.trainable": "_b.bool",
    "Variable.value": "Tensor", "Variable.read_value": "Tensor", "Variable.numpy": "Any",
    "GradientTape.gradient": "Any", "GradientTape.jacobian": "Any", "GradientTape.batch_jacobian": "Tensor",
    "GradientTape.explain": "_b.str", "GradientTape.watch": "None", "GradientTape.reset": "None",
    "TensorShape.rank": "_b.int | None", "TensorShape.as_list": "_b.list[_b.int | None]", "DType.name": "_b.str",
    "executing_eagerly": "_b.bool", "is_tensor": "_b.bool", "set_seed": "None", "einsum": "Tensor", "constant": "Tensor",
    "convert_to_tensor": "Tensor", "asarray": "Tensor", "from_dlpack": "Tensor", "vectorized_map": "Any",
    "gather": "Tensor", "where": "Tensor", "function": "Any", "clip_by_global_norm": "_b.tuple[_b.list[Any], Tensor]",
    "cast": "Tensor", "normal": "Tensor", "uniform": "Tensor", "truncated_normal": "Tensor", "shuffle": "Tensor",
    "categorical": "Tensor", "dropout": "Tensor", "range": "Tensor", "to_categorical": "Any", "Input": "Tensor",
    "add_weight": "Variable", "add_variable": "Variable", "count_params": "_b.int", "summary": "None",
    "get_weights": "_b.list[Any]", "set_weights": "None", "get_config": "_b.dict[_b.str, Any]", "fit": "Any", "save": "None",
    "save_weights": "None", "load_weights": "None", "compile": "None", "apply_gradients": "None",
}
OPERATORS = ("add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or "
             "ror xor rxor lt le gt ge").split()
# Written with their module, because the package has a dtype called bool.
KINDS = {bool: "_b.bool", int: "_b.int", float: "_b.float", str: "_b.str"}


def outputs():
    """{name of an op: what it gives}."""
    return {name: "Tensor" if count == 1 else "_b.list[Tensor]" if count < 0 else f"_b.tuple[{', '.join(['Tensor'] * count)}]"
            for name, _, _, count, _ in _core.list_ops()}


OUTPUTS = outputs()


def type_of(parameter):
    """What a parameter takes, as far as its default says it; numbers may be given as tensors, too."""
    if parameter.name == "name":
        return "_b.str | None"
    kind = KINDS.get(type(parameter.default))
    return kind if kind == "_b.bool" else f"{kind} | Any" if kind else "Any"


def shown(default):
    if default is None or type(default) in (bool, int, float, str):
        return "..." if isinstance(default, float) and default in (float("inf"), -float("inf")) else repr(default)
    return "..."


def parameters_of(value, is_method):
    """The parameter list of a stub."""
    try:
        given = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        given = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                 inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)]
    texts, keyword_only = (["self"] if is_method else []), False
    for p in given:
        if is_method and p.name == "self":
            continue
        if p.kind == p.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            if not any(t.startswith("*") for t in texts):
                texts.append("*")
        keyword_only = keyword_only or p.kind == p.VAR_POSITIONAL
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f" = {shown(p.default)}"
        texts.append(f"{stars}{p.name}: {type_of(p)}{default}")
    return ", ".join(texts)


def docstring(value, indent):
    """The first line of a docstring. Editors show the docstrings of Python sources themselves, so that stubs leave those out."""
    text = inspect.getdoc(value) or ""
    if isinstance(value, types.FunctionType) and value.__code__.co_filename.endswith(".py"):
        return ""
    line = text.strip().split("\n")[0].replace("\\", "\\\\").replace('"""', "'''")
    return f'{indent}"""{line}"""\n' if line else ""


def function(name, value, indent="", owner=None):
    key = f"{owner}.{name}" if owner else name
    op = getattr(value, "__name__", name)
    gives = RETURNS.get(key) or RETURNS.get(name) or OUTPUTS.get(op) or OUTPUTS.get(name) or "Any"
    text = docstring(value, indent + "    ")
    return (f"{indent}def {name}({parameters_of(value, owner is not None)}) -> {gives}:"
            + (f"\n{text}{indent}    ...\n" if text else " ...\n"))


def members(cls):
    """Public names of a class and of those of its bases that have no stub of their own."""
    return sorted(n for n in dir(cls) if not n.startswith("_"))


def is_called(cls):
    """Whether objects of a class are called."""
    return any("__call__" in base.__dict__ for base in cls.__mro__[:-1])


def class_(name, cls, bases=""):
    lines = [f"class {name}{bases}:\n", docstring(cls, "    ")]
    if issubclass(cls, BaseException):
        return "".join(lines) + "    ...\n"
    lines.append(f"    def __init__({parameters_of(cls, True)}) -> None: ...\n")
    inherited = set(dir(cls.__mro__[1])) if bases else set()
    for member in members(cls):
        value = inspect.getattr_static(cls, member)
        if member in inherited and value is inspect.getattr_static(cls.__mro__[1], member):
            continue
        if isinstance(value, staticmethod):
            text = function(member, value.__func__, "    ")
            lines.append("    @staticmethod\n" + text)
        elif isinstance(value, classmethod):
            lines.append("    @classmethod\n" + function(member, value.__func__, "    ", name).replace(
                "(self, cls: Any", "(cls", 1).replace("(self", "(cls", 1))
        elif callable(value):
            lines.append(function(member, value, "    ", name))
        else:
            lines.append(f"    {member}: {RETURNS.get(f'{name}.{member}', 'Any')}\n")
    own = cls.__dict__
    if "__enter__" in own:
        lines.append(f"    def __enter__(self) -> {name}: ...\n    def __exit__(self, *args: Any) -> None: ...\n")
    known = next((base for base in cls.__mro__[1:] if base in CLASSES), object) if bases else object
    if is_called(cls) and not is_called(known) and cls.__name__ not in ("Tensor", "Variable", "TensorShape"):
        lines.append("    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...\n")
    if cls in (tf.Tensor, tf.Variable):
        lines += [f"    def __{o}__(self, other: Any) -> Tensor: ...\n" for o in OPERATORS]
        lines += [f"    def __{o}__(self) -> Tensor: ...\n" for o in ("neg", "abs", "invert")]
        lines += ["    def __getitem__(self, index: Any) -> Tensor: ...\n", "    def __len__(self) -> _b.int: ...\n",
                  "    def __iter__(self) -> Iterator[Tensor]: ...\n", "    def __float__(self) -> _b.float: ...\n",
                  "    def __int__(self) -> _b.int: ...\n", "    def __bool__(self) -> _b.bool: ...\n",
                  "    def __array__(self, dtype: Any = None, copy: Any = None) -> Any: ...\n"]
    if cls is tf.TensorShape:
        lines[0] = "class TensorShape(_b.tuple[_b.int | None, ...]):\n"
    if "__iter__" in own and cls not in (tf.Tensor, tf.Variable, tf.TensorShape):
        lines.append("    def __iter__(self) -> Iterator[Any]: ...\n")
    return "".join(line for line in lines if line)


def public_names(module):
    """The names in `__all__` of a file, else those that do not begin with an underscore; sorted."""
    names = getattr(module, "__all__", None) if getattr(module, "__file__", None) else None
    return sorted(n for n in names or vars(module) if not n.startswith("_"))


def stub(module, path):
    """The text of a module's stub; `path` is its name below the package."""
    names = public_names(module)
    body, imports, submodules = [], set(), []
    home = "capstan" + (f".{path}" if path else "")
    for name in names:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("capstan.") or value.__name__ == "capstan":
                real = value.__name__
                parent, _, last = real.rpartition(".")
                submodules.append(f"from {parent} import {last} as {name}\n")
            continue
        if isinstance(value, type):
            if value is type(None):
                continue
            bases = [b for b in value.__mro__[1:] if b is not object]
            base = next((b for b in bases if b in CLASSES), None)
            if CLASSES.get(value, (home, name)) != (home, name):
                where, known = CLASSES[value]
                imports.add((where, known, name))
                continue
            if issubclass(value, enum.Enum):
                body.append(f"class {name}:\n" + "".join(f"    {m}: Any\n" for m in value.__members__))
                continue
            text = ""
            if base is not None:
                where, known = CLASSES[base]
                if where != home:
                    imports.add((where, known, known))
                text = f"({known})"
            elif issubclass(value, BaseException):
                text = f"({next(b.__name__ for b in bases if b.__module__ == 'builtins')})"
            body.append((len([b for b in bases if b in CLASSES]), class_(name, value, text)))
        elif callable(value):
            where, known = FUNCTIONS[value]
            if where != home:
                imports.add((where, known, name))
            else:
                body.append(function(name, value) if name == known else f"{name} = {known}\n")
        else:
            kind = "DType" if isinstance(value, tf.DType) else KINDS.get(type(value), "Any")
            body.append(f"{name}: {kind}\n")
    classes = [text for _, text in sorted((b for b in body if isinstance(b, tuple)), key=lambda b: b[0])]
    others = [b for b in body if isinstance(b, str)]
    text = "".join(classes) + "".join(others)
    for known in ("Tensor", "Variable", "TensorShape", "DType"):
        if path and f"class {known}" not in text and known in text:
            imports.add(("capstan", known, known))
    lines = [f"from {where} import " + ", ".join(f"{known} as {name}" for _, known, name in same) + "\n"
             for where, same in itertools.groupby(sorted(imports), key=lambda i: i[0])]
    return HEAD + "".join(lines) + "".join(submodules) + "\n" + text


MODULES = {path: sys.modules["capstan" + (f".{path}" if path else "")] for path in (
    "", "math", "math.special", "nn", "linalg", "bitwise", "signal", "image", "random", "debugging", "config",
    "config.threading", "config.experimental", "config.optimizer", "errors", "autodiff", "nest", "data", "keras",
    "keras.layers", "keras.models", "keras.losses",
    "keras.metrics", "keras.optimizers", "keras.optimizers.schedules", "keras.optimizers.legacy", "keras.initializers",
    "keras.regularizers", "keras.constraints", "keras.activations", "keras.callbacks", "keras.utils", "keras.saving",
    "keras.datasets",
    *(f"keras.datasets.{name}" for name in ("mnist", "fashion_mnist", "cifar10", "cifar100", "imdb", "reuters")),
    "keras.applications", *(f"keras.applications.{name}" for name in (
        "resnet", "resnet50", "resnet_v2", "vgg16", "mobilenet_v2", "efficientnet", "densenet", "xception")),
    "keras.random", "keras.backend", "keras.config", "keras.mixed_precision", "keras.ops", "keras.ops.numpy",
    "keras.ops.nn", "keras.ops.linalg", "keras.ops.image",
    "train", "saved_model", "keras.export", "files", "dtypes", "summary", "strings", "io", "io.gfile", "ragged", "sparse", "sets",
    "distribute", "lookup", "data.experimental", "keras.preprocessing", "keras.preprocessing.text", "keras.preprocessing.sequence",
    "keras.preprocessing.image", "autograph", "autograph.experimental", "compat", "test")}
# Where each class has its stub: the first module above that has it under its own name.
CLASSES = {}
for _path, _module in MODULES.items():
    for _name, _value in sorted(vars(_module).items()):
        if isinstance(_value, type) and not _name.startswith("_") and _value.__name__ == _name and _value is not object:
            CLASSES.setdefault(_value, ("capstan" + (f".{_path}" if _path else ""), _name))
# Where each function has its stub, likewise; the other names are imports of it.
FUNCTIONS = {}
for _path, _module in MODULES.items():
    for _name, _value in sorted(vars(_module).items()):
        if callable(_value) and not isinstance(_value, type) and not _name.startswith("_"):
            FUNCTIONS.setdefault(_value, ("capstan" + (f".{_path}" if _path else ""), _name))


def write(folder):
    """Writes all stubs below a folder."""
    packages = {path for path in MODULES if any(other.startswith(path + ".") for other in MODULES)} | {""}
    for path, module in MODULES.items():
        place = folder.joinpath(*path.split(".")) if path else folder
        file = place / "__init__.pyi" if path in packages else place.with_suffix(".pyi")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(stub(module, path))


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[1] / "python" / "capstan"))
