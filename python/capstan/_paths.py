"""What a caller gives as a name of a file, or as the contents of one."""
import os

from . import _core
from ._texts import need_texts


def path_of(function, filename):
    texts = need_texts(os.fspath(filename) if isinstance(filename, os.PathLike) else filename, function)
    if texts.ndim != 0:
        raise _core.ShapeError(f"{function}: one file name is needed, not {tuple(texts.shape)}")
    return os.fsdecode(texts.numpy())


def bytes_of(function, contents):
    texts = need_texts(contents, function)
    if texts.ndim != 0:
        raise _core.ShapeError(f"{function}: one text is needed, not {tuple(texts.shape)}")
    return texts.numpy()


def opened(function, path, mode):
    try:
        return open(path, mode)
    except OSError as error:
        raise _core.IoError(f"{function}: cannot open the file, {error.strerror}\n  file: {path}") from None
