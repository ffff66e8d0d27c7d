# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.io import GFile as GFile

def copy(src: Any, dst: Any, overwrite: _b.bool = False) -> Any:
    """Copies a file."""
    ...
def exists(path: Any) -> Any:
    """Whether there is a file or folder of this name."""
    ...
def glob(pattern: Any) -> Any:
    """The names of files that match a pattern, or any of several, sorted."""
    ...
def isdir(path: Any) -> Any:
    """Whether there is a folder of this name."""
    ...
def join(path: Any, *paths: Any) -> Any:
    """Parts of a name joined."""
    ...
def listdir(path: Any) -> Any:
    """The names in a folder."""
    ...
def makedirs(path: Any) -> Any:
    """Makes a folder and those above it."""
    ...
def mkdir(path: Any) -> Any:
    """Makes a folder."""
    ...
def remove(path: Any) -> Any:
    """Deletes a file."""
    ...
def rename(src: Any, dst: Any, overwrite: _b.bool = False) -> Any:
    """Gives a file another name."""
    ...
def rmtree(path: Any) -> Any:
    """Deletes a folder with all that is in it."""
    ...
def stat(path: Any) -> Any:
    """What the system knows of a file."""
    ...
def walk(top: Any, topdown: _b.bool = True, onerror: Any = None) -> Any:
    """Folders below one, with the folders and files in each."""
    ...
