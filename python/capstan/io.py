"""tf.io: files as texts, images, records and the examples in them. All of it runs outside of traced functions."""
import base64
import csv as _csv
import os

import numpy as np

from . import _core, _gfile, _modules, _tensor_proto, _texts
from ._convert import convert_to_tensor, refuse
from ._csv_datasets import Column
from ._dtypes import as_dtype, uint8
from ._paths import bytes_of, matching, opened, path_of, patterns_of
from ._records import (FixedLenFeature, FixedLenSequenceFeature, RaggedFeature, TFRecordOptions, TFRecordWriter,
                       VarLenFeature, parse_example, parse_single_example)
from ._sequence_examples import parse_single_sequence_example  # noqa: F401
from ._texts import mapped, need_texts


# --- Files ---

def read_file(filename, name=None):
    """The contents of a file as a text."""
    with opened("read_file", path_of("read_file", filename), "rb") as file:
        return _texts.texts_of(file.read())


def write_file(filename, contents, name=None):
    """Writes a text as a file, in a folder that is made if there is none."""
    path, data = path_of("write_file", filename), bytes_of("write_file", contents)
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with opened("write_file", path, "wb") as file:
        file.write(data)


def matching_files(pattern, name=None):
    """The names of files that match a pattern, or any of several, sorted."""
    return _texts.texts_from_parts([os.fsencode(name) for name in matching(patterns_of("matching_files", pattern))])


# --- Images ---

def _decoded(function, contents, channels, dtype):
    image = _core.decode_image(bytes_of(function, contents), int(channels or 0))
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
    return convert_to_tensor(bytes_of("is_jpeg", contents).startswith(b"\xff\xd8\xff"))


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
    return _tensor_proto.parse(bytes_of("parse_tensor", serialized), as_dtype(out_type))


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
    import gzip
    import zlib
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
    made = []
    for number, default in enumerate(record_defaults):
        at, column = number if select_cols is None else int(select_cols[number]), Column(default)
        values = [_field(row, at, i, column, na_value, len(record_defaults), select_cols) for i, row in enumerate(rows)]
        made.append(column.tensor(values, tuple(texts.shape)))
    return made


def _field(row, at, line, column, na_value, count, select_cols):
    if select_cols is None and len(row) != count:
        raise _core.ValueError_(f"Expect {count} fields but have {len(row)} in record {line}")
    if at >= len(row):
        raise _core.ValueError_(f"decode_csv: there is no column {at} in record {line}, which has {len(row)}")
    text = row[at]
    if text in ("", na_value):
        if column.missing is None:
            raise _core.ValueError_(f"Field {at} is required but missing in record {line}!")
        return column.missing
    try:
        return column.converted(text)
    except ValueError:
        raise _core.ValueError_(f"Field {at} in record {line} is not a valid {column.dtype.name}: {text}") from None


for _function in (decode_image, decode_png, decode_jpeg, encode_png, encode_jpeg, is_jpeg, extract_jpeg_shape):
    setattr(_modules.image, _function.__name__, _function)
    _modules.image.__all__.append(_function.__name__)
gfile = _gfile.make()
__all__ = ["gfile", *(name for name, value in list(globals().items())
                      if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") in (
                          __name__, f"{__package__}._records", f"{__package__}._sequence_examples"))]
