# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def image_dataset_from_directory(directory: Any, labels: _b.str | Any = 'inferred', label_mode: _b.str | Any = 'int', class_names: Any = None, color_mode: _b.str | Any = 'rgb', batch_size: _b.int | Any = 32, image_size: Any = ..., shuffle: _b.bool = True, seed: Any = None, validation_split: Any = None, subset: Any = None, interpolation: _b.str | Any = 'bilinear', follow_links: _b.bool = False, crop_to_aspect_ratio: _b.bool = False, pad_to_aspect_ratio: _b.bool = False, data_format: Any = None, format: _b.str | Any = 'tf', verbose: _b.bool = True) -> Any:
    """The images below a directory that has a folder for each class, as float32 from 0 to 255, and their labels."""
    ...
def plot_model(model: Any, to_file: _b.str | Any = 'model.svg', show_shapes: _b.bool = False, show_dtype: _b.bool = False, show_layer_names: _b.bool = False, rankdir: _b.str | Any = 'TB', expand_nested: _b.bool = False, dpi: _b.int | Any = 200, show_layer_activations: _b.bool = False, show_trainable: _b.bool = False, splines: _b.str | Any = 'ortho') -> Any:
    """The graph of a model in a file, as an SVG image (.svg) or as Graphviz's text (.dot, .gv); gives the text."""
    ...
def set_random_seed(seed: Any) -> Any:
    """Seeds Python, NumPy and the library."""
    ...
def timeseries_dataset_from_array(data: Any, targets: Any, sequence_length: Any, sequence_stride: _b.int | Any = 1, sampling_rate: _b.int | Any = 1, batch_size: _b.int | Any = 128, shuffle: _b.bool = False, seed: Any = None, start_index: Any = None, end_index: Any = None, format: _b.str | Any = 'tf') -> Any:
    """Sequences of a series as batches, with the target of the first step of each, if there are targets."""
    ...
def to_categorical(x: Any, num_classes: Any = None) -> Any:
    """One-hot rows, as an array."""
    ...
