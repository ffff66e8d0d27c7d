# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def make_sampling_table(size: Any, sampling_factor: _b.float | Any = 1e-05) -> Any:
    """For words by rank, the most frequent first, how likely each is kept when frequent ones are thinned out; the ranks are"""
    ...
def pad_sequences(sequences: Any, maxlen: Any = None, dtype: _b.str | Any = 'int32', padding: _b.str | Any = 'pre', truncating: _b.str | Any = 'pre', value: _b.float | Any = 0.0) -> Any:
    """Lists of different lengths as rows of one array, padded and cut in front or behind."""
    ...
def skipgrams(sequence: Any, vocabulary_size: Any, window_size: _b.int | Any = 4, negative_samples: _b.float | Any = 1.0, shuffle: _b.bool = True, categorical: _b.bool = False, sampling_table: Any = None, seed: Any = None) -> Any:
    """Pairs of words that are at most `window_size` apart, labelled 1, and pairs of a word and one that is drawn, 0."""
    ...
