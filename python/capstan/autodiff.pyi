# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import ForwardAccumulator as ForwardAccumulator, GradientTape as GradientTape

