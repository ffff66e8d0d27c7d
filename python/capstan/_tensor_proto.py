"""tf.io.serialize_tensor and parse_tensor: tensors as messages of TensorFlow's type TensorProto.

The fields: dtype = 1, tensor_shape = 2 (dim = 2, size = 1), tensor_content = 4, and lists of values by dtype.
"""
import struct

import numpy as np

from . import _core, _texts
from ._convert import convert_to_tensor

_VARINTS = (7, 10, 11)
# How often the last value of a list may be repeated: a few bytes must not claim all memory.
_MOST_REPEATED = 1 << 22
_NUMBERS = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "string": 7, "complex64": 8, "int64": 9, "bool": 10,
            "bfloat16": 14, "complex128": 18}
# Lists of values, beside tensor_content: how they are packed.
_LISTS = {"float32": (5, "f"), "float64": (6, "d"), "int32": (7, None), "uint8": (7, None), "string": (8, None),
          "complex64": (9, "f"), "int64": (10, None), "bool": (11, None), "complex128": (12, "d")}


def _varint(number):
    number &= 2**64 - 1
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    made.append(number)
    return bytes(made)


def _field(number, data):
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def serialize(tensor):
    """The bytes of a tensor's message."""
    tensor = _texts.texts_or_tensor(tensor)
    name = tensor.dtype.name
    shape = b"".join(_field(2, b"\x08" + _varint(n)) for n in tensor.shape)
    head = b"\x08" + _varint(_NUMBERS[name]) + _field(2, shape)
    if name == "string":
        return head + b"".join(_field(8, text) for text in tensor._array.ravel())
    array = np.asarray(tensor)  # of bfloat16 the bits
    return head + _field(4, array.tobytes())


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def _fail(self, reason):
        raise _core.IoError(f"parse_tensor: these bytes are no tensor, {reason} at byte {self.at}")

    def varint(self):
        number = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 63:
                self._fail("a number is cut off")
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def take(self, count):
        if count > len(self.data) - self.at:
            self._fail(f"{count} bytes are announced")
        self.at += count
        return self.data[self.at - count:self.at]

    def fields(self, integers, texts):
        """Pairs of a field's number and its value: those in `integers` are integers, those in `texts` bytes. Others, and
        those in both, are what they are."""
        for number, value in self._fields():
            wanted = (int,) * (number in integers) + (bytes,) * (number in texts)
            if wanted and not isinstance(value, wanted):
                self._fail(f"field {number} of another kind")
            yield number, value

    def _fields(self):
        while self.at < len(self.data):
            key = self.varint()
            kind = key & 7
            if kind == 0:
                yield key >> 3, self.varint()
            elif kind == 2:
                yield key >> 3, self.take(self.varint())
            elif kind in (1, 5):
                yield key >> 3, self.take(8 if kind == 1 else 4)
            else:
                self._fail(f"a field of kind {kind}")


def _signed(number):
    return number - 2**64 if number >> 63 else number


def _shape_of(data):
    lengths = []
    for number, value in _Reader(data).fields((3,), (2,)):
        if number == 2:
            lengths.append(_signed(dict(_Reader(value).fields((1,), ())).get(1, 0)))
        elif number == 3 and value:
            raise _core.IoError("parse_tensor: the tensor's rank is not known")
    if any(n < 0 for n in lengths):
        raise _core.IoError(f"parse_tensor: a tensor has no shape {lengths}")
    return lengths


def parse(data, dtype):
    """The tensor of a message."""
    number, shape, content, values = 0, [], None, []
    names = {v: k for k, v in _NUMBERS.items()}
    # Lists of numbers come one by one or packed.
    fields = list(_Reader(data).fields((1, *_VARINTS), (2, 4, 5, 6, 8, 9, 12, *_VARINTS)))
    for field, value in fields:
        if field == 1:
            number = value
        elif field == 2:
            shape = _shape_of(value)
        elif field == 4:
            content = value
    name = names.get(number)
    if name != dtype.name:
        raise _core.ValueError_(f"Type mismatch between parsed tensor ({name or number}) and dtype ({dtype.name})")
    size = 1
    for n in shape:
        size *= n
    if name == "string":
        values = [value for field, value in fields if field == 8]
        if len(values) != size:
            raise _core.IoError(f"parse_tensor: {len(values)} texts for the shape {shape}")
        return _texts.texts_from_parts(values, shape)
    if content is not None:
        kind = np.dtype("<u2") if name == "bfloat16" else np.dtype(dtype.as_numpy_dtype).newbyteorder("<")
        if len(content) != size * kind.itemsize:
            raise _core.IoError(f"parse_tensor: {len(content)} bytes for {size} elements of {name}")
        array = np.frombuffer(content, kind)
        if name == "bfloat16":
            array = (array.astype("<u4") << 16).view("f")
    else:
        array = _list_of(fields, name, size)
    return convert_to_tensor(array.astype(dtype.as_numpy_dtype).reshape(shape), dtype=dtype)


def _list_of(fields, name, size):
    """The values of a list, of which the last one is repeated."""
    if name not in _LISTS:
        raise _core.IoError(f"parse_tensor: a list of values of {name}")
    wanted, packed = _LISTS[name]
    values = []
    for field, value in fields:
        if field != wanted:
            continue
        if packed is not None:
            if len(value) % struct.calcsize(packed):
                raise _core.IoError(f"parse_tensor: {len(value)} bytes are no list of values of {name}")
            values.extend(x for x, in struct.iter_unpack("<" + packed, value))
        elif isinstance(value, int):
            values.append(_signed(value))
        else:
            reader = _Reader(value)
            while reader.at < len(value):
                values.append(_signed(reader.varint()))
    if name.startswith("complex"):
        values = [complex(a, b) for a, b in zip(values[::2], values[1::2])]
    if len(values) > size or not values and size or size > len(values) + _MOST_REPEATED:
        raise _core.IoError(f"parse_tensor: {len(values)} values for {size} elements")
    return np.asarray(values + values[-1:] * (size - len(values)))
