# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import RaggedTensor as RaggedTensor
from capstan import Tensor as Tensor
from capstan.data import experimental as experimental
from capstan import nest as nest

class Dataset:
    """A sequence of elements, which are tensors or structures of them."""
    def __init__(self, node: Any, form: Any = None) -> None: ...
    def apply(self, transformation_func: Any) -> Any:
        """What a function makes of the dataset."""
        ...
    def as_numpy_iterator(self) -> Any:
        """Elements as arrays."""
        ...
    def batch(self, batch_size: Any, drop_remainder: _b.bool = False, num_parallel_calls: Any = None, deterministic: Any = None, name: _b.str | None = None) -> Any:
        """Consecutive elements joined."""
        ...
    def bucket_by_sequence_length(self, element_length_func: Any, bucket_boundaries: Any, bucket_batch_sizes: Any, padded_shapes: Any = None, padding_values: Any = None, pad_to_bucket_boundary: _b.bool = False, no_padding: _b.bool = False, drop_remainder: _b.bool = False, name: _b.str | None = None) -> Any:
        """Batches of elements of about the same length: those below the first boundary, below the second, ..., the rest."""
        ...
    def cache(self, filename: _b.str | Any = '', name: _b.str | None = None) -> Any:
        """Elements are kept when they have been made once, in memory or in a folder of this name."""
        ...
    def cardinality(self) -> Any:
        """The number of elements, -1 for a dataset without end, -2 if only a pass tells."""
        ...
    @staticmethod
    def choose_from_datasets(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: _b.bool = True) -> Any:
        """Elements of several datasets, each from the one whose number the other dataset gives."""
        ...
    def concatenate(self, dataset: Any, name: _b.str | None = None) -> Any:
        """This dataset, then another one."""
        ...
    @staticmethod
    def counter(start: _b.int | Any = 0, step: _b.int | Any = 1, dtype: _b.str | Any = 'int64', name: _b.str | None = None) -> Any:
        """Numbers without end."""
        ...
    element_spec: Any
    def enumerate(self, start: _b.int | Any = 0, name: _b.str | None = None) -> Any:
        """Elements with their numbers."""
        ...
    def filter(self, predicate: Any, name: _b.str | None = None) -> Any:
        """The elements of which a function is true. It is traced as that of map."""
        ...
    def flat_map(self, map_func: Any, name: _b.str | None = None) -> Any:
        """The elements of the datasets that a function makes of the elements, one dataset after the other."""
        ...
    @staticmethod
    def from_generator(generator: Any, output_types: Any = None, output_shapes: Any = None, args: Any = ..., output_signature: Any = None, name: _b.str | None = None) -> Any:
        """What a function that makes iterators gives."""
        ...
    @staticmethod
    def from_tensor_slices(tensors: Any, name: _b.str | None = None) -> Any:
        """The rows of tensors, in their structure."""
        ...
    @staticmethod
    def from_tensors(tensors: Any, name: _b.str | None = None) -> Any:
        """One element."""
        ...
    def get_single_element(self, name: _b.str | None = None) -> Any:
        """The element of a dataset that has one."""
        ...
    def group_by_window(self, key_func: Any, reduce_func: Any, window_size: Any = None, window_size_func: Any = None, name: _b.str | None = None) -> Any:
        """Elements of one key together: what `reduce_func(key, dataset)` makes of each `window_size` of them."""
        ...
    def ignore_errors(self, log_warning: _b.bool = False, name: _b.str | None = None) -> Any:
        """The elements without those at which a function of Python raises."""
        ...
    def interleave(self, map_func: Any, cycle_length: Any = None, block_length: Any = None, num_parallel_calls: Any = None, deterministic: Any = None, name: _b.str | None = None) -> Any:
        """The elements of the datasets that a function makes of the elements: `block_length` (1) of each of `cycle_length`"""
        ...
    @staticmethod
    def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None, name: _b.str | None = None) -> Any:
        """The names of files that match patterns, as texts, sorted or in an order that is drawn."""
        ...
    @staticmethod
    def load(path: Any, element_spec: Any = None, compression: Any = None, reader_func: Any = None, wait: _b.bool = False) -> Any:
        """The elements that Dataset.save has written."""
        ...
    def map(self, map_func: Any, num_parallel_calls: Any = None, deterministic: Any = None, synchronous: Any = None, use_unbounded_threadpool: _b.bool = False, name: _b.str | None = None) -> Any:
        """What a function makes of the elements. It is traced, as by tf.function, or called for each element."""
        ...
    def options(self) -> Any:
        """Options without a setting."""
        ...
    def padded_batch(self, batch_size: Any, padded_shapes: Any = None, padding_values: Any = None, drop_remainder: _b.bool = False, name: _b.str | None = None) -> Any:
        """Consecutive elements joined, padded behind to the longest of the batch, or to `padded_shapes`."""
        ...
    def prefetch(self, buffer_size: Any = None, name: _b.str | None = None) -> Any:
        """Elements are made ahead; those of functions of Python when they are asked for."""
        ...
    def ragged_batch(self, batch_size: Any, drop_remainder: _b.bool = False, row_splits_dtype: _b.str | Any = 'int64', name: _b.str | None = None) -> Any:
        """Consecutive elements as RaggedTensors, whose rows they are; scalars as tensors."""
        ...
    @staticmethod
    def random(seed: Any = None, rerandomize_each_iteration: Any = None, name: _b.str | None = None) -> Any:
        """Numbers from 0 to 2^32 - 1 without end, those of TensorFlow for a seed."""
        ...
    @staticmethod
    def range(*args: Any, output_type: Any = None, name: _b.str | None = None) -> Tensor:
        """Numbers, as those of Python's range."""
        ...
    def rebatch(self, batch_size: Any, drop_remainder: _b.bool = False, name: _b.str | None = None) -> Any:
        """The same rows in batches of another size, or of several sizes in turn."""
        ...
    def reduce(self, initial_state: Any, reduce_func: Any, name: _b.str | None = None) -> Any:
        """What a function makes of a state and the elements, one after the other."""
        ...
    def rejection_resample(self, class_func: Any, target_dist: Any, initial_dist: Any = None, seed: Any = None, name: _b.str | None = None) -> Any:
        """Pairs of a class and an element, some of which are left out or come again, so that classes come as often as"""
        ...
    def repeat(self, count: Any = None, name: _b.str | None = None) -> Tensor:
        """The dataset several times, without end unless told."""
        ...
    @staticmethod
    def sample_from_datasets(datasets: Any, weights: Any = None, seed: Any = None, stop_on_empty_dataset: _b.bool = False, rerandomize_each_iteration: Any = None) -> Any:
        """Elements of several datasets, each drawn from one of them, as TensorFlow does for the same seed."""
        ...
    def save(self, path: Any, compression: Any = None, shard_func: Any = None, checkpoint_args: Any = None) -> None:
        """Writes all elements to a folder, for Dataset.load. It is not of TensorFlow's form."""
        ...
    def scan(self, initial_state: Any, scan_func: Any, name: _b.str | None = None) -> Any:
        """What a function makes of a state and each element: it gives the next state and an element."""
        ...
    def shard(self, num_shards: Any, index: Any, name: _b.str | None = None) -> Any:
        """Every so-manieth element."""
        ...
    def shuffle(self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: _b.bool = True, name: _b.str | None = None) -> Tensor:
        """Elements in an order that is drawn, from a buffer."""
        ...
    def skip(self, count: Any, name: _b.str | None = None) -> Any:
        """All but the first elements."""
        ...
    def snapshot(self, path: Any, compression: _b.str | Any = 'AUTO', reader_func: Any = None, shard_func: Any = None, name: _b.str | None = None) -> Any:
        """The elements, which the first whole pass writes to a folder, and which are read from there once it is there."""
        ...
    def take(self, count: Any, name: _b.str | None = None) -> Any:
        """The first elements."""
        ...
    def take_while(self, predicate: Any, name: _b.str | None = None) -> Any:
        """The elements before the first one of which a function is false."""
        ...
    def unbatch(self, name: _b.str | None = None) -> Any:
        """The rows of the elements."""
        ...
    def unique(self, name: _b.str | None = None) -> _b.tuple[Tensor, Tensor]:
        """Each element once, where it comes first. Elements are scalars."""
        ...
    def window(self, size: Any, shift: Any = None, stride: _b.int | Any = 1, drop_remainder: _b.bool = False, name: _b.str | None = None) -> Any:
        """Datasets of consecutive elements: `size` of them, `stride` apart, a new one every `shift` elements."""
        ...
    def with_options(self, options: Any, name: _b.str | None = None) -> Any:
        """The dataset itself: no option changes what it gives."""
        ...
    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: _b.str | None = None) -> Any:
        """Elements of several datasets side by side."""
        ...
    def __iter__(self) -> Iterator[Any]: ...
class Options:
    """Options of datasets. None changes what a dataset gives: they are taken and kept. A name that was not set is a group"""
    def __init__(self) -> None: ...
class TextTensor:
    """Texts of a shape, each a string of bytes: what `tf.constant` makes of str and bytes. `numpy()` is one bytes object,"""
    def __init__(self, array: Any) -> None: ...
    device: Any
    dtype: Any
    def get_shape(self) -> Any: ...
    is_symbolic: Any
    name: Any
    ndim: Any
    def numpy(self) -> Any:
        """The texts: bytes, or an array of objects that are bytes."""
        ...
    shape: Any
    def __iter__(self) -> Iterator[Any]: ...
class CsvDataset(Dataset):
    """The rows of tables as tuples of scalars, with a dtype or a default for each column."""
    def __init__(self, filenames: Any, record_defaults: Any, compression_type: Any = None, buffer_size: Any = None, header: _b.bool = False, field_delim: _b.str | Any = ',', use_quote_delim: _b.bool = True, na_value: _b.str | Any = '', select_cols: Any = None, exclude_cols: Any = None) -> None: ...
class FixedLengthRecordDataset(Dataset):
    """Records of one length of binary files, as texts."""
    def __init__(self, filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None, buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None, name: _b.str | None = None) -> None: ...
class TFRecordDataset(Dataset):
    """The records of TFRecord files, as texts."""
    def __init__(self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None, name: _b.str | None = None) -> None: ...
class TextLineDataset(Dataset):
    """The lines of text files, without their ends, as texts."""
    def __init__(self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None, name: _b.str | None = None) -> None: ...
AUTOTUNE: _b.int
INFINITE_CARDINALITY: _b.int
UNKNOWN_CARDINALITY: _b.int
def convert_to_tensor(value: Any, dtype: Any = None, dtype_hint: Any = None, name: _b.str | None = None, preferred_dtype: Any = None) -> Tensor:
    """A tensor of anything that can become one; with `dtype` of that dtype, or an error."""
    ...
def refuse(function: Any, **given: Any) -> Any:
    """Raises for an argument with a value that the function does not have: `name=(value, what it may be, ...)`."""
    ...
