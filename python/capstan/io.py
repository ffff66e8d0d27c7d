"""tf.io: files as texts, images, records and the examples in them. All of it runs outside of traced functions."""
import base64
import csv as _csv
import glob as _glob
import gzip
import os
import zlib

import numpy as np

from . import _core, _modules, _ops, _tensor_proto, _texts
from ._convert import convert_to_tensor, refuse
from ._dtypes import as_dtype, uint8
from ._texts import TextTensor, mapped, need_texts
from .ragged import RaggedTensor
from .sparse import SparseTensor


def _path(function, filename):
    texts = need_texts(os.fspath(filename) if isinstance(filename, os.PathLike) else filename, function)
    if texts.ndim != 0:
        raise _core.ShapeError(f"{function}: one file name is needed, not {tuple(texts.shape)}")
    return os.fsdecode(texts.numpy())


def _bytes(function, contents):
    texts = need_texts(contents, function)
    if texts.ndim != 0:
        raise _core.ShapeError(f"{function}: one text is needed, not {tuple(texts.shape)}")
    return texts.numpy()


def _opened(function, path, mode):
    try:
        return open(path, mode)
    except OSError as error:
        raise _core.IoError(f"{function}: cannot open the file, {error.strerror}\n  file: {path}") from None


# --- Files ---

def read_file(filename, name=None):
    """The contents of a file as a text."""
    with _opened("read_file", _path("read_file", filename), "rb") as file:
        return _texts.texts_of(file.read())


def write_file(filename, contents, name=None):
    """Writes a text as a file, in a folder that is made if there is none."""
    path, data = _path("write_file", filename), _bytes("write_file", contents)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with _opened("write_file", path, "wb") as file:
        file.write(data)


def matching_files(pattern, name=None):
    """The names of files that match a pattern, or any of several, sorted."""
    patterns = [os.fsdecode(p) for p in np.atleast_1d(need_texts(pattern, "matching_files").numpy())]
    return _names(sorted({f for p in patterns for f in _glob.glob(p)}))


def _names(names):
    made = np.empty(len(names), dtype=object)
    made[:] = [os.fsencode(n) for n in names]
    return TextTensor(made)


# --- Images ---

def _decoded(function, contents, channels, dtype):
    image = _core.decode_image(_bytes(function, contents), int(channels or 0))
    dtype = as_dtype(dtype)
    return image if dtype == uint8 else _modules.image.convert_image_dtype(image, dtype)


def decode_image(contents, channels=None, dtype=uint8, name=None, expand_animations=True):
    """The image in the bytes of a PNG or JPEG file, uint8[height, width, channels], or scaled to another dtype."""
    del expand_animations  # neither format has any
    return _decoded("decode_image", contents, channels, dtype)


def decode_png(contents, channels=0, dtype=uint8, name=None):
    """The image in the bytes of a PNG file, uint8[height, width, channels]; JPEG is read as well."""
    refuse("decode_png", dtype=(as_dtype(dtype).name, "uint8"))
    return _decoded("decode_png", contents, channels, dtype)


def decode_jpeg(contents, channels=0, ratio=1, fancy_upscaling=True, try_recover_truncated=False,
                acceptable_fraction=1, dct_method="", name=None):
    """The image in the bytes of a JPEG file, uint8[height, width, channels]; PNG is read as well."""
    refuse("decode_jpeg", ratio=(ratio, 1), fancy_upscaling=(fancy_upscaling, True),
           try_recover_truncated=(try_recover_truncated, False), acceptable_fraction=(acceptable_fraction, 1, 1.0),
           dct_method=(dct_method, "", "INTEGER_ACCURATE"))
    return _decoded("decode_jpeg", contents, channels, uint8)


def is_jpeg(contents, name=None):
    """Whether a text begins as a JPEG file does."""
    return convert_to_tensor(_bytes("is_jpeg", contents).startswith(b"\xff\xd8\xff"))


def extract_jpeg_shape(contents, output_type="int32", name=None):
    """The height, width and number of channels of a JPEG image."""
    return convert_to_tensor(list(_decoded("extract_jpeg_shape", contents, 0, uint8).shape), dtype=output_type)


def encode_png(image, compression=-1, name=None):
    """An image uint8[height, width, channels] as the bytes of a PNG file."""
    refuse("encode_png", compression=(compression, -1))
    return _texts.texts_of(_core.encode_png(image))


def encode_jpeg(image, format="", quality=95, progressive=False, optimize_size=False, chroma_downsampling=True,
                density_unit="in", x_density=300, y_density=300, xmp_metadata="", name=None):
    """An image uint8[height, width, channels] as the bytes of a JPEG file."""
    refuse("encode_jpeg", format=(format, "", "rgb", "grayscale"), progressive=(progressive, False),
           optimize_size=(optimize_size, False), density_unit=(density_unit, "in"), x_density=(x_density, 300),
           y_density=(y_density, 300), xmp_metadata=(xmp_metadata, ""))
    return _texts.texts_of(_core.encode_jpeg(image, int(quality), bool(chroma_downsampling)))


# --- Numbers in texts ---

def decode_raw(input_bytes, out_type, little_endian=True, fixed_length=None, name=None):
    """Bytes as the numbers that lie in them, one more axis; texts have one length."""
    refuse("decode_raw", fixed_length=(fixed_length, None))
    dtype = as_dtype(out_type)
    texts = need_texts(input_bytes, "decode_raw")
    if dtype.name == "bfloat16":
        raise ValueError("decode_raw: bfloat16 has no array of NumPy")
    kind = np.dtype(dtype.as_numpy_dtype).newbyteorder("<" if little_endian else ">")
    lengths = {len(t) for t in texts._array.ravel()}
    if len(lengths) > 1:
        raise _core.ValueError_(f"DecodeRaw requires input strings to all be the same size, not {sorted(lengths)}")
    if any(n % kind.itemsize for n in lengths):
        raise _core.ValueError_(f"Input to DecodeRaw has length {lengths.pop()} that is not a multiple of {kind.itemsize}, "
                                f"the size of {dtype.name}")
    rows = [np.frombuffer(t, kind) for t in texts._array.ravel()]
    width = len(rows[0]) if rows else 0
    array = np.stack(rows) if rows else np.empty((0, 0), kind)
    return convert_to_tensor(array.astype(dtype.as_numpy_dtype).reshape([*texts.shape, width]), dtype=dtype)


def serialize_tensor(tensor, name=None):
    """A tensor as the bytes of TensorFlow's message for tensors."""
    return _texts.texts_of(_tensor_proto.serialize(tensor))


def parse_tensor(serialized, out_type, name=None):
    """The tensor of what serialize_tensor() gave, here or in TensorFlow."""
    return _tensor_proto.parse(_bytes("parse_tensor", serialized), as_dtype(out_type))


def encode_base64(input, pad=False, name=None):
    """Texts in the alphabet of URLs, with `=` at the end if `pad`."""
    return mapped(need_texts(input, "encode_base64"),
                  lambda t: base64.urlsafe_b64encode(t) if pad else base64.urlsafe_b64encode(t).rstrip(b"="))


def decode_base64(input, name=None):
    """What encode_base64() was given."""
    def decoded(text):
        try:
            return base64.b64decode(text + b"=" * (-len(text) % 4), b"-_", validate=True)
        except ValueError as error:
            raise _core.ValueError_(f"decode_base64: {text!r} is not in its alphabet, {error}") from None
    return mapped(need_texts(input, "decode_base64"), decoded)


def decode_compressed(bytes, compression_type="", name=None):
    """Texts as they were before they were compressed."""
    makers = {"": lambda t: t, "ZLIB": zlib.decompress, "GZIP": gzip.decompress}
    if compression_type not in makers:
        raise ValueError(f"decode_compressed: compression_type {compression_type!r} is none of {sorted(makers)}")

    def decoded(text):
        try:
            return makers[compression_type](text)
        except (zlib.error, OSError, EOFError) as error:
            raise _core.IoError(f"decode_compressed: these bytes are no {compression_type} data, {error}") from None
    return mapped(need_texts(bytes, "decode_compressed"), decoded)


def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, na_value="", select_cols=None, name=None):
    """The columns of lines of a table, each with the dtype of its default; an empty default must be given in each line."""
    texts = need_texts(records, "decode_csv")
    quoting = _csv.QUOTE_MINIMAL if use_quote_delim else _csv.QUOTE_NONE
    lines = [t.decode("utf-8", "surrogateescape") for t in texts._array.ravel()]
    rows = list(_csv.reader(lines, delimiter=field_delim, quoting=quoting, strict=True))
    columns = []
    for number, default in enumerate(record_defaults):
        at = number if select_cols is None else int(select_cols[number])
        found = _texts.texts_of(default)
        dtype = None if found is not None or _is_text_dtype(default) else (
            as_dtype(default) if not isinstance(default, (list, tuple, int, float, np.ndarray, _core.Tensor))
            else convert_to_tensor(default).dtype)
        fill = _default_of(default, found)
        values = [_field(row, at, i, fill, dtype, na_value, len(record_defaults), select_cols) for i, row in enumerate(rows)]
        if dtype is None:
            made = np.empty(len(values), dtype=object)
            made[:] = values
            columns.append(TextTensor(made.reshape(tuple(texts.shape))))
        else:
            columns.append(convert_to_tensor(np.asarray(values, dtype.as_numpy_dtype).reshape(tuple(texts.shape)),
                                             dtype=dtype))
    return columns


def _is_text_dtype(default):
    return default is _texts.string or default is str


def _default_of(default, found):
    """The value of a missing field, None if it must be there."""
    if found is not None:
        return None if found._array.size == 0 else found._array.ravel()[0]
    if isinstance(default, (list, tuple, np.ndarray, _core.Tensor)):
        array = np.asarray(default).ravel()
        return array[0] if array.size else None
    return default if isinstance(default, (int, float)) else None


def _field(row, at, line, fill, dtype, na_value, count, select_cols):
    if select_cols is None and len(row) != count:
        raise _core.ValueError_(f"Expect {count} fields but have {len(row)} in record {line}")
    if at >= len(row):
        raise _core.ValueError_(f"decode_csv: there is no column {at} in record {line}, which has {len(row)}")
    text = row[at]
    if text in ("", na_value):
        if fill is None:
            raise _core.ValueError_(f"Field {at} is required but missing in record {line}!")
        return fill
    if dtype is None:
        return text.encode("utf-8", "surrogateescape")
    try:
        return float(text) if dtype.is_floating else int(text)
    except ValueError:
        raise _core.ValueError_(f"Field {at} in record {line} is not a valid {dtype.name}: {text}") from None


# --- Records and examples ---

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
        self._writer = _core.RecordWriter(_path("TFRecordWriter", path), options.compression_type, level)

    def write(self, record):
        """Adds a record."""
        self._writer.write(_bytes("write", record))

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


def _as_tensor(values, shape, dtype):
    if dtype == _texts.string:
        made = np.empty(len(values), dtype=object)
        made[:] = values
        return TextTensor(made.reshape(shape))
    return convert_to_tensor(np.asarray(values, dtype.as_numpy_dtype).reshape(shape), dtype=dtype)


def _feature(example, key, feature, where):
    if isinstance(feature, RaggedFeature):
        values = _values_of(example, feature.value_key or key, feature.dtype, where)
        return _as_tensor(values or [], [-1], feature.dtype)
    if isinstance(feature, VarLenFeature):
        values = _as_tensor(_values_of(example, key, feature.dtype, where) or [], [-1], feature.dtype)
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
        return _as_tensor(values or [], [len(values or []) // size, *feature.shape], feature.dtype)
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
    return _as_tensor(values, feature.shape, feature.dtype)


def parse_single_example(serialized, features, example_names=None, name=None):
    """The features of an Example, by their names."""
    del example_names  # of errors in TensorFlow
    example = _core.parse_example(_bytes("parse_single_example", serialized))
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
        return _as_tensor([], [0, *feature.shape], feature.dtype)
    return _texts.stacked(rows) if feature.dtype == _texts.string else _ops.stack(rows)


# --- tf.io.gfile ---

class GFile:
    """A file that is open: what open() of Python gives."""

    def __init__(self, name, mode="r"):
        self._file = _opened("GFile", _path("GFile", name), mode)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self._file

    def __exit__(self, *unused):
        self._file.close()

    def __iter__(self):
        return iter(self._file)


def _on_paths(function, text):
    def call(*paths, **kwargs):
        try:
            return function(*[_path(call.__name__, p) for p in paths], **kwargs)
        except OSError as error:
            raise _core.IoError(f"{call.__name__}: {error.strerror}\n  file: {error.filename}") from None
    call.__name__ = call.__qualname__ = text.split("(")[0]
    call.__doc__ = text.split(": ", 1)[1]
    return call


def _gfile():
    import shutil

    def copy(src, dst, overwrite=False):
        """Copies a file."""
        source, target = _path("copy", src), _path("copy", dst)
        if os.path.exists(target) and not overwrite:
            raise _core.IoError(f"copy: the file is there already\n  file: {target}")
        _on_paths(shutil.copyfile, "copy(): .")(source, target)

    def rename(src, dst, overwrite=False):
        """Gives a file another name."""
        source, target = _path("rename", src), _path("rename", dst)
        if os.path.exists(target) and not overwrite:
            raise _core.IoError(f"rename: the file is there already\n  file: {target}")
        _on_paths(os.replace, "rename(): .")(source, target)

    def exists(path):
        """Whether there is a file or folder of this name."""
        return os.path.exists(_path("exists", path))

    def isdir(path):
        """Whether there is a folder of this name."""
        return os.path.isdir(_path("isdir", path))

    def glob(pattern):
        """The names of files that match a pattern, or any of several, sorted."""
        patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
        return sorted({f for p in patterns for f in _glob.glob(_path("glob", p))})

    def listdir(path):
        """The names in a folder."""
        return _on_paths(os.listdir, "listdir(): .")(path)

    def makedirs(path):
        """Makes a folder and those above it."""
        _on_paths(lambda p: os.makedirs(p, exist_ok=True), "makedirs(): .")(path)

    def mkdir(path):
        """Makes a folder."""
        _on_paths(os.mkdir, "mkdir(): .")(path)

    def remove(path):
        """Deletes a file."""
        _on_paths(os.remove, "remove(): .")(path)

    def rmtree(path):
        """Deletes a folder with all that is in it."""
        _on_paths(shutil.rmtree, "rmtree(): .")(path)

    def stat(path):
        """What the system knows of a file."""
        return _on_paths(os.stat, "stat(): .")(path)

    def walk(top, topdown=True, onerror=None):
        """Folders below one, with the folders and files in each."""
        return os.walk(_path("walk", top), topdown, onerror)

    def join(path, *paths):
        """Parts of a name joined."""
        return os.path.join(_path("join", path), *[_path("join", p) for p in paths])
    functions = (copy, rename, exists, isdir, glob, listdir, makedirs, mkdir, remove, rmtree, stat, walk, join)
    return _modules.make_module("io.gfile", {"GFile": GFile, **{f.__name__: f for f in functions}}, "tf.io.gfile")


for _function in (decode_image, decode_png, decode_jpeg, encode_png, encode_jpeg, is_jpeg, extract_jpeg_shape):
    setattr(_modules.image, _function.__name__, _function)
    _modules.image.__all__.append(_function.__name__)
gfile = _gfile()
__all__ = [name for name, value in list(globals().items()) if getattr(value, "__module__", "") == __name__
           and not name.startswith("_")] + ["gfile"]
