# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor

def cholesky(x: Any, upper: _b.bool = False) -> Tensor:
    """As keras.ops.cholesky."""
    ...
def cholesky_inverse(x: Any, upper: _b.bool = False) -> Any:
    """As keras.ops.cholesky_inverse."""
    ...
def det(x: Any) -> Tensor:
    """As keras.ops.det."""
    ...
def eig(x: Any) -> _b.tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors, complex, of matrices."""
    ...
def eigh(x: Any) -> _b.tuple[Tensor, Tensor]:
    """As keras.ops.eigh."""
    ...
def inv(x: Any) -> Tensor:
    """As keras.ops.inv."""
    ...
def jvp(fun: Any, primals: Any, tangents: Any, has_aux: _b.bool = False) -> Any:
    """As keras.ops.jvp."""
    ...
def lstsq(a: Any, b: Any, rcond: Any = None) -> Tensor:
    """The x that brings a x nearest to b."""
    ...
def matrix_rank(x: Any, tol: Any = None) -> Tensor:
    """As keras.ops.matrix_rank."""
    ...
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: _b.bool = False) -> Tensor:
    """As keras.ops.norm."""
    ...
def pinv(x: Any, rcond: Any = None) -> Tensor:
    """As keras.ops.pinv."""
    ...
def qr(x: Any, mode: _b.str | Any = 'reduced') -> _b.tuple[Tensor, Tensor]:
    """As keras.ops.qr."""
    ...
def solve(a: Any, b: Any) -> Tensor:
    """As keras.ops.solve."""
    ...
def solve_triangular(a: Any, b: Any, lower: _b.bool = False) -> Any:
    """As keras.ops.solve_triangular."""
    ...
def svd(x: Any, full_matrices: _b.bool = True, compute_uv: _b.bool = True) -> _b.list[Tensor]:
    """As keras.ops.svd."""
    ...
