"""Runs a script in which "tensorflow" and "keras" are this package: `python -m capstan.as_tensorflow script.py`.

Nothing is installed under those names. Who wants them in a process of their own calls capstan.install_as_tensorflow()
before the first import.
"""
import importlib
import importlib.abc
import importlib.util
import sys

_ROOTS = {"tensorflow": "capstan", "keras": "capstan.keras"}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        root, _, rest = name.partition(".")
        if root not in _ROOTS:
            return None
        own = _ROOTS[root] + ("." + rest if rest else "")
        try:
            module = importlib.import_module(own)
        except ModuleNotFoundError:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=hasattr(module, "__path__") or bool(
            [n for n in sys.modules if n.startswith(own + ".")]))

    def create_module(self, spec):
        root, _, rest = spec.name.partition(".")
        return importlib.import_module(_ROOTS[root] + ("." + rest if rest else ""))

    def exec_module(self, module):
        """It has been run under its own name."""


def install():
    """From now on `import tensorflow` and `import keras` give this package in this process."""
    import capstan
    capstan.__version__ = capstan.version.VERSION.split()[0]  # programs compare it with versions of TensorFlow
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def main():
    import runpy
    if len(sys.argv) < 2:
        sys.exit("usage: python -m capstan.as_tensorflow script.py [arguments]")
    install()
    sys.argv = sys.argv[1:]
    import os
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
