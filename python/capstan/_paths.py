"""What a caller gives as a name of a file, or as the contents of one."""
import glob
import os

import numpy as np

from . import _core
from ._texts import need_texts


def path_of(function, filename):
    texts = need_texts(os.fspath(filename) if isinstance(filename, os.PathLike) else filename, function)
    if texts.ndim != 0:
        raise _core.ShapeError(f"{function}: one file name is needed, not {tuple(texts.shape)}")
    return os.fsdecode(texts.numpy())


def patterns_of(function, pattern):
    """A pattern of names, or several, as a list of str."""
    return [os.fsdecode(p) for p in np.atleast_1d(need_texts(pattern, function).numpy())]


def matching(patterns):
    """The names of files that match any of several patterns, sorted."""
    return sorted({name for pattern in patterns for name in glob.glob(pattern)})


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
