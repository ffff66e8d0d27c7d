# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import DType as DType
from capstan import RaggedTensor as RaggedTensor
from capstan import Tensor as Tensor
from capstan.data import TextTensor as TextTensor

def as_dtype(type_value: Any) -> Any:
    """The dtype that `type_value` is: a DType, its name, or a type of Python or NumPy."""
    ...
def as_string(input: Any, precision: _b.int | Any = -1, scientific: _b.bool = False, shortest: _b.bool = False, width: _b.int | Any = -1, fill: _b.str | Any = '', name: _b.str | None = None) -> Any:
    """Numbers as texts, floating ones with six digits behind the point unless `precision` says otherwise."""
    ...
def bytes_split(input: Any, name: _b.str | None = None) -> Any:
    """The bytes of texts."""
    ...
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: _b.str | None = None, preferred_dtype: Any = None) -> Tensor:
    """A tensor of anything that can become one; with `dtype` of that dtype, or an error."""
    ...
float32: DType
def format(template: Any, inputs: Any, placeholder: _b.str | Any = '{}', summarize: _b.int | Any = 3, name: _b.str | None = None) -> Any:
    """A text with the values of tensors in the places of a placeholder."""
    ...
def join(inputs: Any, separator: _b.str | Any = '', name: _b.str | None = None) -> Any:
    """Texts that broadcast against each other, one after the other, with a separator in between."""
    ...
def length(input: Any, unit: _b.str | Any = 'BYTE', name: _b.str | None = None) -> Any:
    """The number of bytes, or of characters, of each text; int32."""
    ...
def lower(input: Any, encoding: _b.str | Any = '', name: _b.str | None = None) -> Any:
    """Texts in lower case: letters of ASCII, with encoding="utf-8" all letters."""
    ...
def mapped(texts: Any, function: Any, dtype: Any = None) -> Any:
    """What a function makes of each text: texts, or numbers of a dtype."""
    ...
def need_texts(value: Any, function: Any) -> Any:
    """The texts that a value is; a TypeError for anything else."""
    ...
def ngrams(data: Any, ngram_width: Any, separator: _b.str | Any = ' ', pad_values: Any = None, padding_width: Any = None, preserve_short_sequences: _b.bool = False, name: _b.str | None = None) -> Any:
    """Texts that are joined from so many neighbours, along the last axis."""
    ...
def reduce_join(inputs: Any, axis: Any = None, keepdims: _b.bool = False, separator: _b.str | Any = '', name: _b.str | None = None) -> Any:
    """The texts along axes joined, along all of them unless told; of a RaggedTensor those of each row, with axis -1."""
    ...
def refuse(function: Any, **given: Any) -> Any:
    """Raises for an argument with a value that the function does not have: `name=(value, what it may be, ...)`."""
    ...
def regex_full_match(input: Any, pattern: Any, name: _b.str | None = None) -> Any:
    """Whether all of each text matches a regular expression."""
    ...
def regex_replace(input: Any, pattern: Any, rewrite: Any, replace_global: _b.bool = True, name: _b.str | None = None) -> Any:
    """Texts with what matches a regular expression replaced; `\\1` in `rewrite` stands for its first group."""
    ...
def split(input: Any, sep: Any = None, maxsplit: _b.int | Any = -1, name: _b.str | None = None) -> _b.list[Tensor]:
    """The parts of texts between separators, white space unless told: of one text a list of texts, else a RaggedTensor."""
    ...
def strip(input: Any, name: _b.str | None = None) -> Any:
    """Texts without white space at both ends."""
    ...
def substr(input: Any, pos: Any, len: Any, unit: _b.str | Any = 'BYTE', name: _b.str | None = None) -> Any:
    """Pieces of texts, from a position on, counted from the end if it is negative; `len` of them at most."""
    ...
def to_hash_bucket_fast(input: Any, num_buckets: Any, name: _b.str | None = None) -> Any:
    """Numbers of buckets, from 0 to num_buckets - 1, by FarmHash64; int64."""
    ...
def to_hash_bucket_strong(input: Any, num_buckets: Any, key: Any, name: _b.str | None = None) -> Any:
    """Numbers of buckets, from 0 to num_buckets - 1, by SipHash under a key of two integers; int64."""
    ...
def to_number(input: Any, out_type: Any = ..., name: _b.str | None = None) -> Any:
    """The numbers that texts are."""
    ...
def unicode_decode(input: Any, input_encoding: _b.str | Any = 'UTF-8', errors: _b.str | Any = 'replace', replacement_char: _b.int | Any = 65533, replace_control_characters: _b.bool = False, name: _b.str | None = None) -> Any:
    """The code points of texts, int32."""
    ...
def unicode_encode(input: Any, output_encoding: _b.str | Any = 'UTF-8', errors: _b.str | Any = 'replace', replacement_char: _b.int | Any = 65533, name: _b.str | None = None) -> Any:
    """Texts of code points, which are the rows of a tensor or RaggedTensor."""
    ...
def unicode_split(input: Any, input_encoding: _b.str | Any = 'UTF-8', errors: _b.str | Any = 'replace', replacement_char: _b.int | Any = 65533, name: _b.str | None = None) -> Any:
    """The characters of texts."""
    ...
def unsorted_segment_join(inputs: Any, segment_ids: Any, num_segments: Any, separator: _b.str | Any = '', name: _b.str | None = None) -> Any:
    """The texts of each number joined."""
    ...
def upper(input: Any, encoding: _b.str | Any = '', name: _b.str | None = None) -> Any:
    """Texts in upper case: letters of ASCII, with encoding="utf-8" all letters."""
    ...
