# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor

class Tokenizer:
    """Texts as lists of the numbers of their words, of which the most frequent one is 1; 0 is left for padding."""
    def __init__(self, num_words: Any = None, filters: _b.str | Any = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n', lower: _b.bool = True, split: _b.str | Any = ' ', char_level: _b.bool = False, oov_token: Any = None, analyzer: Any = None) -> None: ...
    def fit_on_texts(self, texts: Any) -> Any:
        """Counts the words of texts and gives them numbers."""
        ...
    def get_config(self) -> _b.dict[_b.str, Any]:
        """What the tokenizer was made with and what it has counted, texts of JSON among it."""
        ...
    def sequences_to_matrix(self, sequences: Any, mode: _b.str | Any = 'binary') -> Any:
        """A row for each list of numbers: whether a word is there, or "count", "freq", "tfidf"."""
        ...
    def sequences_to_texts(self, sequences: Any) -> Any:
        """The words of lists of numbers."""
        ...
    def texts_to_matrix(self, texts: Any, mode: _b.str | Any = 'binary') -> Any:
        """A row for each text, with a column for each word."""
        ...
    def texts_to_sequences(self, texts: Any) -> Any:
        """The numbers of the words of each text."""
        ...
    def texts_to_sequences_generator(self, texts: Any) -> Any:
        """The numbers of the words of each text, one text after the other."""
        ...
    def to_json(self, **kwargs: Any) -> Any:
        """The configuration as JSON, for tokenizer_from_json."""
        ...
def one_hot(input_text: Any, n: Any, filters: _b.str | Any = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n', lower: _b.bool = True, split: _b.str | Any = ' ', analyzer: Any = None) -> Tensor:
    """A number from 1 to n - 1 for each word of a text, by a hash."""
    ...
def text_to_word_sequence(input_text: Any, filters: _b.str | Any = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n', lower: _b.bool = True, split: _b.str | Any = ' ') -> Any:
    """The words of a text, in lower case and without the characters of `filters`."""
    ...
def tokenizer_from_json(json_string: Any) -> Any:
    """The tokenizer of what to_json() gave."""
    ...
