"""Dtypes, under the names and with the attributes of TensorFlow."""
import builtins

import numpy as np

from . import _core

_NUMPY = {"float32": np.float32, "float64": np.float64, "bfloat16": np.float32, "int32": np.int32, "int64": np.int64,
          "uint8": np.uint8, "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128,
          "string": np.object_}


class DType:
    """The type of a tensor's elements."""
    __slots__ = ("name", "as_numpy_dtype")

    def __init__(self, name):
        self.name, self.as_numpy_dtype = name, _NUMPY[name]

    def __repr__(self):
        return f"tf.{self.name}"

    def __str__(self):
        return f"<dtype: '{self.name}'>"

    def __eq__(self, other):
        if self is other:
            return True
        if other is None:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.name)

    def __reduce__(self):
        return as_dtype, (self.name,)

    is_floating = property(lambda self: self.name in ("float32", "float64", "bfloat16"))
    is_integer = property(lambda self: self.name in ("int32", "int64", "uint8"))
    is_numeric = property(lambda self: self.name not in ("bool", "string"))
    is_quantized = property(lambda self: False)
    is_numpy_compatible = property(lambda self: True)
    is_unsigned = property(lambda self: self.name == "uint8")
    is_bool = property(lambda self: self.name == "bool")
    is_complex = property(lambda self: self.name.startswith("complex"))
    base_dtype = property(lambda self: self)
    size = property(lambda self: 2 if self.name == "bfloat16" else np.dtype(self.as_numpy_dtype).itemsize)
    min = property(lambda self: self._limits().min)
    max = property(lambda self: self._limits().max)
    limits = property(lambda self: (self.min, self.max))

    @property
    def real_dtype(self):
        return {"complex64": float32, "complex128": float64}.get(self.name, self)

    def _limits(self):
        return np.finfo(self.as_numpy_dtype) if self.is_floating else np.iinfo(self.as_numpy_dtype)

    def is_compatible_with(self, other):
        return self == other


_BY_NAME = {name: DType(name) for name in _core.dtype_names}
float32, float64, bfloat16, int32, int64, uint8, bool, complex64, complex128 = _BY_NAME.values()
double = float64
string = DType("string")  # of texts, which the library's tensors do not hold; see _texts.py


def as_dtype(type_value):
    """The dtype that `type_value` is: a DType, its name, or a type of Python or NumPy."""
    value = type_value
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    if value is builtins.str or value is builtins.bytes or isinstance(value, str) and value == "string":
        return string
    if value is builtins.float:
        return _BY_NAME[_core.floatx().name]
    if value is builtins.int:
        return int32
    name = None
    try:
        name = np.dtype(value).name
        if np.dtype(value).kind in "USO":
            return string
    except TypeError:
        pass
    if name not in _BY_NAME:
        known = ", ".join([*_BY_NAME, "string"])
        raise TypeError(f"as_dtype: {value!r} is no dtype here; there are {known}")
    return _BY_NAME[name]


_core.set_dtypes(list(_BY_NAME.values()), as_dtype)
