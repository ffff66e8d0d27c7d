"""tf.data: datasets. The pipeline is the library's; elements are structures of tensors."""
import operator
import os

import numpy as np

from . import _core, _csv_datasets, _dataset_functions, _element_specs, _modules, nest
from ._convert import convert_to_tensor, refuse
from ._texts import TextTensor
from .ragged import RaggedTensor as _RaggedTensor
from .sparse import SparseTensor as _SparseTensor

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def _itself(element):
    return element


class _Iterator(map):
    """A pass over a dataset."""

    def get_next(self):
        """The next element. Errors: OutOfRangeError after the last one."""
        try:
            return next(self)
        except StopIteration:
            raise _modules.errors.OutOfRangeError("End of sequence") from None

    next = get_next
    element_spec = property(lambda self: self._dataset.element_spec)


class Dataset:
    """A sequence of elements, which are tensors or structures of them."""

    _spec = None

    def __init__(self, node, form=None):
        self._node, self._form = node, form

    # --- sources ---

    @staticmethod
    def from_tensor_slices(tensors, name=None):
        """The rows of tensors, in their structure."""
        element = _as_element(tensors)
        leaves = nest.flatten(element)
        if _are_tensors(leaves):
            return Dataset(_core.dataset_of_slices(leaves), _form_of(element))
        counts = [0 if leaf.shape.rank == 0 else leaf.shape[0] for leaf in leaves]
        if not all(count == counts[0] for count in counts) or any(leaf.shape.rank == 0 for leaf in leaves):
            raise _core.ShapeError(f"from_tensor_slices: the shapes {[tuple(leaf.shape) for leaf in leaves]} have not the "
                                   "same number of rows")
        return _dataset_functions._generated(
            lambda: (nest.pack_sequence_as(element, [leaf[i] for leaf in leaves]) for i in range(counts[0])), counts[0])

    @staticmethod
    def from_tensors(tensors, name=None):
        """One element."""
        element = _as_element(tensors)
        if not _are_tensors(nest.flatten(element)):
            return _dataset_functions._generated(lambda: iter([element]), 1)
        return Dataset(_core.dataset_of_slices([leaf[None] for leaf in nest.flatten(element)]), _form_of(element))

    @staticmethod
    def range(*args, output_type=None, name=None):
        """Numbers, as those of Python's range."""
        numbers = range(*[int(a) for a in args])
        dataset = Dataset(_core.dataset_of_range(numbers.start, numbers.stop, numbers.step), 0)
        if output_type is None:
            return dataset
        from ._ops import cast
        return dataset.map(lambda x: cast(x, output_type))

    @staticmethod
    def from_generator(generator, output_types=None, output_shapes=None, args=(), output_signature=None, name=None):
        """What a function that makes iterators gives. A signature, or types and shapes, says what the elements are; they
        are converted to it. Errors: TypeError for elements of another structure, ShapeError for those of another shape."""
        given = output_signature if output_signature is not None else output_types
        if given is None:
            return Dataset(_core.dataset_of_generator(lambda: map(_as_element, generator(*args))))
        spec = _element_specs.signature(given, output_shapes)
        made = Dataset(_core.dataset_of_generator(
            lambda: (_element_specs.matching(item, spec) for item in generator(*args))))
        made._spec = spec
        return made

    @staticmethod
    def zip(*args, datasets=None, name=None):
        """Elements of several datasets side by side."""
        datasets = args if datasets is None else (datasets,)
        structure = datasets[0] if len(datasets) == 1 and nest.is_nested(datasets[0]) else tuple(datasets)
        parts = nest.flatten(structure)
        if all(not d._node.is_structure for d in parts):
            form = nest.pack_sequence_as(structure, [d._form for d in parts])
            return Dataset(_core.dataset_zipped([d._node for d in parts]), form)
        counts = [d._node.cardinality for d in parts]
        finite = [count for count in counts if count != INFINITE_CARDINALITY]
        return _dataset_functions._generated(
            lambda: (nest.pack_sequence_as(structure, list(items)) for items in zip(*parts)),
            min(finite, default=INFINITE_CARDINALITY))

    # --- order and choice ---

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=True, name=None):
        """Elements in an order that is drawn, from a buffer."""
        reshuffle = True if reshuffle_each_iteration is None else reshuffle_each_iteration
        return Dataset(self._node.shuffle(int(buffer_size), seed, reshuffle), self._form)

    def repeat(self, count=None, name=None):
        """The dataset several times, without end unless told."""
        return Dataset(self._node.repeat(-1 if count is None else int(count)), self._form)

    def take(self, count, name=None):
        """The first elements."""
        return Dataset(self._node.take(int(count)), self._form)

    def skip(self, count, name=None):
        """All but the first elements."""
        return Dataset(self._node.skip(int(count)), self._form)

    def shard(self, num_shards, index, name=None):
        """Every so-manieth element."""
        return Dataset(self._node.shard(int(num_shards), int(index)), self._form)

    def concatenate(self, dataset, name=None):
        """This dataset, then another one."""
        (first, second), form = _dataset_functions.alike([self, dataset])
        return Dataset(first.concatenate(second), form)

    def cache(self, filename="", name=None):
        """Elements are kept when they have been made once, in memory or in a folder of this name."""
        if filename not in ("", None):
            return _dataset_functions._kept_in(self, filename, "")
        return Dataset(self._node.cache(), self._form)

    def prefetch(self, buffer_size=None, name=None):
        """Elements are made ahead; those of functions of Python when they are asked for."""
        if self._node.is_structure:
            return self
        return Dataset(self._node.prefetch(-1 if buffer_size is None else int(buffer_size)), self._form)

    # --- batches and functions ---

    def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None, name=None):
        """Consecutive elements joined."""
        return Dataset(self._node.batch(int(batch_size), drop_remainder), self._form)

    def unbatch(self, name=None):
        """The rows of the elements."""
        if not self._node.is_structure:
            return Dataset(self._node.unbatch(), self._form)

        def rows():
            for element in self:
                leaves = nest.flatten(element)
                for i in range(leaves[0].shape[0]):
                    yield nest.pack_sequence_as(element, [leaf[i] for leaf in leaves])
        return Dataset.from_generator(rows)

    def map(self, map_func, num_parallel_calls=None, deterministic=None, synchronous=None,
            use_unbounded_threadpool=False, name=None):
        """What a function makes of the elements. It is traced, as by tf.function, or called for each element."""
        call = self._calling("map", map_func)
        return Dataset(self._node.map(lambda parts: _as_element(call(parts)), 0))

    def filter(self, predicate, name=None):
        """The elements of which a function is true. It is traced as that of map."""
        return Dataset(self._node.filter(self._calling("filter", predicate)), self._form)

    def apply(self, transformation_func):
        """What a function makes of the dataset."""
        return transformation_func(self)

    def reduce(self, initial_state, reduce_func, name=None):
        """What a function makes of a state and the elements, one after the other."""
        traced = _dataset_functions.Traced("reduce", reduce_func)
        state = nest.map_structure(convert_to_tensor, initial_state)
        for element in self:
            state = traced(state, element)
        return state

    def enumerate(self, start=0, name=None):
        """Elements with their numbers."""
        return Dataset.zip((Dataset.range(start, 2**62), self))

    def with_options(self, options, name=None):
        """The dataset itself: no option changes what it gives."""
        return self

    def options(self):
        """Options without a setting."""
        return Options()

    def _calling(self, where, function):
        traced = _dataset_functions.Traced(where, function)
        form, is_structure = self._form, self._node.is_structure
        return lambda parts: _dataset_functions.call(traced, parts if is_structure else nest.pack_sequence_as(form, parts))

    # --- elements ---

    def __iter__(self):
        form = self._form
        if self._node.is_structure:
            make = _itself
        elif not nest.is_nested(form):
            make = operator.itemgetter(0)
        elif type(form) is tuple and not any(nest.is_nested(item) for item in form):
            make = tuple
        else:
            def make(parts):
                return nest.pack_sequence_as(form, parts)
        elements = _Iterator(make, opened := self._node.open())
        elements._dataset, elements._handle = self, opened
        return elements

    def as_numpy_iterator(self):
        """Elements as arrays."""
        return (nest.map_structure(lambda t: t.numpy(), element) for element in self)

    def cardinality(self):
        """The number of elements, -1 for a dataset without end, -2 if only a pass tells."""
        from ._dtypes import int64
        return convert_to_tensor(self._node.cardinality, dtype=int64)

    def __len__(self):
        count = self._node.cardinality
        if count < 0:
            raise TypeError("The dataset is infinite." if count == -1 else "The dataset length is unknown.")
        return count

    @property
    def element_spec(self):
        """What is known of the elements: what was said of those of a generator, or else from the first one."""
        from ._convert import TensorSpec
        if self._spec is not None:
            return self._spec
        for element in self:
            return nest.map_structure(TensorSpec.from_tensor, element)
        raise ValueError("element_spec: the dataset is empty, and only an element tells")

    def __repr__(self):
        return f"<Dataset of {self._node.cardinality} elements>"


def _as_element(structure):
    """A structure of tensors. Lists are no structures here: they are tensors, as in tf.data."""
    if isinstance(structure, dict):
        return {key: _as_element(value) for key, value in structure.items()}
    if isinstance(structure, tuple) and not isinstance(structure, _core.TensorShape):
        return _element_specs.tuple_like(structure, [_as_element(item) for item in structure])
    return structure if isinstance(structure, (_RaggedTensor, _SparseTensor)) else convert_to_tensor(structure)


def _are_tensors(leaves):
    """Whether the library holds them; texts and rows of different lengths are Python's."""
    return all(isinstance(leaf, _core.Tensor) for leaf in leaves)


def _form_of(structure):
    return nest.map_structure(lambda leaf: 0, structure)


class Options:
    """Options of datasets. None changes what a dataset gives: they are taken and kept. A name that was not set is a group
    of options, as in `options.threading.private_threadpool_size = 2`."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        group = Options()
        setattr(self, name, group)
        return group


def _files(filenames):
    """The names of files: a text, several, or a dataset of texts."""
    if isinstance(filenames, Dataset):
        filenames = list(filenames)
    items = filenames if isinstance(filenames, (list, tuple)) else list(filenames) if getattr(
        filenames, "ndim", 0) else [filenames]
    return [os.fspath(TextTensor(f) if isinstance(f, np.ndarray) else f) for f in items]


class TextLineDataset(Dataset):
    """The lines of text files, without their ends, as texts."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        del buffer_size  # how much is read at once is the library's choice
        super().__init__(_core.dataset_of_lines(_files(filenames), compression_type or "", _reads(num_parallel_reads)))


class TFRecordDataset(Dataset):
    """The records of TFRecord files, as texts.

        dataset = tf.data.TFRecordDataset("train.tfrecord").map(
            lambda record: tf.io.parse_single_example(record, {"x": tf.io.FixedLenFeature([2], tf.float32)}))
    """

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        del buffer_size
        super().__init__(_core.dataset_of_records(_files(filenames), compression_type or "", _reads(num_parallel_reads)))


class FixedLengthRecordDataset(Dataset):
    """Records of one length of binary files, as texts."""

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None,
                 compression_type=None, num_parallel_reads=None, name=None):
        del buffer_size
        refuse("FixedLengthRecordDataset", num_parallel_reads=(num_parallel_reads, None, AUTOTUNE))
        super().__init__(_core.dataset_of_fixed_records(
            _files(filenames), int(record_bytes), int(header_bytes or 0), int(footer_bytes or 0), compression_type or ""))


def _reads(num_parallel_reads):
    return None if num_parallel_reads in (None, AUTOTUNE) else int(num_parallel_reads)


for _function in _dataset_functions.METHODS:
    setattr(Dataset, _function.__name__, _function)
for _function in _dataset_functions.STATIC_METHODS:
    setattr(Dataset, _function.__name__, staticmethod(_function))


class CsvDataset(Dataset):
    """The rows of tables as tuples of scalars, with a dtype or a default for each column.

        tf.data.experimental.CsvDataset("table.csv", [tf.int32, [0.0]], header=True)
    """

    def __init__(self, filenames, record_defaults, compression_type=None, buffer_size=None, header=False, field_delim=",",
                 use_quote_delim=True, na_value="", select_cols=None, exclude_cols=None):
        rows = _csv_datasets.csv_dataset(filenames, record_defaults, compression_type, buffer_size, header, field_delim,
                                         use_quote_delim, na_value, select_cols, exclude_cols)
        super().__init__(rows._node)


def _experimental():
    from . import _modules

    def cardinality(dataset):
        """The number of elements, -1 for a dataset without end, -2 if only a pass tells; int64."""
        return dataset.cardinality()

    def assert_cardinality(expected_cardinality):
        """A function for Dataset.apply that says how many elements there are, which a pass checks."""
        return lambda dataset: _dataset_functions.assert_cardinality(dataset, expected_cardinality)

    def get_single_element(dataset):
        """The element of a dataset that has one."""
        return dataset.get_single_element()

    def ignore_errors(log_warning=False):
        """A function for Dataset.apply that leaves out elements at which a function of Python raises."""
        return lambda dataset: dataset.ignore_errors(log_warning)
    return _modules.make_module("data.experimental", {
        "CsvDataset": CsvDataset, "make_csv_dataset": _csv_datasets.make_csv_dataset, "AUTOTUNE": AUTOTUNE, "INFINITE_CARDINALITY": INFINITE_CARDINALITY, "UNKNOWN_CARDINALITY": UNKNOWN_CARDINALITY,
        **{f.__name__: f for f in (cardinality, assert_cardinality, get_single_element, ignore_errors)}},
        "tf.data.experimental")


experimental = _experimental()
