"""Layers of texts: TextVectorization, StringLookup, and where they are given texts Hashing and HashedCrossing; with
IntegerLookup, which has a vocabulary as well. They take texts outside of models."""
import numpy as np

from .. import _core, _texts
from .._convert import convert_to_tensor
from ..ragged import RaggedTensor
from ._layers import LibraryLayer
from ._text_inputs import SymbolicText, numbers_of


def _parts(value, name):
    """Texts as the library takes them: all of them and their shape, or rows and None."""
    if isinstance(value, RaggedTensor):
        return [list(_texts.need_texts(row, name)._array) for row in value], None
    array = _texts.need_texts(value, name)._array
    return list(array.ravel()), list(array.shape)


def _is_dataset(data):
    return hasattr(data, "batch") and hasattr(data, "take")


class VocabularyLayer(LibraryLayer):
    """A layer with a vocabulary."""
    _is_own_class = False

    def get_vocabulary(self, include_special_tokens=True):
        """The token of each place, or the vocabulary alone."""
        tokens = _core.vocabulary_of(self._library, bool(include_special_tokens))
        return [t.decode("utf-8", "surrogateescape") if isinstance(t, bytes) else t for t in tokens]

    def set_vocabulary(self, vocabulary, idf_weights=None):
        """Replaces the vocabulary: a list, or the name of a file with a token in each line. It may begin with the special
        tokens."""
        if isinstance(vocabulary, str):
            with open(vocabulary, "rb") as file:
                vocabulary = [line.rstrip(b"\r\n") for line in file]
        found = _texts.texts_of(list(vocabulary)) if len(vocabulary) else None
        tokens = [int(t) for t in np.asarray(vocabulary).ravel()] if self._name == "IntegerLookup" else (
            [] if found is None else list(found._array))
        _core.set_vocabulary(self._library, tokens, [] if idf_weights is None else [float(w) for w in idf_weights])

    @property
    def waits_for_vocabulary(self):
        """Whether it cannot be called before adapt() or set_vocabulary()."""
        return not self.get_vocabulary(include_special_tokens=False)

    def like_adapted(self, count):
        """A layer of the same options with `count` tokens."""
        layer = type(self).from_config(self.get_config())
        weights = [1.0] * count if self._given.get("output_mode") == "tf_idf" else None
        layer.set_vocabulary(["a", "b"][:count] if self._takes_texts else list(range(1, count + 1)), weights)
        return layer

    def vocabulary_size(self):
        """The number of places, with the special ones."""
        return _core.vocabulary_size(self._library)

    def adapt(self, data, batch_size=None, steps=None):
        """Makes a vocabulary of the tokens of data, texts or a dataset of batches of them, the most frequent first."""
        del batch_size
        if not _is_dataset(data):
            return self._learn(data)
        self.reset_state()
        for batch in data if steps is None else data.take(steps):
            self.update_state(batch)
        self.finalize_state()

    def _learn(self, data):
        _core.adapt_text_layer(self._library, *_parts(self._standard(data), self._name))

    def reset_state(self):
        """Forgets what adapt() has learned."""
        _core.reset_text_layer(self._library)

    def update_state(self, data):
        """Counts the tokens of one batch."""
        _core.update_text_layer(self._library, *_parts(self._standard(data), self._name))

    def finalize_state(self):
        """Makes the vocabulary of what was counted."""
        _core.finalize_text_layer(self._library)

    def _standard(self, texts):
        """The texts as the library takes them."""
        return texts

    _takes_texts = True

    def _gives_ids(self):
        """Whether each token has an id, in its place."""
        return False

    def __call__(self, inputs, *args, **kwargs):
        if isinstance(inputs, _core.Tensor):
            return super().__call__(inputs, *args, **kwargs)  # the library's error
        if isinstance(inputs, SymbolicText):
            return numbers_of(self, [inputs])
        if isinstance(inputs, RaggedTensor) and self._gives_ids():
            return inputs.with_flat_values(self(inputs.flat_values))
        return _core.call_text_layer(self._library, *_parts(self._standard(inputs), self._name))


class StringLookupLayer(VocabularyLayer):
    """StringLookup."""

    _takes_texts = property(lambda self: not self._given.get("invert"))

    def _gives_ids(self):
        return self._given.get("output_mode", "int") == "int"

    def __call__(self, inputs, *args, **kwargs):
        if not self._given.get("invert"):
            return super().__call__(inputs, *args, **kwargs)
        if isinstance(inputs, RaggedTensor):
            return inputs.with_flat_values(self(inputs.flat_values))
        return _core.lookup_texts(self._library, convert_to_tensor(inputs))


class TextVectorizationLayer(VocabularyLayer):
    """TextVectorization. Functions of texts that make them even or split them are called here; the library does the rest."""

    def __init__(self, *args, **kwargs):
        given = self._bind(args, kwargs)
        object.__setattr__(self, "_functions", {k: given[k] for k in ("standardize", "split") if callable(given.get(k))})
        super().__init__(**{**given, **dict.fromkeys(self._functions)})

    def get_config(self):
        return {**super().get_config(), **self.__dict__.get("_functions", {})}

    def _standard(self, texts):
        functions = self.__dict__.get("_functions", {})
        if not functions:
            return texts
        texts = _texts.need_texts(texts, self._name)
        if "split" in functions and "standardize" not in functions:
            raise ValueError("TextVectorization: a function for `split` needs one for `standardize`")
        if texts.ndim == 2 and texts.shape[1] == 1:
            texts = texts[:, 0]
        texts = functions["standardize"](texts) if "standardize" in functions else texts
        return functions["split"](texts) if "split" in functions else texts


class IntegerLookupLayer(VocabularyLayer):
    """IntegerLookup."""
    _takes_texts = False
    __call__ = LibraryLayer.__call__

    def adapt(self, data, batch_size=None, steps=None):
        """Makes a vocabulary of integers, or of a dataset of batches of them, the most frequent first."""
        del batch_size
        if _is_dataset(data):
            batches = [np.asarray(batch) for batch in (data if steps is None else data.take(steps))]
            if self._given.get("output_mode") == "tf_idf" and any(b.ndim < 2 for b in batches):
                raise ValueError("IntegerLookup: with tf_idf a dataset gives rows, which are the documents")
            data = np.concatenate([np.atleast_1d(b) for b in batches])
        _core.adapt_ids(self._library, convert_to_tensor(data))


class HashingLayer(LibraryLayer):
    """Hashing."""
    _is_own_class = False

    def __call__(self, inputs, *args, **kwargs):
        if isinstance(inputs, SymbolicText):
            return numbers_of(self, [inputs])
        found = _texts.texts_of(inputs)
        if found is None:
            return super().__call__(inputs, *args, **kwargs)
        return _core.call_text_layer(self._library, *_parts(found, self._name))


class HashedCrossingLayer(LibraryLayer):
    """HashedCrossing."""
    _is_own_class = False

    def __call__(self, inputs, *args, **kwargs):
        if any(isinstance(f, SymbolicText) for f in inputs):
            return numbers_of(self, inputs)
        if all(isinstance(f, _core.Tensor) for f in inputs):
            return super().__call__(inputs, *args, **kwargs)
        features = [(f, _texts.texts_of(f)) for f in inputs]
        return _core.hashed_crossing(self._library, [convert_to_tensor(f) if found is None else _parts(found, self._name)
                                                    for f, found in features])


BASES = {"TextVectorization": TextVectorizationLayer, "StringLookup": StringLookupLayer,
         "IntegerLookup": IntegerLookupLayer, "Hashing": HashingLayer, "HashedCrossing": HashedCrossingLayer}
