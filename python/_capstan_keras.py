"""Lets Keras 3 find the backend `capstan`.

Keras knows its backends by name in five modules, most of which end a chain of names with an error. While they are
imported the name becomes known to them: these errors become imports of capstan.keras_backend. `_capstan_keras.pth`
installs this when a process starts in which KERAS_BACKEND is capstan; it imports nothing else then.
"""
import importlib.machinery
import importlib.util
import os
import re
import sys

# The last branch of the first chain of names.
ERROR = re.compile(r"^else:\n    raise \w+\((?:[^()]|\([^()]*\))*\)\n", re.MULTILINE)
# What stands in its place, module by module.
INSTEAD = {
    "keras.src.backend": "from capstan.keras_backend import *\n"
                         "    from capstan.keras_backend.core import Variable as BackendVariable\n"
                         "    distribution_lib = None",
    "keras.src.models.model": "from capstan.keras_backend.trainer import CapstanTrainer as Trainer",
    "keras.src.layers.layer": "from capstan.keras_backend.layer import CapstanLayer as BackendLayer",
    "keras.src.export.saved_model": "from capstan.keras_backend.export import CapstanExportArchive as "
                                    "BackendSavedModelExportArchive",
}
CHANGES = {name: (ERROR, f"else:\n    {text}\n") for name, text in INSTEAD.items()}
# Layers of preprocessing look functions up by the backend's name at each call; a name they do not know gives None.
LOOKUP = "    def __getattr__(self, name):\n"
CHANGES["keras.src.utils.backend_utils"] = (
    re.compile(re.escape(LOOKUP)),
    LOOKUP + '        if self._backend == "capstan":\n            return getattr(backend_module, name)\n')


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        pattern, change = CHANGES[fullname]
        text, count = pattern.subn(lambda _: change, self.get_data(self.path).decode(), count=1)
        if count != 1:
            raise ImportError(f"capstan: this version of Keras knows its backends in another way ({fullname})\n"
                              "  help: the backend is for Keras 3.15")
        return compile(text, self.path, "exec", dont_inherit=True)


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in CHANGES or os.environ.get("KERAS_BACKEND") != "capstan":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not spec.origin:
            return None
        return importlib.util.spec_from_file_location(
            name, spec.origin, loader=_Loader(name, spec.origin),
            submodule_search_locations=spec.submodule_search_locations)


def install():
    """From now on Keras's backend can be capstan, which KERAS_BACKEND has to say."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
