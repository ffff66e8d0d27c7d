# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor, bessel_i0 as bessel_i0, bessel_i0e as bessel_i0e, bessel_i1 as bessel_i1, bessel_i1e as bessel_i1e, dawsn as dawsn, expint as expint, fresnel_cos as fresnel_cos, fresnel_sin as fresnel_sin, spence as spence

def bessel_j0(x: Any, name: _b.str | None = None) -> Tensor:
    """The Bessel function of the first kind of order 0."""
    ...
def bessel_j1(x: Any, name: _b.str | None = None) -> Tensor:
    """The Bessel function of the first kind of order 1."""
    ...
def bessel_k0(x: Any, name: _b.str | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 0."""
    ...
def bessel_k0e(x: Any, name: _b.str | None = None) -> Tensor:
    """bessel_k0 times exp(x)."""
    ...
def bessel_k1(x: Any, name: _b.str | None = None) -> Tensor:
    """The modified Bessel function of the second kind of order 1."""
    ...
def bessel_k1e(x: Any, name: _b.str | None = None) -> Tensor:
    """bessel_k1 times exp(x)."""
    ...
def bessel_y0(x: Any, name: _b.str | None = None) -> Tensor:
    """The Bessel function of the second kind of order 0."""
    ...
def bessel_y1(x: Any, name: _b.str | None = None) -> Tensor:
    """The Bessel function of the second kind of order 1."""
    ...
