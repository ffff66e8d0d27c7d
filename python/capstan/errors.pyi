# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Error as OpError
from capstan import InvalidArgumentError as InvalidArgumentError

