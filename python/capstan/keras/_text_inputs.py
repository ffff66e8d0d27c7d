"""Texts as inputs of models. They go through layers of texts first, outside of the library's model, whose inputs are the
numbers that these layers make."""
import numpy as np

from .. import _core, _texts, nest
from .._convert import convert_to_tensor
from .._core import Tensor, TensorShape


class SymbolicText:
    """What stands for texts in a functional model: `Input(shape, dtype="string")`. Layers of texts take it."""
    is_symbolic = True
    dtype = _texts.string

    def __init__(self, shape, batch_size, name):
        self.shape, self.name = TensorShape([batch_size, *shape]), name
        self._uses = []

    ndim = property(lambda self: len(self.shape))

    def __repr__(self):
        return f"<SymbolicText shape={tuple(self.shape)}, dtype=string, name={self.name}>"

    def __array__(self, *_given):
        raise TypeError(f"{self.name} stands for texts; layers of texts take it, such as TextVectorization, StringLookup and "
                        "Hashing, and give numbers")

    def example(self, count):
        """Texts of `count` words; open lengths are `count`, too."""
        shape = [count if n is None else n for n in (None, *self.shape[1:])]
        return _texts.TextTensor(np.full(shape, b" ".join([b"a"] * count), dtype=object))

    def fitted(self, given):
        """Texts of the rank of the input: an axis of length 1 at the end is put there or taken off, as Keras does."""
        given = given if isinstance(given, SymbolicText) else _texts.need_texts(given, self.name)
        if given.ndim == self.ndim:
            return given
        if isinstance(given, _texts.TextTensor):
            if given.ndim == self.ndim - 1 and self.shape[-1] == 1:
                return _texts.TextTensor(given._array[..., None])
            if given.ndim == self.ndim + 1 and given.shape[-1] == 1:
                return given[..., 0]
        raise ValueError(f"{self.name}: texts of shape {tuple(self.shape)} are needed, not {tuple(given.shape)}")


class _Use:
    """A layer of texts that is called on inputs of a model. `numbers`: what stands for the numbers that it makes of them."""

    def __init__(self, layer, parts):
        self.layer, self.parts = layer, parts
        # One that has not learned a vocabulary yet gives what any vocabulary would.
        waits = getattr(layer, "waits_for_vocabulary", False)
        likes = [layer.like_adapted(count) for count in (1, 2)] if waits else [layer, layer]
        made = [_called(like, [part.example(count) if isinstance(part, SymbolicText) else _zeros_of(part, count)
                               for part in parts]) for count, like in enumerate(likes, 1)]
        if not all(isinstance(numbers, Tensor) for numbers in made):
            raise ValueError(f"{layer.name}: in a model it has to give a tensor, not rows of different lengths")
        shape = [a if a == b else None for a, b in zip(*(numbers.shape for numbers in made))]
        name = "_".join([layer.name, "of", *(part.name for part in parts)])
        self.numbers = _core.make_input(tuple(shape[1:]), parts[0].shape[0], made[0].dtype, name)

    def call(self, given):
        """The numbers that the layer makes of the parts."""
        return _called(self.layer, given)


def _called(layer, given):
    return layer(given[0] if len(given) == 1 else tuple(given))


def _zeros_of(symbol, count):
    """Numbers for an input of a model; open lengths are `count`."""
    return convert_to_tensor(np.zeros([count, *(n or count for n in symbol.shape[1:])], symbol.dtype.as_numpy_dtype))


def numbers_of(layer, parts):
    """What stands for the numbers that a layer of texts makes of inputs of a model."""
    first = next(part for part in parts if isinstance(part, SymbolicText))
    for use in first._uses:
        if use.layer is layer and len(use.parts) == len(parts) and all(a is b for a, b in zip(use.parts, parts)):
            return use.numbers
    first._uses.append(_Use(layer, list(parts)))
    return first._uses[-1].numbers


class Front:
    """The way from what a model is given to the numbers that the library's model takes."""

    def __init__(self, inputs, outputs):
        self.inputs = inputs
        self._each = list(inputs.values()) if isinstance(inputs, dict) else nest.flatten(inputs)
        texts = [one for one in self._each if isinstance(one, SymbolicText)]
        needed = {source.name for source in _core.get_source_inputs(outputs)}
        self._uses = [use for text in texts for use in text._uses if use.numbers.name in needed]
        for text in texts:
            if not any(part is text for use in self._uses for part in use.parts):
                raise ValueError(f"Model: the outputs do not depend on the input {text.name} by layers of texts\n  help: call "
                                 "one, such as TextVectorization or StringLookup, on it")
        for use in self._uses:
            for part in use.parts:
                if not any(part is one for one in self._each):
                    raise ValueError(f"Model: the outputs depend on {part.name}, which is not among the inputs")

    @property
    def layers(self):
        """The layers of texts."""
        return list(dict.fromkeys(use.layer for use in self._uses))

    @property
    def numbers(self):
        """The inputs of the library's model."""
        return [one for one in self._each if not isinstance(one, SymbolicText)] + [use.numbers for use in self._uses]

    def __call__(self, given):
        """The numbers that stand for what is given."""
        given = {id(one): one.fitted(value) if isinstance(one, SymbolicText) else value
                 for one, value in zip(self._each, self._in_order(given))}
        found = [given[id(one)] for one in self._each if not isinstance(one, SymbolicText)]
        found += [use.call([given[id(part)] for part in use.parts]) for use in self._uses]
        return found[0] if len(found) == 1 else found

    def _in_order(self, given):
        count = len(self._each)
        if isinstance(given, dict):
            names = list(self.inputs) if isinstance(self.inputs, dict) else [one.name for one in self._each]
            if lacking := [name for name in names if name not in given]:
                raise ValueError(f"model: inputs are lacking: {lacking}; there are {list(given)}")
            return [given[name] for name in names]
        if count == 1 and not (isinstance(self.inputs, (list, tuple)) and isinstance(given, (list, tuple))
                               and len(given) == 1):
            return [given]
        if not isinstance(given, (list, tuple)) or len(given) != count:
            raise ValueError(f"model: {count} inputs are needed, as a list or by their names")
        return list(given)

    def batch(self, batch):
        """A batch of inputs, or of inputs, labels and weights."""
        if isinstance(batch, (list, tuple)):
            return (self(batch[0]), *batch[1:])
        return self(batch)


class SequentialFront(Front):
    """What makes numbers of texts at the beginning of a Sequential: a layer of texts, or a model that begins with one.
    `inputs`: what stands for the texts, None if their shape was not given."""
    layers = ()  # the Sequential lists them

    def __init__(self, inputs, first):
        self.inputs, self.first = inputs, first

    def __call__(self, given):
        first = self.first
        if first is None:
            raise ValueError("Sequential: no layer of texts comes after the input of texts")
        if self.inputs is not None:
            given = self.inputs.fitted(given)
        return vars(first).get("_front", first)(given)


class FrontBatches:
    """Batches whose texts have become numbers."""

    def __init__(self, front, batches):
        self._front, self._batches = front, batches

    def __iter__(self):
        return map(self._front.batch, self._batches)

    def __len__(self):
        return len(self._batches)
