# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Error as Error
from capstan import Error as OpError
from capstan import InvalidArgumentError as InvalidArgumentError
from capstan import IoError as DataLossError
from capstan import IoError as NotFoundError
from capstan import IoError as PermissionDeniedError

class AbortedError(Error):
    """Not raised by the library."""
    ...
class AlreadyExistsError(Error):
    """Not raised by the library."""
    ...
class CancelledError(Error):
    """Not raised by the library."""
    ...
class DeadlineExceededError(Error):
    """Not raised by the library."""
    ...
class FailedPreconditionError(Error):
    """Not raised by the library."""
    ...
class InternalError(Error):
    """Not raised by the library."""
    ...
class OutOfRangeError(Error):
    """Not raised by the library."""
    ...
class ResourceExhaustedError(Error):
    """Not raised by the library."""
    ...
class UnavailableError(Error):
    """Not raised by the library."""
    ...
class UnimplementedError(Error):
    """Not raised by the library."""
    ...
class UnknownError(Error):
    """Not raised by the library."""
    ...
