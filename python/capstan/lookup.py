"""tf.lookup: tables from texts or integers to texts or numbers. Lookups run outside of traced functions."""
import numpy as np

from . import _core, _texts
from ._convert import convert_to_tensor
from ._dtypes import as_dtype, int64


class TextFileIndex:
    """What a part of a line in a file stands for: its number, or all of the line."""
    WHOLE_LINE, LINE_NUMBER = -2, -1


def _values(value, dtype):
    """An array of the keys or values of a table."""
    found = _texts.texts_of(value)
    if (found is not None) != (dtype == _texts.string):
        raise TypeError(f"a table of {dtype.name} has no place for {value!r}")
    return found._array if found is not None else np.asarray(convert_to_tensor(value, dtype=dtype))


def _items(array):
    return [item if isinstance(item, bytes) else item.item() for item in np.asarray(array).ravel()]


class KeyValueTensorInitializer:
    """The contents of a table: keys and their values."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        keys, values = (_texts.texts_or_tensor(v) for v in (keys, values))
        self.key_dtype = as_dtype(key_dtype) if key_dtype is not None else keys.dtype
        self.value_dtype = as_dtype(value_dtype) if value_dtype is not None else values.dtype
        self._keys, self._values = _items(_values(keys, self.key_dtype)), _items(np.asarray(values))
        if len(self._keys) != len(self._values):
            raise _core.ShapeError(f"KeyValueTensorInitializer: {len(self._keys)} keys and {len(self._values)} values")


class TextFileInitializer(KeyValueTensorInitializer):
    """The contents of a table, one line of a file for each key."""

    def __init__(self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None, delimiter="\t", name=None,
                 value_index_offset=0):
        self.key_dtype, self.value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        with open(filename, "rb") as file:
            lines = [line.rstrip(b"\r\n") for line in file]
        lines = lines[:vocab_size]

        def part(line, number, index, dtype):
            if index == TextFileIndex.LINE_NUMBER:
                return number + value_index_offset
            text = line if index == TextFileIndex.WHOLE_LINE else line.split(delimiter.encode())[index]
            return text if dtype == _texts.string else float(text) if dtype.is_floating else int(text)
        self._keys = [part(line, i, key_index, self.key_dtype) for i, line in enumerate(lines)]
        self._values = [part(line, i, value_index, self.value_dtype) for i, line in enumerate(lines)]


class _Table:
    """A table of keys and values."""

    def __init__(self, key_dtype, value_dtype, default):
        self._key_dtype, self._value_dtype, self._default, self._table = key_dtype, value_dtype, default, {}

    key_dtype = property(lambda self: self._key_dtype, doc="The dtype of keys.")
    value_dtype = property(lambda self: self._value_dtype, doc="The dtype of values.")

    def size(self, name=None):
        """The number of keys, int64."""
        return convert_to_tensor(len(self._table), dtype=int64)

    def lookup(self, keys, name=None):
        """The values of keys, in their shape, and the default for those that the table has not."""
        from .ragged import RaggedTensor
        if isinstance(keys, RaggedTensor):
            return keys.with_flat_values(self.lookup(keys.flat_values))
        array = _values(keys, self._key_dtype)
        return _texts.tensor_from_values([self._value_of(key) for key in _items(array)], array.shape, self._value_dtype)

    def _value_of(self, key):
        return self._table.get(key, self._default)

    __getitem__ = lookup

    def export(self, name=None):
        """All keys and their values."""
        return (_texts.tensor_from_values(list(self._table), (-1,), self._key_dtype),
                _texts.tensor_from_values(list(self._table.values()), (-1,), self._value_dtype))


def _default(value, dtype):
    return _items(_values(value, dtype))[0]


class StaticHashTable(_Table):
    """A table that does not change.

        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=-1)
        table.lookup(tf.constant(["b", "z"]))      # [2, -1]
    """

    def __init__(self, initializer, default_value, name=None, experimental_is_anonymous=False):
        del experimental_is_anonymous
        super().__init__(initializer.key_dtype, initializer.value_dtype, _default(default_value, initializer.value_dtype))
        for key, value in zip(initializer._keys, initializer._values):
            if self._table.setdefault(key, value) != value:
                raise _core.ValueError_(f"StaticHashTable: the key {key!r} has two values, {self._table[key]!r} and {value!r}")


class StaticVocabularyTable(_Table):
    """A table of numbers, with buckets behind them for keys that it has not."""

    def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None, experimental_is_anonymous=False):
        del experimental_is_anonymous
        if int(num_oov_buckets) < 1:
            raise ValueError(f"StaticVocabularyTable: num_oov_buckets must be at least 1, not {num_oov_buckets}")
        super().__init__(as_dtype(lookup_key_dtype) if lookup_key_dtype is not None else initializer.key_dtype, int64, None)
        self._table = dict(zip(initializer._keys, initializer._values))
        self._buckets = int(num_oov_buckets)

    def size(self, name=None):
        """The number of keys and buckets, int64."""
        return convert_to_tensor(len(self._table) + self._buckets, dtype=int64)

    def _value_of(self, key):
        if key in self._table:
            return self._table[key]
        from .strings import to_hash_bucket_fast
        text = key if isinstance(key, bytes) else str(key)
        return len(self._table) + int(to_hash_bucket_fast([text], self._buckets)[0])


class MutableHashTable(_Table):
    """A table to which keys are added."""

    def __init__(self, key_dtype, value_dtype, default_value, name="MutableHashTable", checkpoint=True,
                 experimental_is_anonymous=False):
        del checkpoint, experimental_is_anonymous
        dtype = as_dtype(value_dtype)
        super().__init__(as_dtype(key_dtype), dtype, _default(default_value, dtype))

    def insert(self, keys, values, name=None):
        """Sets the values of keys."""
        keys, values = _items(_values(keys, self._key_dtype)), _items(_values(values, self._value_dtype))
        if len(keys) != len(values):
            raise _core.ShapeError(f"insert: {len(keys)} keys and {len(values)} values")
        self._table.update(zip(keys, values))

    def remove(self, keys, name=None):
        """Takes keys out."""
        for key in _items(_values(keys, self._key_dtype)):
            self._table.pop(key, None)


__all__ = ["KeyValueTensorInitializer", "MutableHashTable", "StaticHashTable", "StaticVocabularyTable",
           "TextFileIndex", "TextFileInitializer"]
