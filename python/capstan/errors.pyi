# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Error as Error, Error as OpError, InvalidArgumentError as InvalidArgumentError, IoError as DataLossError, IoError as NotFoundError, IoError as PermissionDeniedError

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
