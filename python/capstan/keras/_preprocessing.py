"""keras.preprocessing: names of earlier versions of Keras for what is in keras.utils, and the tokenizer of its scripts."""
import collections

import numpy as np

from .. import _modules
from . import _utils

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(input_text, filters=_FILTERS, lower=True, split=" "):
    """The words of a text, in lower case and without the characters of `filters`."""
    text = input_text.lower() if lower else input_text
    text = text.translate(str.maketrans({c: split for c in filters}))
    return [word for word in text.split(split) if word]


def one_hot(input_text, n, filters=_FILTERS, lower=True, split=" ", analyzer=None):
    """A number from 1 to n - 1 for each word of a text, by a hash."""
    words = text_to_word_sequence(input_text, filters, lower, split) if analyzer is None else analyzer(input_text)
    import hashlib
    return [int(hashlib.md5(word.encode()).hexdigest(), 16) % (n - 1) + 1 for word in words]


class Tokenizer:
    """Texts as lists of the numbers of their words, of which the most frequent one is 1; 0 is left for padding.

        tokenizer = tf.keras.preprocessing.text.Tokenizer(num_words=1000, oov_token="<OOV>")
        tokenizer.fit_on_texts(texts)
        rows = tf.keras.preprocessing.sequence.pad_sequences(tokenizer.texts_to_sequences(texts))
    """

    def __init__(self, num_words=None, filters=_FILTERS, lower=True, split=" ", char_level=False, oov_token=None,
                 analyzer=None):
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.word_counts, self.word_docs = collections.OrderedDict(), collections.defaultdict(int)
        self.index_docs, self.document_count = collections.defaultdict(int), 0
        self.word_index, self.index_word = {}, {}

    def _words(self, text):
        if isinstance(text, list):
            return [word.lower() for word in text] if self.lower else text
        if self.char_level:
            return list(text.lower() if self.lower else text)
        if self.analyzer is not None:
            return self.analyzer(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts):
        """Counts the words of texts and gives them numbers."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        order = sorted(self.word_counts.items(), key=lambda item: item[1], reverse=True)
        names = ([] if self.oov_token is None else [self.oov_token]) + [word for word, _ in order]
        self.word_index = {word: i for i, word in enumerate(names, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def texts_to_sequences(self, texts):
        """The numbers of the words of each text."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts):
        """The numbers of the words of each text, one text after the other."""
        unknown = self.word_index.get(self.oov_token)
        for text in texts:
            numbers = []
            for word in self._words(text):
                number = self.word_index.get(word)
                if number is None or self.num_words and number >= self.num_words:
                    number = unknown
                if number is not None:
                    numbers.append(number)
            yield numbers

    def sequences_to_texts(self, sequences):
        """The words of lists of numbers."""
        unknown = self.word_index.get(self.oov_token)

        def word_of(number):
            word = self.index_word.get(number)
            if word is None or self.num_words and number >= self.num_words:
                return self.index_word.get(unknown)
            return word
        return [" ".join(word for word in map(word_of, row) if word is not None) for row in sequences]

    def texts_to_matrix(self, texts, mode="binary"):
        """A row for each text, with a column for each word."""
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode)

    def sequences_to_matrix(self, sequences, mode="binary"):
        """A row for each list of numbers: whether a word is there, or "count", "freq", "tfidf"."""
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError(f"Tokenizer: mode must be 'binary', 'count', 'freq' or 'tfidf', not {mode!r}")
        if not self.num_words and not self.word_index:
            raise ValueError("Tokenizer: num_words is needed, or fit_on_texts()")
        columns = self.num_words or len(self.word_index) + 1
        made = np.zeros((len(sequences), columns))
        for row, numbers in zip(made, sequences):
            for number, count in collections.Counter(n for n in numbers if n < columns).items():
                if mode == "tfidf":
                    weight = np.log(1 + self.document_count / (1 + self.index_docs.get(number, 0)))
                    row[number] = (1 + np.log(count)) * weight
                else:
                    row[number] = {"binary": 1, "count": count, "freq": count / len(numbers)}[mode]
        return made

    def get_config(self):
        """What the tokenizer was made with and what it has counted, texts of JSON among it."""
        import json
        return {"num_words": self.num_words, "filters": self.filters, "lower": self.lower, "split": self.split,
                "char_level": self.char_level, "oov_token": self.oov_token, "document_count": self.document_count,
                "word_counts": json.dumps(self.word_counts), "word_docs": json.dumps(self.word_docs),
                "index_docs": json.dumps(self.index_docs), "index_word": json.dumps(self.index_word),
                "word_index": json.dumps(self.word_index)}

    def to_json(self, **kwargs):
        """The configuration as JSON, for tokenizer_from_json."""
        import json
        return json.dumps({"class_name": "Tokenizer", "config": self.get_config()}, **kwargs)


def tokenizer_from_json(json_string):
    """The tokenizer of what to_json() gave."""
    import json
    config = json.loads(json_string)["config"]
    counted = {name: json.loads(config.pop(name))
               for name in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")}
    document_count = config.pop("document_count")
    made = Tokenizer(**config)
    made.document_count, made.word_counts = document_count, collections.OrderedDict(counted["word_counts"])
    made.word_docs.update(counted["word_docs"])
    made.word_index = counted["word_index"]
    made.index_docs.update({int(k): v for k, v in counted["index_docs"].items()})
    made.index_word = {int(k): v for k, v in counted["index_word"].items()}
    return made


def make_sampling_table(size, sampling_factor=1e-5):
    """For words by rank, the most frequent first, how likely each is kept when frequent ones are thinned out; the ranks are
    taken to follow Zipf's law."""
    rank = np.arange(size)
    rank[:1] = 1
    gamma = 0.577
    inverse = rank * (np.log(rank) + gamma) + 0.5 - 1.0 / (12.0 * rank)
    share = sampling_factor * inverse
    return np.minimum(1.0, share / np.sqrt(share))


def skipgrams(sequence, vocabulary_size, window_size=4, negative_samples=1.0, shuffle=True, categorical=False,
              sampling_table=None, seed=None):
    """Pairs of words that are at most `window_size` apart, labelled 1, and pairs of a word and one that is drawn, 0."""
    draws = np.random.default_rng(seed)
    couples = []
    for i, word in enumerate(sequence):
        if not word or sampling_table is not None and sampling_table[word] < draws.random():
            continue
        near = range(max(0, i - window_size), min(len(sequence), i + window_size + 1))
        couples += [[word, sequence[j]] for j in near if j != i and sequence[j]]
    labels = [[0, 1] if categorical else 1] * len(couples)
    count = int(len(labels) * negative_samples)
    if count > 0:
        words = [couple[0] for couple in couples]
        draws.shuffle(words)
        couples += [[words[i % len(words)], int(draws.integers(1, vocabulary_size))] for i in range(count)]
        labels += [[1, 0] if categorical else 0] * count
    if shuffle:
        order = draws.permutation(len(couples))
        couples, labels = [couples[i] for i in order], [labels[i] for i in order]
    return couples, labels


def _module(name, names):
    return _modules.make_module(f"keras.preprocessing.{name}", names, f"tf.keras.preprocessing.{name}")


_F = _utils.FUNCTIONS
preprocessing = _modules.make_module("keras.preprocessing", {
    "text": _module("text", {f.__name__: f for f in (text_to_word_sequence, one_hot, Tokenizer, tokenizer_from_json)}),
    "sequence": _module("sequence", {"pad_sequences": _F["pad_sequences"], "skipgrams": skipgrams,
                                     "make_sampling_table": make_sampling_table}),
    "image": _module("image", {name: _F[name] for name in ("load_img", "img_to_array", "array_to_img", "save_img")}),
    **{name: _F[name] for name in ("image_dataset_from_directory", "text_dataset_from_directory",
                                   "timeseries_dataset_from_array")}}, "tf.keras.preprocessing")
