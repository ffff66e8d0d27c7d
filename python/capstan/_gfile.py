"""tf.io.gfile: files and folders of the system."""
import os

from . import _core, _modules
from ._paths import matching, opened, path_of


class GFile:
    """A file that is open: what open() of Python gives."""

    def __init__(self, name, mode="r"):
        self._file = opened("GFile", path_of("GFile", name), mode)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self._file

    def __exit__(self, *unused):
        self._file.close()

    def __iter__(self):
        return iter(self._file)


def _asked(name, function, *paths):
    """What a function of the system says of paths; its errors are those of the library."""
    try:
        return function(*[path_of(name, path) for path in paths])
    except OSError as error:
        raise _core.IoError(f"{name}: {error.strerror}\n  file: {error.filename}") from None


def _check_free(name, path, overwrite):
    if os.path.exists(path_of(name, path)) and not overwrite:
        raise _core.IoError(f"{name}: the file is there already\n  file: {path_of(name, path)}")


def copy(src, dst, overwrite=False):
    """Copies a file."""
    import shutil  # here and below, because it takes 2 ms
    _check_free("copy", dst, overwrite)
    _asked("copy", shutil.copyfile, src, dst)


def rename(src, dst, overwrite=False):
    """Gives a file another name."""
    _check_free("rename", dst, overwrite)
    _asked("rename", os.replace, src, dst)


def exists(path):
    """Whether there is a file or folder of this name."""
    return os.path.exists(path_of("exists", path))


def isdir(path):
    """Whether there is a folder of this name."""
    return os.path.isdir(path_of("isdir", path))


def glob(pattern):
    """The names of files that match a pattern, or any of several, sorted."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    return matching([path_of("glob", p) for p in patterns])


def listdir(path):
    """The names in a folder."""
    return _asked("listdir", os.listdir, path)


def makedirs(path):
    """Makes a folder and those above it."""
    _asked("makedirs", lambda p: os.makedirs(p, exist_ok=True), path)


def mkdir(path):
    """Makes a folder."""
    _asked("mkdir", os.mkdir, path)


def remove(path):
    """Deletes a file."""
    _asked("remove", os.remove, path)


def rmtree(path):
    """Deletes a folder with all that is in it."""
    import shutil
    _asked("rmtree", shutil.rmtree, path)


def stat(path):
    """What the system knows of a file."""
    return _asked("stat", os.stat, path)


def walk(top, topdown=True, onerror=None):
    """Folders below one, with the folders and files in each."""
    return os.walk(path_of("walk", top), topdown, onerror)


def join(path, *paths):
    """Parts of a name joined."""
    return os.path.join(path_of("join", path), *[path_of("join", p) for p in paths])


def make():
    """The module."""
    functions = (copy, rename, exists, isdir, glob, listdir, makedirs, mkdir, remove, rmtree, stat, walk, join)
    return _modules.make_module("io.gfile", {"GFile": GFile, **{f.__name__: f for f in functions}}, "tf.io.gfile")
