"""Tables as datasets: tf.data.experimental.CsvDataset and make_csv_dataset."""
import collections
import csv
import glob
import os

import numpy as np

from . import _core, _texts
from ._convert import convert_to_tensor
from ._dtypes import as_dtype, float32, float64, int32, int64


def _records(path, compression, delimiter, quotes):
    """The records of a file, as lists of fields; lines are the library's, which reads compressed files piece by piece."""
    from .data import Dataset
    lines = Dataset(_core.dataset_of_lines([path], compression or "", None))
    texts = (line.numpy().decode("utf-8", "surrogateescape") + "\n" for line in lines)
    return csv.reader(texts, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE)


def _paths(patterns):
    from .data import _files
    found = [name for pattern in _files(patterns) for name in (sorted(glob.glob(pattern)) or [pattern])]
    missing = [name for name in found if not os.path.exists(name)]
    if missing:
        raise _core.IoError(f"make_csv_dataset: no file matches\n  file: {missing[0]}")
    return found


class Column:
    """A column: its dtype, and what stands for a missing field, None if there is nothing."""

    def __init__(self, default):
        found = _texts.texts_of(default)
        if found is not None:
            self.dtype, values = _texts.string, found._array.ravel()
        elif isinstance(default, (list, tuple, np.ndarray, _core.Tensor, int, float)):
            tensor = convert_to_tensor(default)
            self.dtype, values = tensor.dtype, np.asarray(tensor).ravel()
        else:
            self.dtype, values = as_dtype(default), []
        self.missing = values[0] if len(values) else None

    def converted(self, text):
        """A field that is there; a ValueError if it is none of the dtype."""
        if self.dtype == _texts.string:
            return text.encode("utf-8", "surrogateescape")
        return float(text) if self.dtype.is_floating else int(text)

    def value(self, text, na_value, place):
        """The field as a value."""
        if text in ("", na_value):
            if self.missing is None:
                raise _core.ValueError_(f"a field is required but missing\n  {place}")
            return self.missing
        try:
            return self.converted(text)
        except ValueError:
            raise _core.ValueError_(f"the field {text!r} is no {self.dtype.name}\n  {place}") from None

    def tensor(self, values, shape):
        """Values as a tensor."""
        return _texts.tensor_from_values(values, shape, self.dtype)


def csv_dataset(filenames, record_defaults, compression_type=None, buffer_size=None, header=False, field_delim=",",
                use_quote_delim=True, na_value="", select_cols=None, exclude_cols=None):
    """The rows of tables as tuples of scalars, with a dtype or a default for each column."""
    from . import _dataset_functions
    from .data import _files
    del buffer_size
    if select_cols is not None and exclude_cols is not None:
        raise ValueError("CsvDataset: one of select_cols and exclude_cols may be given")
    paths, columns = _files(filenames), [Column(default) for default in record_defaults]

    def rows():
        for path in paths:
            records = _records(path, compression_type, field_delim, use_quote_delim)
            if header:
                next(records, None)
            for number, record in enumerate(records, 1 + bool(header)):
                places = range(len(record)) if select_cols is None else select_cols
                places = [i for i in places if exclude_cols is None or i not in exclude_cols]
                if len(places) != len(columns) or any(i >= len(record) for i in places):
                    raise _core.ValueError_(f"CsvDataset: a record has {len(record)} fields, and {len(columns)} are read\n  "
                                            f"{path}, record {number}")
                yield tuple(column.tensor([column.value(record[i], na_value, f"{path}, record {number}, field {i}")], ())
                            for i, column in zip(places, columns))
    return _dataset_functions._generated(rows)


def _kind_of(texts):
    """The default of a column of which some fields are known: the narrowest of int32, int64, float32, float64 and text."""
    def all_are(convert):
        try:
            return [convert(text) for text in texts]
        except ValueError:
            return None
    numbers = all_are(int)
    if numbers is not None:
        return int32 if all(-2**31 <= n < 2**31 for n in numbers) else int64
    numbers = all_are(float)
    if numbers is not None:
        return float32 if all(abs(n) <= 3.4028235e38 or n in (float("inf"), float("-inf")) or n != n for n in numbers) else float64
    return _texts.string


def make_csv_dataset(file_pattern, batch_size, column_names=None, column_defaults=None, label_name=None, select_columns=None,
                     field_delim=",", use_quote_delim=True, na_value="", header=True, num_epochs=None, shuffle=True,
                     shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=None, num_parallel_reads=None,
                     sloppy=False, num_rows_for_inference=100, compression_type=None, ignore_errors=False):
    """Batches of the rows of tables: dicts of columns by name, with `label_name` in pairs with that column. The dtype of a
    column is found from its first rows unless given. Epochs do not end unless `num_epochs` says so."""
    from . import _dataset_functions
    del prefetch_buffer_size, num_parallel_reads, sloppy
    paths = _paths(file_pattern)
    if column_names is None:
        if not header:
            raise ValueError("make_csv_dataset: without a header column_names are needed")
        column_names = next(_records(paths[0], compression_type, field_delim, use_quote_delim), [])
    column_names = list(column_names)
    if len(set(column_names)) != len(column_names):
        raise ValueError(f"make_csv_dataset: column_names have a name twice: {column_names}")
    chosen = column_names if select_columns is None else [column_names[s] if isinstance(s, int) else s for s in select_columns]
    unknown = [name for name in [*chosen, *([] if label_name is None else [label_name])] if name not in column_names]
    if unknown or label_name is not None and label_name not in chosen:
        raise ValueError(f"make_csv_dataset: {(unknown or [label_name])[0]!r} is none of the columns {chosen}")
    places = [column_names.index(name) for name in chosen]

    def records():
        for path in paths:
            rows = _records(path, compression_type, field_delim, use_quote_delim)
            if header and next(rows, []) != column_names and len(paths) > 1:
                raise _core.ValueError_(f"make_csv_dataset: the header is not that of the first file\n  file: {path}")
            for number, row in enumerate(rows, 1 + bool(header)):
                if row:
                    yield path, number, row

    def inferred():
        seen = [[] for _ in places]
        for count, (_, _, row) in enumerate(records()):
            if num_rows_for_inference is not None and count >= num_rows_for_inference:
                break
            for fields, i in zip(seen, places):
                if i < len(row) and row[i] not in ("", na_value):
                    fields.append(row[i])
        kinds = [_kind_of(fields) for fields in seen]
        return [Column("" if kind == _texts.string else convert_to_tensor(0, dtype=kind)) for kind in kinds]
    if column_defaults is not None:
        defaults = list(column_defaults)
        if len(defaults) != len(chosen):
            raise ValueError(f"make_csv_dataset: {len(defaults)} column_defaults for {len(chosen)} columns")
        columns = [Column(default) for default in defaults]
    else:
        columns = inferred()

    def values():
        for path, number, row in records():
            try:
                if len(row) != len(column_names):
                    raise _core.ValueError_(f"make_csv_dataset: {len(row)} fields for {len(column_names)} columns\n  {path}, "
                                            f"record {number}")
                yield [column.value(row[i], na_value, f"{path}, record {number}, column {name!r}")
                       for column, i, name in zip(columns, places, chosen)]
            except _core.ValueError_:
                if not ignore_errors:
                    raise

    epoch = [0]

    def all_rows():
        number = 0
        while num_epochs is None or number < num_epochs:
            number += 1
            draws = np.random.default_rng(None if shuffle_seed is None else shuffle_seed + epoch[0])
            epoch[0] += 1
            is_empty = True
            for row in _shuffled(values(), draws, shuffle_buffer_size) if shuffle else values():
                is_empty = False
                yield row
            if is_empty:
                return

    def batches():
        rows = []
        for row in all_rows():
            rows.append(row)
            if len(rows) == int(batch_size):
                yield batch_of(rows)
                rows = []
        if rows:
            yield batch_of(rows)

    def batch_of(rows):
        made = collections.OrderedDict((name, column.tensor(list(fields), (len(rows),)))
                                       for name, column, fields in zip(chosen, columns, zip(*rows)))
        return made if label_name is None else (made, made.pop(label_name))
    return _dataset_functions._generated(batches)


def _shuffled(rows, draws, size):
    """Rows in an order that is drawn, from a buffer."""
    kept = []
    for row in rows:
        if len(kept) < size:
            kept.append(row)
            continue
        place = int(draws.integers(len(kept)))
        kept[place], row = row, kept[place]
        yield row
    draws.shuffle(kept)
    yield from kept
