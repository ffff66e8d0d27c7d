# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import DType as DType
from capstan import Tensor as Tensor
from capstan.data import TextTensor as TextTensor

class KeyValueTensorInitializer:
    """The contents of a table: keys and their values."""
    def __init__(self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: _b.str | None = None) -> None: ...
class MutableHashTable:
    """A table to which keys are added."""
    def __init__(self, key_dtype: Any, value_dtype: Any, default_value: Any, name: _b.str | None = 'MutableHashTable', checkpoint: _b.bool = True, experimental_is_anonymous: _b.bool = False) -> None: ...
    def export(self, name: _b.str | None = None) -> Any:
        """All keys and their values."""
        ...
    def insert(self, keys: Any, values: Any, name: _b.str | None = None) -> Any:
        """Sets the values of keys."""
        ...
    key_dtype: Any
    def lookup(self, keys: Any, name: _b.str | None = None) -> Any:
        """The values of keys, in their shape, and the default for those that the table has not."""
        ...
    def remove(self, keys: Any, name: _b.str | None = None) -> Any:
        """Takes keys out."""
        ...
    def size(self, name: _b.str | None = None) -> Tensor:
        """The number of keys, int64."""
        ...
    value_dtype: Any
class StaticHashTable:
    """A table that does not change."""
    def __init__(self, initializer: Any, default_value: Any, name: _b.str | None = None, experimental_is_anonymous: _b.bool = False) -> None: ...
    def export(self, name: _b.str | None = None) -> Any:
        """All keys and their values."""
        ...
    key_dtype: Any
    def lookup(self, keys: Any, name: _b.str | None = None) -> Any:
        """The values of keys, in their shape, and the default for those that the table has not."""
        ...
    def size(self, name: _b.str | None = None) -> Tensor:
        """The number of keys, int64."""
        ...
    value_dtype: Any
class StaticVocabularyTable:
    """A table of numbers, with buckets behind them for keys that it has not."""
    def __init__(self, initializer: Any, num_oov_buckets: Any, lookup_key_dtype: Any = None, name: _b.str | None = None, experimental_is_anonymous: _b.bool = False) -> None: ...
    def export(self, name: _b.str | None = None) -> Any:
        """All keys and their values."""
        ...
    key_dtype: Any
    def lookup(self, keys: Any, name: _b.str | None = None) -> Any:
        """The values of keys, in their shape, and the default for those that the table has not."""
        ...
    def size(self, name: _b.str | None = None) -> Tensor:
        """The number of keys and buckets, int64."""
        ...
    value_dtype: Any
class TextFileIndex:
    """What a part of a line in a file stands for: its number, or all of the line."""
    def __init__(self) -> None: ...
    LINE_NUMBER: Any
    WHOLE_LINE: Any
class TextFileInitializer(KeyValueTensorInitializer):
    """The contents of a table, one line of a file for each key."""
    def __init__(self, filename: Any, key_dtype: Any, key_index: Any, value_dtype: Any, value_index: Any, vocab_size: Any = None, delimiter: _b.str | Any = '\t', name: _b.str | None = None, value_index_offset: _b.int | Any = 0) -> None: ...
def as_dtype(type_value: Any) -> Any:
    """The dtype that `type_value` is: a DType, its name, or a type of Python or NumPy."""
    ...
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: _b.str | None = None, preferred_dtype: Any = None) -> Tensor:
    """A tensor of anything that can become one; with `dtype` of that dtype, or an error."""
    ...
int64: DType
