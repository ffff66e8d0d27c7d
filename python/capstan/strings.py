"""tf.strings: functions of texts. They run outside of traced functions; a function that is given texts is not traced."""
import builtins
import re

import numpy as np

from . import _core, _texts
from ._convert import convert_to_tensor, refuse
from ._dtypes import as_dtype, float32
from .ragged import RaggedTensor
from ._texts import TextTensor, mapped, need_texts, texts_from_parts

_CLASSES = {"alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7F", "blank": "\\t ", "cntrl": "\\x00-\\x1F\\x7F",
            "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~",
            "space": "\\t\\n\\v\\f\\r ",
            "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f"}


def _pattern(function, pattern):
    """A regular expression of RE2 for Python: named classes written out."""
    text = _texts.as_bytes(need_texts(pattern, function).numpy()).decode("utf-8", "surrogateescape")
    text = re.sub(r"\[:(\^?)(\w+):\]", lambda m: _CLASSES.get(m[2], m[0]) if not m[1] else m[0], text)
    try:
        return re.compile(text)
    except re.error as error:
        raise _core.ValueError_(f"{function}: {text!r} is no regular expression, {error}") from None


def _characters(text):
    return text.decode("utf-8", "surrogateescape")


def _bytes(text):
    return text.encode("utf-8", "surrogateescape")


def _unit(function, unit):
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise ValueError(f"{function}: unit must be 'BYTE' or 'UTF8_CHAR', not {unit!r}")
    return unit == "BYTE"


def lower(input, encoding="", name=None):
    """Texts in lower case: letters of ASCII, with encoding="utf-8" all letters."""
    refuse("lower", encoding=(encoding, "", "utf-8"))
    return mapped(need_texts(input, "lower"), bytes.lower if not encoding else lambda t: _bytes(_characters(t).lower()))


def upper(input, encoding="", name=None):
    """Texts in upper case: letters of ASCII, with encoding="utf-8" all letters."""
    refuse("upper", encoding=(encoding, "", "utf-8"))
    return mapped(need_texts(input, "upper"), bytes.upper if not encoding else lambda t: _bytes(_characters(t).upper()))


def strip(input, name=None):
    """Texts without white space at both ends."""
    return mapped(need_texts(input, "strip"), bytes.strip)


def length(input, unit="BYTE", name=None):
    """The number of bytes, or of characters, of each text; int32."""
    in_bytes = _unit("length", unit)
    return mapped(need_texts(input, "length"), len if in_bytes else lambda t: len(_characters(t)), np.int32)


def substr(input, pos, len, unit="BYTE", name=None):
    """Pieces of texts, from a position on, counted from the end if it is negative; `len` of them at most."""
    in_bytes = _unit("substr", unit)
    texts, starts, counts = np.broadcast_arrays(need_texts(input, "substr")._array, np.asarray(pos), np.asarray(len))
    made = np.empty(texts.shape, dtype=object)
    for at in np.ndindex(texts.shape):
        text = texts[at] if in_bytes else _characters(texts[at])
        start, size = int(starts[at]), builtins.len(text)
        if not -size <= start <= size:
            raise _core.ValueError_(f"substr: position {start} is out of range for a text of {size}")
        start += size if start < 0 else 0
        piece = text[start:start + max(0, int(counts[at]))]
        made[at] = piece if in_bytes else _bytes(piece)
    return TextTensor(made)


def join(inputs, separator="", name=None):
    """Texts that broadcast against each other, one after the other, with a separator in between."""
    return _texts.joined(list(inputs), _texts.as_bytes(separator))


def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    """The texts along axes joined, along all of them unless told; of a RaggedTensor those of each row, with axis -1."""
    if isinstance(inputs, RaggedTensor):
        refuse("reduce_join", axis=(axis, -1, inputs.ragged_rank), keepdims=(keepdims, False))
        rows = [reduce_join(row, -1 if isinstance(row, RaggedTensor) else None, separator=separator) for row in inputs]
        return RaggedTensor.from_rows(rows) if inputs.ragged_rank > 1 else texts_from_parts([row.numpy() for row in rows])
    array = need_texts(inputs, "reduce_join")._array
    axes = list(range(array.ndim)) if axis is None else [int(a) % max(array.ndim, 1) for a in np.atleast_1d(axis)]
    kept = [a for a in range(array.ndim) if a not in axes]
    rows = array.transpose(kept + axes).reshape([array.shape[a] for a in kept] + [-1])
    made = np.empty(rows.shape[:-1], dtype=object)
    for at in np.ndindex(made.shape):
        made[at] = _texts.as_bytes(separator).join(rows[at])
    return TextTensor(made.reshape([1 if a in axes else array.shape[a] for a in range(array.ndim)]) if keepdims else made)


def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    """Texts with what matches a regular expression replaced; `\\1` in `rewrite` stands for its first group."""
    expression = _pattern("regex_replace", pattern)
    by = _characters(need_texts(rewrite, "regex_replace").numpy())

    def written(match):
        return re.sub(r"\\(\d|\\)", lambda m: "\\" if m[1] == "\\" else match.group(int(m[1])) or "", by)
    count = 0 if replace_global else 1
    return mapped(need_texts(input, "regex_replace"),
                  lambda t: _bytes(expression.sub(written, _characters(t), count=count)))


def regex_full_match(input, pattern, name=None):
    """Whether all of each text matches a regular expression."""
    expression = _pattern("regex_full_match", pattern)
    return mapped(need_texts(input, "regex_full_match"),
                  lambda t: expression.fullmatch(_characters(t)) is not None, bool)


def split(input, sep=None, maxsplit=-1, name=None):
    """The parts of texts between separators, white space unless told: of one text a list of texts, else a RaggedTensor."""
    texts = need_texts(input, "split")
    by = None if sep is None or sep in ("", b"") else _texts.as_bytes(sep)
    most = int(maxsplit)
    return _parts(texts, lambda t: t.split(by, most))


def bytes_split(input, name=None):
    """The bytes of texts."""
    return _parts(need_texts(input, "bytes_split"), lambda t: [t[i:i + 1] for i in range(builtins.len(t))])


def _need_utf8(what, encoding):
    """Texts are UTF-8, whose name may be spelt in several ways."""
    if encoding.lower().replace("-", "").replace("_", "") != "utf8":
        refuse(what, input_encoding=(encoding, "UTF-8"))


def unicode_split(input, input_encoding="UTF-8", errors="replace", replacement_char=65533, name=None):
    """The characters of texts."""
    _need_utf8("unicode_split", input_encoding)
    return _parts(need_texts(input, "unicode_split"), lambda t: [c.encode() for c in _decoded(t, errors, replacement_char)])


def unicode_decode(input, input_encoding="UTF-8", errors="replace", replacement_char=65533,
                   replace_control_characters=False, name=None):
    """The code points of texts, int32."""
    _need_utf8("unicode_decode", input_encoding)
    refuse("unicode_decode", replace_control_characters=(replace_control_characters, False))
    texts = need_texts(input, "unicode_decode")
    points = [[ord(c) for c in _decoded(t, errors, replacement_char)] for t in texts._array.ravel()]
    if texts.ndim == 0:
        return convert_to_tensor(points[0], dtype="int32")
    return RaggedTensor.from_rows([convert_to_tensor(p, dtype="int32") for p in points], "int32")


def unicode_encode(input, output_encoding="UTF-8", errors="replace", replacement_char=65533, name=None):
    """Texts of code points, which are the rows of a tensor or RaggedTensor."""
    refuse("unicode_encode", output_encoding=(output_encoding, "UTF-8"))
    rows = input.to_list() if isinstance(input, RaggedTensor) else np.asarray(input).tolist()
    is_one = not rows or not isinstance(rows[0], list)
    made = ["".join(_character(n, errors, replacement_char) for n in row).encode() for row in ([rows] if is_one else rows)]
    return _texts.texts_of(made[0] if is_one else made)


def _character(number, errors, replacement):
    if 0 <= number < 0xD800 or 0xDFFF < number < 0x110000:
        return chr(number)
    if errors == "strict":
        raise _core.ValueError_(f"unicode_encode: {number} is no character")
    return chr(replacement) if errors == "replace" else ""


def _decoded(text, errors, replacement):
    if errors not in ("replace", "strict", "ignore"):
        raise ValueError(f"unicode: errors must be 'replace', 'strict' or 'ignore', not {errors!r}")
    try:
        return text.decode("utf-8", errors).replace("\ufffd", chr(replacement))
    except UnicodeDecodeError as error:
        raise _core.ValueError_(f"unicode: {text!r} is not UTF-8, {error}") from None


def _parts(texts, function):
    if texts.ndim == 0:
        return texts_from_parts(function(texts.numpy()))
    if texts.ndim > 1:
        return RaggedTensor.from_rows([_parts(row, function) for row in texts], _texts.string)
    return RaggedTensor.from_rows([texts_from_parts(function(t)) for t in texts._array], _texts.string)


def to_number(input, out_type=float32, name=None):
    """The numbers that texts are."""
    dtype = as_dtype(out_type)

    def number(text):
        try:
            return float(text) if dtype.is_floating else int(text)
        except ValueError:
            raise _core.ValueError_(f"StringToNumberOp could not correctly convert string: {_characters(text)}") from None
    return convert_to_tensor(np.asarray(mapped(need_texts(input, "to_number"), number, dtype.as_numpy_dtype)), dtype=dtype)


def as_string(input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None):
    """Numbers as texts, floating ones with six digits behind the point unless `precision` says otherwise."""
    found = _texts.texts_of(input)
    if found is not None:
        return found
    tensor = convert_to_tensor(input)
    style = "e" if scientific else "g" if shortest else "f"

    def written(value):
        if tensor.dtype.is_bool:
            text = "true" if value else "false"
        elif tensor.dtype.is_floating:
            text = builtins.format(float(value), (f".{precision}" if precision >= 0 else "") + style)
        else:
            text = builtins.str(int(value))
        return (text.rjust(width, fill or " ") if width > builtins.len(text) else text).encode()
    array = np.asarray(tensor.numpy())
    made = np.empty(array.shape, dtype=object)
    for at in np.ndindex(array.shape):
        made[at] = written(array[at])
    return TextTensor(made)


def format(template, inputs, placeholder="{}", summarize=3, name=None):
    """A text with the values of tensors in the places of a placeholder."""
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = _characters(_texts.as_bytes(template)).split(placeholder)
    if builtins.len(parts) != builtins.len(values) + 1:
        raise ValueError(f"format: {builtins.len(parts) - 1} placeholders for {builtins.len(values)} tensors")
    text = parts[0]
    for value, part in zip(values, parts[1:]):
        text += _shown(_texts.texts_or_tensor(value).numpy(), summarize) + part
    return _texts.texts_of(text)


def _shown(value, summarize):
    if isinstance(value, bytes):
        return f'"{_characters(value)}"'
    if np.ndim(value) == 0:
        item = np.asarray(value)[()]
        return str(int(item)) if isinstance(item, (np.bool_, np.integer)) else builtins.format(float(item), ".6g")
    items = list(value)
    shown = [_shown(v, summarize) for v in items]
    if summarize >= 0 and builtins.len(shown) > 2 * summarize:
        shown = [*shown[:summarize], "...", *shown[-summarize:]]
    return f"[{(' ' if np.ndim(value) == 1 else chr(10) + ' ').join(shown)}]"


def ngrams(data, ngram_width, separator=" ", pad_values=None, padding_width=None, preserve_short_sequences=False,
           name=None):
    """Texts that are joined from so many neighbours, along the last axis."""
    refuse("ngrams", pad_values=(pad_values, None), padding_width=(padding_width, None))
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    is_ragged = isinstance(data, RaggedTensor)
    rows = list(data) if is_ragged else None
    texts = None if is_ragged else need_texts(data, "ngrams")
    if texts is not None:
        rows = [texts] if texts.ndim == 1 else list(texts)

    def of_row(row):
        tokens = list(row._array)
        made = [_texts.as_bytes(separator).join(tokens[i:i + w]) for w in widths
                for i in range(builtins.len(tokens) - w + 1)]
        if not made and preserve_short_sequences and tokens:
            made = [_texts.as_bytes(separator).join(tokens)]
        return texts_from_parts(made)
    made = [of_row(row) for row in rows]
    if texts is not None:
        return made[0] if texts.ndim == 1 else TextTensor(np.stack([m._array for m in made]))
    return RaggedTensor.from_rows(made, _texts.string)


def to_hash_bucket_fast(input, num_buckets, name=None):
    """Numbers of buckets, from 0 to num_buckets - 1, by FarmHash64; int64."""
    from .keras.layers import Hashing
    return Hashing(int(num_buckets))(need_texts(input, "to_hash_bucket_fast"))


def to_hash_bucket_strong(input, num_buckets, key, name=None):
    """Numbers of buckets, from 0 to num_buckets - 1, by SipHash under a key of two integers; int64."""
    from .keras.layers import Hashing
    return Hashing(int(num_buckets), salt=[int(k) for k in key])(need_texts(input, "to_hash_bucket_strong"))


def unsorted_segment_join(inputs, segment_ids, num_segments, separator="", name=None):
    """The texts of each number joined."""
    array, ids = need_texts(inputs, "unsorted_segment_join")._array, np.asarray(segment_ids)
    if array.shape != ids.shape:
        raise _core.ShapeError(f"unsorted_segment_join: {ids.shape} numbers for texts of the shape {array.shape}")
    parts = [[] for _ in range(int(num_segments))]
    for text, i in zip(array.ravel(), ids.ravel()):
        if 0 <= i < builtins.len(parts):
            parts[i].append(text)
    return texts_from_parts([_texts.as_bytes(separator).join(p) for p in parts])


__all__ = [name for name, value in list(globals().items()) if getattr(value, "__module__", "") == __name__
           and not name.startswith("_")]
