# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.preprocessing import image as image
from capstan.keras.preprocessing import sequence as sequence
from capstan.keras.preprocessing import text as text

def image_dataset_from_directory(directory: Any, labels: _b.str | Any = 'inferred', label_mode: _b.str | Any = 'int', class_names: Any = None, color_mode: _b.str | Any = 'rgb', batch_size: _b.int | Any = 32, image_size: Any = ..., shuffle: _b.bool = True, seed: Any = None, validation_split: Any = None, subset: Any = None, interpolation: _b.str | Any = 'bilinear', follow_links: _b.bool = False, crop_to_aspect_ratio: _b.bool = False, pad_to_aspect_ratio: _b.bool = False, data_format: Any = None, format: _b.str | Any = 'tf', verbose: _b.bool = True) -> Any:
    """The images below a directory that has a folder for each class, as float32 from 0 to 255, and their labels."""
    ...
def text_dataset_from_directory(directory: Any, labels: _b.str | Any = 'inferred', label_mode: _b.str | Any = 'int', class_names: Any = None, batch_size: _b.int | Any = 32, max_length: Any = None, shuffle: _b.bool = True, seed: Any = None, validation_split: Any = None, subset: Any = None, follow_links: _b.bool = False, format: _b.str | Any = 'tf', verbose: _b.bool = True) -> Any:
    """The .txt files below a directory that has a folder for each class, as batches of texts, and their labels."""
    ...
def timeseries_dataset_from_array(data: Any, targets: Any, sequence_length: Any, sequence_stride: _b.int | Any = 1, sampling_rate: _b.int | Any = 1, batch_size: _b.int | Any = 128, shuffle: _b.bool = False, seed: Any = None, start_index: Any = None, end_index: Any = None, format: _b.str | Any = 'tf') -> Any:
    """Sequences of a series as batches, with the target of the first step of each, if there are targets."""
    ...
