# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def pad_sequences(sequences: Any, maxlen: Any = None, dtype: _b.str | Any = 'int32', padding: _b.str | Any = 'pre', truncating: _b.str | Any = 'pre', value: _b.float | Any = 0.0) -> Any:
    """Lists of different lengths as rows of one array, padded and cut in front or behind."""
    ...
