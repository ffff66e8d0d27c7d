# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Error as Error, Error as OpError, InvalidArgumentError as InvalidArgumentError, IoError as DataLossError, IoError as NotFoundError, IoError as PermissionDeniedError, TraceError as OperatorNotAllowedInGraphError

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
class UnauthenticatedError(Error):
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
ABORTED: _b.int
ALREADY_EXISTS: _b.int
CANCELLED: _b.int
DATA_LOSS: _b.int
DEADLINE_EXCEEDED: _b.int
FAILED_PRECONDITION: _b.int
INTERNAL: _b.int
INVALID_ARGUMENT: _b.int
NOT_FOUND: _b.int
OK: _b.int
OUT_OF_RANGE: _b.int
PERMISSION_DENIED: _b.int
RESOURCE_EXHAUSTED: _b.int
UNAUTHENTICATED: _b.int
UNAVAILABLE: _b.int
UNIMPLEMENTED: _b.int
UNKNOWN: _b.int
