"""tf.Module: what has variables."""
import contextlib

from ._core import Variable


class Module:
    """What a class of one's own derives from to have its variables found, in attributes and in lists and dicts of them."""

    def __init__(self, name=None):
        self._name = name or type(self).__name__.lower()

    @property
    def name(self):
        return getattr(self, "_name", type(self).__name__.lower())

    @property
    def name_scope(self):
        """A context for names, which are not used."""
        return contextlib.nullcontext(self.name + "/")

    def _leaves(self):
        seen, stack = set(), [self]
        while stack:
            item = stack.pop()
            if id(item) in seen:
                continue
            seen.add(id(item))
            if isinstance(item, Variable):
                yield item
            elif isinstance(item, (list, tuple)):
                stack.extend(reversed(item))
            elif isinstance(item, dict):
                stack.extend(item[key] for key in sorted(item, key=str, reverse=True))
            elif isinstance(item, Module):
                yield item
                stack.extend(value for _, value in sorted(vars(item).items(), reverse=True))
            elif hasattr(item, "_ensure_handle"):
                yield item

    @property
    def variables(self):
        """The variables of the module and of what it holds."""
        found = []
        for leaf in self._leaves():
            if isinstance(leaf, Variable):
                found.append(leaf)
            elif not isinstance(leaf, Module):
                found.extend(leaf.variables)
        return tuple({id(v): v for v in found}.values())

    @property
    def trainable_variables(self):
        """Those that are trained."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self):
        """Those that are not."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self):
        """The modules that it holds, at any depth."""
        return tuple(leaf for leaf in self._leaves() if isinstance(leaf, Module) and leaf is not self)

    @classmethod
    def with_name_scope(cls, method):
        """The method itself: names are not scoped."""
        return method
