# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan import Tensor as Tensor

def image_dataset_from_directory(directory: Any, labels: _b.str | Any = 'inferred', label_mode: _b.str | Any = 'int', class_names: Any = None, color_mode: _b.str | Any = 'rgb', batch_size: _b.int | Any = 32, image_size: Any = ..., shuffle: _b.bool = True, seed: Any = None, validation_split: Any = None, subset: Any = None, interpolation: _b.str | Any = 'bilinear', follow_links: _b.bool = False, crop_to_aspect_ratio: _b.bool = False, pad_to_aspect_ratio: _b.bool = False, data_format: Any = None, format: _b.str | Any = 'tf', verbose: _b.bool = True) -> Any:
    """The images below a directory that has a folder for each class, as float32 from 0 to 255, and their labels."""
    ...
def img_to_array(img: Any, data_format: Any = None, dtype: Any = None) -> Any:
    """An image as an array float32[height, width, channels]."""
    ...
def load_img(path: Any, color_mode: _b.str | Any = 'rgb', target_size: Any = None, interpolation: _b.str | Any = 'nearest', keep_aspect_ratio: _b.bool = False) -> Any:
    """A PNG or JPEG file as an array uint8[height, width, channels]."""
    ...
def normalize(x: Any, axis: _b.int | Any = -1, order: _b.int | Any = 2) -> _b.tuple[Tensor, Tensor]:
    """An array with rows of norm 1; rows of zeros stay."""
    ...
def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    """What a step of fit() takes."""
    ...
def pad_sequences(sequences: Any, maxlen: Any = None, dtype: _b.str | Any = 'int32', padding: _b.str | Any = 'pre', truncating: _b.str | Any = 'pre', value: _b.float | Any = 0.0) -> Any:
    """Lists of different lengths as rows of one array, padded and cut in front or behind."""
    ...
def plot_model(model: Any, to_file: _b.str | Any = 'model.svg', show_shapes: _b.bool = False, show_dtype: _b.bool = False, show_layer_names: _b.bool = False, rankdir: _b.str | Any = 'TB', expand_nested: _b.bool = False, dpi: _b.int | Any = 200, show_layer_activations: _b.bool = False, show_trainable: _b.bool = False, splines: _b.str | Any = 'ortho') -> Any:
    """The graph of a model in a file, as an SVG image (.svg) or as Graphviz's text (.dot, .gv); gives the text."""
    ...
def save_img(path: Any, x: Any, data_format: Any = None, file_format: Any = None, scale: _b.bool = True) -> Any:
    """Writes an array [height, width, channels] as a PNG or JPEG file, by the end of the path; with `scale` from its"""
    ...
def set_random_seed(seed: Any) -> Any:
    """Seeds Python, NumPy and the library."""
    ...
def split_dataset(dataset: Any, left_size: Any = None, right_size: Any = None, shuffle: _b.bool = False, seed: Any = None, preferred_backend: Any = None) -> Any:
    """Two datasets of the elements of one, or of the rows of arrays: a share of them or so many."""
    ...
def timeseries_dataset_from_array(data: Any, targets: Any, sequence_length: Any, sequence_stride: _b.int | Any = 1, sampling_rate: _b.int | Any = 1, batch_size: _b.int | Any = 128, shuffle: _b.bool = False, seed: Any = None, start_index: Any = None, end_index: Any = None, format: _b.str | Any = 'tf') -> Any:
    """Sequences of a series as batches, with the target of the first step of each, if there are targets."""
    ...
def to_categorical(x: Any, num_classes: Any = None) -> Any:
    """One-hot rows, as an array."""
    ...
def unpack_x_y_sample_weight(data: Any) -> Any:
    """The three parts of what a step of fit() takes; None for those that are not there."""
    ...
