"""What keras.ops follows everywhere: names of dtypes, the dtype of a result, numbers of axes, defaults."""
from ... import _core

# From the narrowest to the widest; a number of Python has a weak dtype, which gives way to every tensor of its kind.
_ORDER = ("bool", int, "uint8", "int32", "int64", float, "bfloat16", "float32", "float64")
_RANKS = {kind: rank for rank, kind in enumerate(_ORDER)}
# What plain types of Python mean where a dtype is asked for.
_PLAIN = {bool: "bool", int: "int64", float: "float32", complex: "complex64", str: "string", "int": "int64",
          "float": "float32"}
_NAMES = frozenset("""bool uint8 uint16 uint32 uint64 int4 int8 int16 int32 int64 float16 bfloat16 float32 float64
        float8_e4m3fn float8_e5m2 complex64 complex128 string""".split())
_DATA_FORMATS = ("channels_last", "channels_first")


class _Settings:
    """The defaults. The backend of Keras puts those of Keras here, and where its functions by NumPy are."""

    reference = None

    @staticmethod
    def floatx():
        return _core.floatx().name

    @staticmethod
    def epsilon():
        return 1e-7

    @staticmethod
    def image_data_format():
        return "channels_last"


settings = _Settings()


def floatx():
    """The dtype of floating results that have no other."""
    return settings.floatx()


def epsilon():
    """What keeps logarithms and quotients from infinity."""
    return settings.epsilon()


def standardize_dtype(dtype):
    """The name of a dtype, floatx for None. Errors: ValueError for what is none."""
    if dtype is None:
        return floatx()
    if isinstance(dtype, (type, str)) and dtype in _PLAIN:
        return _PLAIN[dtype]
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    if name not in _NAMES:
        raise ValueError(f"Invalid dtype: {dtype}")
    return name


def is_float_dtype(dtype):
    """Whether a dtype is a real floating one."""
    name = standardize_dtype(dtype)
    return name.startswith(("float", "bfloat"))


def _kind(dtype):
    if isinstance(dtype, type) and dtype in (int, float):
        return dtype
    return standardize_dtype(dtype)


def result_type(*given):
    """The dtype of what is made of tensors and numbers: `int`, `float` and `bool` stand for numbers of Python."""
    if not given:
        return floatx()
    kinds = [_kind(dtype) for dtype in given]
    if any(isinstance(kind, str) and kind.startswith("complex") for kind in kinds):
        return "complex128" if "complex128" in kinds or "float64" in kinds else "complex64"
    unknown = [kind for kind in kinds if kind not in _RANKS]
    if unknown:
        raise ValueError(f"keras.ops: there are no tensors of dtype {unknown[0]}")
    widest = max(kinds, key=_RANKS.__getitem__)
    return {int: "int32", float: floatx()}.get(widest, widest)


def to_tuple_or_list(value):
    """One number as a tuple, several as they are."""
    return value if isinstance(value, (tuple, list)) or value is None else (value,)


def canonicalize_axis(axis, rank):
    """An axis counted from the front. Errors: ValueError for one that the tensor lacks."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for an array with dimension {rank}.")
    return axis + rank if axis < 0 else axis


def standardize_data_format(data_format):
    """Where images have their channels. Errors: ValueError for another text."""
    if data_format is None:
        return settings.image_data_format()
    if str(data_format).lower() not in _DATA_FORMATS:
        raise ValueError("The `data_format` argument must be one of {'channels_first', 'channels_last'}. "
                         f"Received: data_format={data_format}")
    return str(data_format).lower()
