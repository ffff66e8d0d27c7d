# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor
from capstan.keras.ops import cholesky as cholesky, cholesky_inverse as cholesky_inverse, det as det, eig as eig, eigh as eigh, inv as inv, jvp as jvp, lstsq as lstsq, matrix_rank as matrix_rank, pinv as pinv, qr as qr, solve as solve, solve_triangular as solve_triangular, svd as svd

def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: _b.bool = False) -> Tensor: ...
