"""Records of TFRecord files, and what is read of the examples in them."""
import numpy as np

from . import _core, _ops, _texts
from ._convert import refuse
from ._dtypes import as_dtype
from ._paths import bytes_of, path_of
from ._texts import need_texts
from .ragged import RaggedTensor
from .sparse import SparseTensor


class TFRecordOptions:
    """How records are compressed: "", "GZIP" or "ZLIB"."""

    def __init__(self, compression_type=None, flush_mode=None, input_buffer_size=None, output_buffer_size=None,
                 window_bits=None, compression_level=None, compression_method=None, mem_level=None,
                 compression_strategy=None):
        refuse("TFRecordOptions", flush_mode=(flush_mode, None), window_bits=(window_bits, None),
               compression_method=(compression_method, None), mem_level=(mem_level, None),
               compression_strategy=(compression_strategy, None))
        del input_buffer_size, output_buffer_size
        self.compression_type, self.compression_level = compression_type or "", compression_level


class TFRecordWriter:
    """Writes records to a file of TFRecord format.

        with tf.io.TFRecordWriter("train.tfrecord") as writer:
            writer.write(example.SerializeToString())
    """

    def __init__(self, path, options=None):
        options = TFRecordOptions(options) if options is None or isinstance(options, str) else options
        level = -1 if options.compression_level is None else int(options.compression_level)
        self._writer = _core.RecordWriter(path_of("TFRecordWriter", path), options.compression_type, level)

    def write(self, record):
        """Adds a record."""
        self._writer.write(bytes_of("write", record))

    def flush(self):
        """Hands what was written to the operating system."""
        self._writer.flush()

    def close(self):
        """Writes what is left."""
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


class FixedLenFeature:
    """A feature of one shape; without a default it must be in every example."""

    def __init__(self, shape, dtype, default_value=None):
        self.shape = [int(n) for n in np.atleast_1d(np.asarray(shape, dtype=int))]
        self.dtype, self.default_value = as_dtype(dtype), default_value

    def __repr__(self):
        return f"FixedLenFeature(shape={self.shape}, dtype={self.dtype!r}, default_value={self.default_value!r})"


class FixedLenSequenceFeature(FixedLenFeature):
    """A feature whose first length is open; in batches it is filled up with `default_value`."""

    def __init__(self, shape, dtype, allow_missing=False, default_value=None):
        super().__init__(shape, dtype, default_value)
        self.allow_missing = allow_missing


class RaggedFeature:
    """A feature of any number of values: a vector, of several examples a RaggedTensor."""

    def __init__(self, dtype, value_key=None, partitions=(), row_splits_dtype="int32", validate=False):
        refuse("RaggedFeature", partitions=(tuple(partitions), ()))
        del validate  # what the library makes needs no check
        self.dtype, self.value_key, self.row_splits_dtype = as_dtype(dtype), value_key, as_dtype(row_splits_dtype)


class VarLenFeature:
    """A feature of any number of values, as a SparseTensor."""

    def __init__(self, dtype):
        self.dtype = as_dtype(dtype)


_KINDS = {"bytes": ("string",), "floats": ("float32",), "integers": ("int64",)}


def _values_of(example, key, dtype, where):
    """The values of a feature as a list, None if it is not there."""
    kind, values = example.get(key, ("nothing", []))
    if kind == "nothing":
        return None
    if dtype.name not in _KINDS[kind]:
        raise _core.ValueError_(f"{where}: Key: {key}.  Data types don't match. Expected type: {dtype.name}, and the "
                                f"feature holds {kind}")
    return values


def _feature(example, key, feature, where):
    if isinstance(feature, RaggedFeature):
        values = _values_of(example, feature.value_key or key, feature.dtype, where)
        return _texts.tensor_from_values(values or [], [-1], feature.dtype)
    if isinstance(feature, VarLenFeature):
        values = _texts.tensor_from_values(_values_of(example, key, feature.dtype, where) or [], [-1], feature.dtype)
        return SparseTensor([[i] for i in range(len(values))], values, [len(values)])
    if not isinstance(feature, FixedLenFeature):
        raise TypeError(f"{where}: the feature {key!r} is a {type(feature).__name__}; FixedLenFeature, "
                        "FixedLenSequenceFeature, VarLenFeature and RaggedFeature are read")
    values = _values_of(example, key, feature.dtype, where)
    size = int(np.prod(feature.shape, dtype=int))
    if isinstance(feature, FixedLenSequenceFeature):
        if values is None and not feature.allow_missing:
            raise _core.ValueError_(f"{where}: Key: {key}.  Required but could not be found.")
        if size == 0 or len(values or []) % size:
            raise _core.ValueError_(f"{where}: Key: {key}.  {len(values or [])} values are no rows of {feature.shape}")
        return _texts.tensor_from_values(values or [], [len(values or []) // size, *feature.shape], feature.dtype)
    if values is None:
        if feature.default_value is None:
            raise _core.ValueError_(f"{where}: Feature: {key} (data type: {feature.dtype.name}) is required but could not "
                                    "be found.")
        found = _texts.texts_of(feature.default_value)
        values = list(found._array.ravel() if found is not None else np.asarray(feature.default_value).ravel())
        values = values * size if len(values) == 1 else values
    if len(values) != size:
        raise _core.ValueError_(f"{where}: Key: {key}.  Number of {feature.dtype.name} values != expected.  values size: "
                                f"{len(values)} but output shape: {feature.shape}")
    return _texts.tensor_from_values(values, feature.shape, feature.dtype)


def parse_single_example(serialized, features, example_names=None, name=None):
    """The features of an Example, by their names."""
    del example_names  # of errors in TensorFlow
    example = _core.parse_example(bytes_of("parse_single_example", serialized))
    return {key: _feature(example, key, feature, "parse_single_example") for key, feature in features.items()}


def parse_example(serialized, features, example_names=None, name=None):
    """The features of several Examples, each as a batch."""
    del example_names
    texts = need_texts(serialized, "parse_example")
    if texts.ndim == 0:
        return parse_single_example(texts, features)
    examples = [_core.parse_example(t) for t in texts._array]
    made = {}
    for key, feature in features.items():
        rows = [_feature(example, key, feature, "parse_example") for example in examples]
        made[key] = _batch(rows, feature)
    return made


def _batch(rows, feature):
    if isinstance(feature, VarLenFeature):
        places = [[i, j] for i, row in enumerate(rows) for j in range(len(row.values))]
        values = RaggedTensor.from_rows([row.values for row in rows], feature.dtype).values
        return SparseTensor(places, values, [len(rows), max((len(row.values) for row in rows), default=0)])
    if isinstance(feature, RaggedFeature):
        return RaggedTensor.from_rows(rows, feature.dtype).with_row_splits_dtype(feature.row_splits_dtype)
    if isinstance(feature, FixedLenSequenceFeature):
        return RaggedTensor.from_rows(rows, feature.dtype).to_tensor(feature.default_value)
    if not rows:
        return _texts.tensor_from_values([], [0, *feature.shape], feature.dtype)
    return _texts.stacked(rows) if feature.dtype == _texts.string else _ops.stack(rows)
