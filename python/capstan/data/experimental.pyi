# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.data import CsvDataset as CsvDataset

AUTOTUNE: _b.int
INFINITE_CARDINALITY: _b.int
UNKNOWN_CARDINALITY: _b.int
def assert_cardinality(expected_cardinality: Any) -> Any:
    """A function for Dataset.apply that says how many elements there are, which a pass checks."""
    ...
def cardinality(dataset: Any) -> Any:
    """The number of elements, -1 for a dataset without end, -2 if only a pass tells; int64."""
    ...
def get_single_element(dataset: Any) -> Any:
    """The element of a dataset that has one."""
    ...
def ignore_errors(log_warning: _b.bool = False) -> Any:
    """A function for Dataset.apply that leaves out elements at which a function of Python raises."""
    ...
def make_csv_dataset(file_pattern: Any, batch_size: Any, column_names: Any = None, column_defaults: Any = None, label_name: Any = None, select_columns: Any = None, field_delim: _b.str | Any = ',', use_quote_delim: _b.bool = True, na_value: _b.str | Any = '', header: _b.bool = True, num_epochs: Any = None, shuffle: _b.bool = True, shuffle_buffer_size: _b.int | Any = 10000, shuffle_seed: Any = None, prefetch_buffer_size: Any = None, num_parallel_reads: Any = None, sloppy: _b.bool = False, num_rows_for_inference: _b.int | Any = 100, compression_type: Any = None, ignore_errors: _b.bool = False) -> Any:
    """Batches of the rows of tables: dicts of columns by name, with `label_name` in pairs with that column. The dtype of a"""
    ...
