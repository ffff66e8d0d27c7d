"""Transformations of datasets that call functions of Python or whose elements are datasets. Each is a generator."""
import bisect
import itertools
import os
import warnings

import numpy as np

from . import _core, _element_files, _ops, _texts, nest
from ._convert import convert_to_tensor, refuse
from ._paths import matching, patterns_of


def call(function, element):
    """The parts of a tuple are arguments of their own."""
    return function(*element) if isinstance(element, tuple) else function(element)


class Traced:
    """A function of elements, traced once for each kind of them, as tf.function does; a second shape opens all lengths.
    One that cannot be traced is called for each element, which is said once; so is every function of elements that are
    not tensors alone (datasets, texts)."""

    def __init__(self, where, function):
        from ._control import function as traced
        self._where, self._function, self._traced = where, function, traced(function, reduce_retracing=True)

    def __call__(self, *arguments):
        if self._traced is not None and all(isinstance(leaf, _core.Tensor) for leaf in nest.flatten(arguments)):
            try:
                return self._traced(*arguments)
            except _core.TraceError as error:
                self._traced = None
                name = getattr(self._function, "__name__", type(self._function).__name__)
                warnings.warn(f"{self._where}: {name} is called for each element, since it cannot be traced: {error}",
                              stacklevel=2)
        return self._function(*arguments)


def _generated(make, count=-2):
    """A dataset of elements that are structures of tensors, datasets or texts already; -2: their number is not known."""
    from .data import Dataset
    node = _core.dataset_of_generator(make)
    return Dataset(node if count == -2 else node.with_cardinality(count))


def flat_map(self, map_func, name=None):
    """The elements of the datasets that a function makes of the elements, one dataset after the other."""
    return _generated(lambda: (item for element in self for item in call(map_func, element)))


def interleave(self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None, deterministic=None,
               name=None):
    """The elements of the datasets that a function makes of the elements: `block_length` (1) of each of `cycle_length`
    (1) in turn, in TensorFlow's order."""
    cycle, block = (1 if n is None else int(n) for n in (cycle_length, block_length))
    if cycle < 1 or block < 1:
        raise ValueError(f"interleave: cycle_length {cycle} and block_length {block} must be positive")

    def items():
        inputs = iter(self)
        slots, position = [None] * cycle, 0
        is_done = False
        while True:
            if slots[position] is None and not is_done:
                try:
                    slots[position] = iter(call(map_func, next(inputs)))
                except StopIteration:
                    is_done = True
            if slots[position] is not None:
                for _ in range(block):
                    try:
                        yield next(slots[position])
                    except StopIteration:
                        slots[position] = None
                        break
            elif is_done and all(slot is None for slot in slots):
                return
            position = (position + 1) % cycle
    return _generated(items)


def window(self, size, shift=None, stride=1, drop_remainder=False, name=None):
    """Datasets of consecutive elements: `size` of them, `stride` apart, a new one every `shift` elements."""
    size, shift, stride = int(size), int(size if shift is None else shift), int(stride)
    if min(size, shift, stride) < 1:
        raise ValueError(f"window: size {size}, shift {shift} and stride {stride} must be positive")

    def windows():
        kept, skipped, is_done = [], 0, False
        inputs = iter(self)
        while True:
            while not is_done and len(kept) < (size - 1) * stride + 1:
                try:
                    element = next(inputs)
                except StopIteration:
                    is_done = True
                    break
                if skipped:
                    skipped -= 1
                else:
                    kept.append(element)
            found = kept[::stride][:size]
            if not found or drop_remainder and len(found) < size:
                return
            yield _of_elements(found)
            skipped = max(0, shift - len(kept))
            kept = kept[shift:]
    count = self._node.cardinality
    if count >= 0:
        span = (size - 1) * stride + 1
        count = max(0, (count - span) // shift + 1) if drop_remainder else -(-count // shift)
    return _generated(windows, count)


def _of_elements(elements):
    """A dataset of these elements; of structures it is a structure of datasets, as in TensorFlow."""
    from .data import Dataset
    if not nest.is_nested(elements[0]):
        return _generated(lambda: iter(elements), len(elements))
    lists = [nest.flatten(e) for e in elements]
    return nest.pack_sequence_as(elements[0], [_generated(lambda i=i: iter([row[i] for row in lists]), len(lists))
                                               for i in range(len(lists[0]))])


def padded_batch(self, batch_size, padded_shapes=None, padding_values=None, drop_remainder=False, name=None):
    """Consecutive elements joined, padded behind to the longest of the batch, or to `padded_shapes`."""
    def padded(column, shape, value):
        rank = len(column[0].shape)
        wanted = [None] * rank if shape is None else list(shape)
        if len(wanted) != rank:
            raise ValueError(f"padded_batch: the shape {wanted} is for another rank than {tuple(column[0].shape)} has")
        lengths = [max(int(x.shape[i]) for x in column) if n in (None, -1) else int(n) for i, n in enumerate(wanted)]
        rows, is_text = [], isinstance(column[0], _texts.TextTensor)
        fill = (b"" if value is None else _texts.as_bytes(value)) if is_text else 0 if value is None else np.asarray(value)
        for x in column:
            if any(have > want for have, want in zip(x.shape, lengths)):
                raise ValueError(f"padded_batch: an element of shape {tuple(x.shape)} is larger than {tuple(lengths)}")
            array = np.asarray(x)
            row = np.full(lengths, fill, array.dtype)
            row[tuple(slice(0, n) for n in x.shape)] = array
            rows.append(row)
        return _texts.TextTensor(np.stack(rows)) if is_text else convert_to_tensor(np.stack(rows), dtype=column[0].dtype)

    def batches():
        inputs = iter(self)
        while True:
            elements = list(itertools.islice(inputs, int(batch_size)))
            if not elements or drop_remainder and len(elements) < int(batch_size):
                return
            lists = [nest.flatten(e) for e in elements]
            count = len(lists[0])
            shapes = [None] * count if padded_shapes is None else _shapes(padded_shapes, elements[0])
            values = [padding_values] * count if not nest.is_nested(padding_values) else nest.flatten(padding_values)
            yield nest.pack_sequence_as(elements[0], [padded([row[i] for row in lists], shapes[i], values[i])
                                                      for i in range(count)])
    rows, size = self._node.cardinality, int(batch_size)
    return _generated(batches, rows if rows < 0 else rows // size if drop_remainder else -(-rows // size))


def _shapes(shapes, element):
    """One shape for each leaf: a list of lengths is a leaf here."""
    if not nest.is_nested(element):
        return [shapes]
    if isinstance(element, dict):
        return [s for key in sorted(element) for s in _shapes(shapes[key], element[key])]
    return [s for part, own in zip(element, shapes) for s in _shapes(own, part)]


def take_while(self, predicate, name=None):
    """The elements before the first one of which a function is false."""
    traced = Traced("take_while", predicate)
    return _generated(lambda: itertools.takewhile(lambda e: bool(call(traced, e)), self))


def unique(self, name=None):
    """Each element once, where it comes first. Elements are scalars."""
    def items():
        seen = set()
        for element in self:
            value = element.numpy()
            key = value if isinstance(value, bytes) else value.item()
            if key not in seen:
                seen.add(key)
                yield element
    return _generated(items)


def scan(self, initial_state, scan_func, name=None):
    """What a function makes of a state and each element: it gives the next state and an element."""
    traced = Traced("scan", scan_func)

    def items():
        state = nest.map_structure(convert_to_tensor, initial_state)
        for element in self:
            state, result = traced(state, element)
            yield nest.map_structure(convert_to_tensor, result)
    return _generated(items, self._node.cardinality)


def rebatch(self, batch_size, drop_remainder=False, name=None):
    """The same rows in batches of another size, or of several sizes in turn."""
    rows = self.unbatch()
    sizes = [int(n) for n in np.atleast_1d(batch_size)]
    if len(sizes) == 1:
        return rows.batch(sizes[0], drop_remainder)

    def batches():
        left = iter(rows)
        for size in itertools.cycle(sizes):
            found = list(itertools.islice(left, size))
            if not found or drop_remainder and len(found) < size:
                return
            yield nest.map_structure(lambda *parts: _ops.stack(list(parts)), *found)
    return _generated(batches)


def group_by_window(self, key_func, reduce_func, window_size=None, window_size_func=None, name=None):
    """Elements of one key together: what `reduce_func(key, dataset)` makes of each `window_size` of them."""
    if (window_size is None) == (window_size_func is None):
        raise ValueError("group_by_window: one of window_size and window_size_func must be given")
    traced = Traced("group_by_window", key_func)
    return _grouped(self, lambda element: int(call(traced, element)), reduce_func,
                    (lambda key: window_size) if window_size_func is None else window_size_func)


def _grouped(dataset, key_of, reduce_func, size_of):
    def items():
        groups = {}
        for element in dataset:
            key = key_of(element)
            group = groups.setdefault(key, [])
            group.append(element)
            if len(group) >= int(size_of(key)):
                yield from _reduced(reduce_func, key, groups.pop(key))
        for key, group in sorted(groups.items()):  # as TensorFlow does
            yield from _reduced(reduce_func, key, group)
    return _generated(items)


def _reduced(reduce_func, key, group):
    return iter(reduce_func(convert_to_tensor(key), _generated(lambda: iter(group))))


def get_single_element(self, name=None):
    """The element of a dataset that has one."""
    found = list(itertools.islice(iter(self), 2))
    if len(found) != 1:
        raise ValueError(f"get_single_element: the dataset has {'no element' if not found else 'more than one element'}")
    return found[0]


def ignore_errors(self, log_warning=False, name=None):
    """The elements without those at which a function of Python raises."""
    def items():
        inputs = iter(self)
        while True:
            try:
                yield next(inputs)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001
                if log_warning:
                    warnings.warn(f"ignore_errors: {error}", stacklevel=2)
    return _generated(items)


def counter(start=0, step=1, dtype="int64", name=None):
    """Numbers without end."""
    from .data import Dataset
    numbers = Dataset(_core.dataset_of_counter(int(start), int(step)), 0)
    return numbers if dtype == "int64" else numbers.map(lambda n: convert_to_tensor(n, dtype=dtype))


def random(seed=None, rerandomize_each_iteration=None, name=None):
    """Numbers from 0 to 2^32 - 1 without end, those of TensorFlow for a seed."""
    from .data import Dataset
    return Dataset(_core.dataset_of_random_words(seed, bool(rerandomize_each_iteration)), 0)


def list_files(file_pattern, shuffle=None, seed=None, name=None):
    """The names of files that match patterns, as texts, sorted or in an order that is drawn."""
    patterns = patterns_of("list_files", file_pattern)
    files = matching(patterns)
    if not files:
        raise ValueError(f"list_files: no file matches {patterns}")

    def items():
        order = list(files)
        if shuffle or shuffle is None:
            np.random.default_rng(seed).shuffle(order)
        return (_texts.texts_of(os.fsencode(f)) for f in order)
    return _generated(items, len(files))


def alike(datasets):
    """The nodes of datasets, whose elements are all tensors in one structure or all objects of Python; and that."""
    from .data import Dataset
    if not any(d._node.is_structure for d in datasets):
        return [d._node for d in datasets], datasets[0]._form
    return [d._node if d._node.is_structure else _generated(lambda d=d: iter(d), d._node.cardinality)._node
            for d in datasets], None


def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False,
                         rerandomize_each_iteration=None):
    """Elements of several datasets, each drawn from one of them, as TensorFlow does for the same seed."""
    from .data import Dataset
    nodes, form = alike(list(datasets))
    weights = [] if weights is None else [float(w) for w in np.asarray(weights)]
    return Dataset(_core.dataset_sampled(nodes, weights, seed, bool(stop_on_empty_dataset),
                                         bool(rerandomize_each_iteration)), form)


def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=True):
    """Elements of several datasets, each from the one whose number the other dataset gives."""
    from .data import Dataset
    nodes, form = alike(list(datasets))
    if not choice_dataset._node.is_structure:
        return Dataset(_core.dataset_chosen(nodes, choice_dataset._node, bool(stop_on_empty_dataset)), form)

    def items():
        left = [iter(d) for d in datasets]
        for choice in choice_dataset:
            number = int(choice)
            if not 0 <= number < len(left):
                raise ValueError(f"choose_from_datasets: the choice {number}; there are {len(left)} datasets, from 0 to "
                                 f"{len(left) - 1}")
            try:
                yield next(left[number])
            except StopIteration:
                if stop_on_empty_dataset:
                    return
    return _generated(items)


def bucket_by_sequence_length(self, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes=None,
                              padding_values=None, pad_to_bucket_boundary=False, no_padding=False,
                              drop_remainder=False, name=None):
    """Batches of elements of about the same length: those below the first boundary, below the second, ..., the rest."""
    boundaries, sizes = [int(b) for b in bucket_boundaries], [int(n) for n in bucket_batch_sizes]
    if len(sizes) != len(boundaries) + 1:
        raise ValueError(f"bucket_by_sequence_length: {len(boundaries)} boundaries need {len(boundaries) + 1} batch "
                         f"sizes, not {len(sizes)}")

    traced = Traced("bucket_by_sequence_length", element_length_func)

    def bucket_of(element):
        return bisect.bisect_right(boundaries, int(call(traced, element)))

    def batch_of(bucket, group):
        bucket = int(bucket)
        if no_padding:
            return group.batch(sizes[bucket], drop_remainder)
        shapes = padded_shapes
        if pad_to_bucket_boundary:
            if bucket == len(boundaries):
                raise ValueError("bucket_by_sequence_length: an element is longer than the last boundary, to which "
                                 "pad_to_bucket_boundary pads")
            element = next(iter(group))
            shapes = _shapes(padded_shapes, element) if padded_shapes is not None else [
                [None] * len(leaf.shape) for leaf in nest.flatten(element)]
            longest = boundaries[bucket] - 1
            shapes = nest.pack_sequence_as(element, [
                _core.TensorShape([longest if n in (None, -1) else n for n in shape]) for shape in shapes])
        return group.padded_batch(sizes[bucket], shapes, padding_values, drop_remainder)
    return _grouped(self, bucket_of, batch_of, lambda bucket: sizes[bucket])


def save(self, path, compression=None, shard_func=None, checkpoint_args=None):
    """Writes all elements to a folder, for Dataset.load. It is not of TensorFlow's form."""
    refuse("save", compression=(compression, None, "AUTO", "GZIP", "ZLIB"), shard_func=(shard_func, None),
           checkpoint_args=(checkpoint_args, None))
    for _ in _element_files.write(path, self, "" if compression in (None, "AUTO") else compression):
        pass


def load(path, element_spec=None, compression=None, reader_func=None, wait=False):
    """The elements that Dataset.save has written."""
    refuse("load", reader_func=(reader_func, None), wait=(wait, False))
    del element_spec, compression  # the folder says both
    return _generated(_element_files.read(path))


def snapshot(self, path, compression="AUTO", reader_func=None, shard_func=None, name=None):
    """The elements, which the first whole pass writes to a folder, and which are read from there once it is there."""
    refuse("snapshot", compression=(compression, None, "AUTO", "GZIP", "ZLIB"), reader_func=(reader_func, None),
           shard_func=(shard_func, None))
    return _kept_in(self, path, "" if compression in (None, "AUTO") else compression)


def _kept_in(dataset, path, compression):
    """Elements of a folder, or, as long as there is none, those of a dataset, which are written to it."""
    def elements():
        if _element_files.is_there(path):
            return _element_files.read(path)()
        return _element_files.write(path, dataset, compression)
    return _generated(elements, dataset._node.cardinality)


def rejection_resample(self, class_func, target_dist, initial_dist=None, seed=None, name=None):
    """Pairs of a class and an element, some of which are left out or come again, so that classes come as often as
    `target_dist` says. `initial_dist` says how often they come in the dataset; it is counted if not given."""
    target = np.asarray(target_dist, dtype=float)
    target = target / target.sum()
    known = None if initial_dist is None else np.asarray(initial_dist, dtype=float)
    if known is not None and known.shape != target.shape:
        raise ValueError(f"rejection_resample: {known.shape} probabilities before and {target.shape} after")
    traced = Traced("rejection_resample", class_func)

    def items():
        draws, counts = np.random.default_rng(seed), np.zeros_like(target)
        for element in self:
            number = int(call(traced, element))
            if not 0 <= number < len(target):
                raise ValueError(f"rejection_resample: class {number}; there are {len(target)}")
            counts[number] += 1
            initial = counts / counts.sum() if known is None else known / known.sum()
            ratio = np.divide(target, initial, out=np.zeros_like(target), where=initial > 0)
            if draws.random() * ratio.max() < ratio[number]:
                yield convert_to_tensor(number), element
    return _generated(items)


def assert_cardinality(dataset, expected_cardinality):
    """The same elements; a pass with another number of them is an error."""
    expected = int(expected_cardinality)

    def items():
        count = 0
        for element in dataset:
            count += 1
            if 0 <= expected < count:
                raise _core.ValueError_(f"Input dataset was expected to contain {expected} elements but contained more")
            yield element
        if count != expected:
            raise _core.ValueError_(f"Input dataset was expected to contain {expected} elements but contained {count}")
    return _generated(items, expected)


def ragged_batch(self, batch_size, drop_remainder=False, row_splits_dtype="int64", name=None):
    """Consecutive elements as RaggedTensors, whose rows they are; scalars as tensors."""
    from .ragged import RaggedTensor

    def joined(*parts):
        if not isinstance(parts[0], RaggedTensor) and parts[0].shape.rank == 0:
            return _texts.stacked(parts) if isinstance(parts[0], _texts.TextTensor) else _ops.stack(list(parts))
        return RaggedTensor.from_rows(list(parts)).with_row_splits_dtype(row_splits_dtype)

    def batches():
        inputs = iter(self)
        while elements := list(itertools.islice(inputs, int(batch_size))):
            if drop_remainder and len(elements) < int(batch_size):
                return
            yield nest.map_structure(joined, *elements)
    return _generated(batches)


METHODS = (save, snapshot, rejection_resample, ragged_batch, flat_map, interleave, window, padded_batch, take_while, unique, scan, rebatch, group_by_window,
           get_single_element, ignore_errors, bucket_by_sequence_length)
STATIC_METHODS = (load, counter, random, list_files, sample_from_datasets, choose_from_datasets)
