# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import SparseTensor as SparseTensor
from capstan import Tensor as Tensor

def add(a: Any, b: Any, threshold: _b.int | Any = 0) -> Tensor:
    """The sum of two sparse tensors, or of a sparse and a dense one, which is dense."""
    ...
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: _b.str | None = None, preferred_dtype: Any = None) -> Tensor:
    """A tensor of anything that can become one; with `dtype` of that dtype, or an error."""
    ...
def from_dense(tensor: Any, name: _b.str | None = None) -> Any:
    """The elements that are not zero, or of texts those that are not empty."""
    ...
def map_values(op: Any, *args: Any, **kwargs: Any) -> Any:
    """What a function makes of the values, at the same places."""
    ...
def reduce_sum(sp_input: Any, axis: Any = None, keepdims: Any = None, output_is_sparse: _b.bool = False, name: _b.str | None = None) -> Tensor:
    """The sum over axes, as a dense tensor."""
    ...
def refuse(function: Any, **given: Any) -> Any:
    """Raises for an argument with a value that the function does not have: `name=(value, what it may be, ...)`."""
    ...
def reorder(sp_input: Any, name: _b.str | None = None) -> Any:
    """The values in the order of their places, row by row."""
    ...
def retain(sp_input: Any, to_retain: Any) -> Any:
    """The values for which a vector of truth values holds."""
    ...
def sparse_dense_matmul(sp_a: Any, b: Any, adjoint_a: _b.bool = False, adjoint_b: _b.bool = False, name: _b.str | None = None) -> Any:
    """The product of a sparse and a dense matrix; gradients reach the values and the dense one."""
    ...
def to_dense(sp_input: Any, default_value: Any = None, validate_indices: _b.bool = True, name: _b.str | None = None) -> Any:
    """The tensor, with zeros, or another value, where nothing is given."""
    ...
def to_indicator(sp_input: Any, vocab_size: Any, name: _b.str | None = None) -> Any:
    """Truth values [..., vocab_size]: which ids the last axis has."""
    ...
