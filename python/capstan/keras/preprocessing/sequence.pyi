# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.utils import pad_sequences as pad_sequences

def make_sampling_table(size: Any, sampling_factor: _b.float | Any = 1e-05) -> Any: ...
def skipgrams(sequence: Any, vocabulary_size: Any, window_size: _b.int | Any = 4, negative_samples: _b.float | Any = 1.0, shuffle: _b.bool = True, categorical: _b.bool = False, sampling_table: Any = None, seed: Any = None) -> Any: ...
