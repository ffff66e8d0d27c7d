# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import RaggedTensor as RaggedTensor
from capstan import Tensor as Tensor
from capstan import nest as nest

def boolean_mask(data: Any, mask: Any, name: _b.str | None = None) -> Tensor:
    """The values of rows for which a mask of rows holds."""
    ...
def constant(pylist: Any, dtype: Any = None, ragged_rank: Any = None, inner_shape: Any = None, name: _b.str | None = None, row_splits_dtype: _b.str | Any = 'int64') -> Tensor:
    """A RaggedTensor of nested lists."""
    ...
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: _b.str | None = None, preferred_dtype: Any = None) -> Tensor:
    """A tensor of anything that can become one; with `dtype` of that dtype, or an error."""
    ...
def is_tensor(x: Any) -> _b.bool:
    """Whether x is a tensor, a variable, texts, a RaggedTensor or a SparseTensor."""
    ...
def map_flat_values(op: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function makes of the innermost values, in rows of the same lengths."""
    ...
def range(starts: Any, limits: Any = None, deltas: _b.int | Any = 1, dtype: Any = None, name: _b.str | None = None, row_splits_dtype: _b.str | Any = 'int64') -> Tensor:
    """Rows of numbers that count, as tf.range has them."""
    ...
def refuse(function: Any, **given: Any) -> Any:
    """Raises for an argument with a value that the function does not have: `name=(value, what it may be, ...)`."""
    ...
def stack(values: Any, axis: _b.int | Any = 0, name: _b.str | None = None) -> Tensor:
    """Rows of different lengths as one RaggedTensor."""
    ...
