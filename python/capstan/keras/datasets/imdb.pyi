# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def load_data(path: _b.str | Any = 'imdb.npz', num_words: Any = None, skip_top: _b.int | Any = 0, maxlen: Any = None, seed: _b.int | Any = 113, start_char: _b.int | Any = 1, oov_char: _b.int | Any = 2, index_from: _b.int | Any = 3) -> Any: ...
