"""tf.keras.utils: what prepares data and draws models."""
import os

import numpy as np

from .. import _core, _ops
from .._convert import refuse
from ..data import Dataset


def to_categorical(x, num_classes=None):
    """One-hot rows: a tensor of floatx from a tensor, an array of float64 from anything else, as Keras gives them."""
    rows = _core.to_categorical(np.asarray(x), 0 if num_classes is None else int(num_classes))
    return rows if isinstance(x, _core.Tensor) else rows.numpy().astype(np.float64)


def set_random_seed(seed):
    """Seeds Python, NumPy and the library."""
    import random
    random.seed(seed)
    np.random.seed(seed % 2**32)
    _core.set_seed(int(seed))


def plot_model(model, to_file="model.svg", show_shapes=False, show_dtype=False, show_layer_names=False, rankdir="TB",
               expand_nested=False, dpi=200, show_layer_activations=False, show_trainable=False, splines="ortho"):
    """The graph of a model in a file, as an SVG image (.svg) or as Graphviz's text (.dot, .gv), or as what Graphviz's
    program `dot` makes of that (.png, .pdf, .jpg); gives the text."""
    refuse("plot_model", show_dtype=(show_dtype, False), show_layer_activations=(show_layer_activations, False),
           show_trainable=(show_trainable, False))
    path = os.fspath(to_file)
    makers = {".svg": _core.model_to_svg, ".dot": _core.model_to_dot, ".gv": _core.model_to_dot}
    end = os.path.splitext(path)[1]
    image = end in (".png", ".pdf", ".jpg", ".jpeg")
    if end not in makers and not image:
        raise ValueError(f"plot_model: {path!r} ends with none of {sorted(makers)}, nor with .png, .pdf or .jpg")
    make = makers.get(end, _core.model_to_dot)
    text = make(model._ensure_handle(), show_shapes, show_layer_names, rankdir, expand_nested)
    if image:
        import shutil
        import subprocess
        if shutil.which("dot") is None:
            raise ImportError("plot_model: images need Graphviz's program `dot`, which is not installed\n  help: install "
                              "graphviz, or write an .svg file")
        subprocess.run(["dot", "-T" + end[1:], f"-Gdpi={int(dpi)}", "-o", path], input=text.encode(), check=True)
        return text
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return text


def _of_directory(dataset, names, paths, label_mode, verbose):
    """A dataset of the files of classes with what is known of them, without labels if there is no label_mode."""
    if label_mode is None:
        dataset = dataset.map(lambda items, labels: items)
    dataset.class_names, dataset.file_paths = names, paths
    if verbose:
        print(f"Found {len(paths)} files belonging to {len(names)} classes.")
    return dataset


def image_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, color_mode="rgb",
                                 batch_size=32, image_size=(256, 256), shuffle=True, seed=None, validation_split=None,
                                 subset=None, interpolation="bilinear", follow_links=False,
                                 crop_to_aspect_ratio=False, pad_to_aspect_ratio=False, data_format=None,
                                 format="tf", verbose=True):
    """The images below a directory that has a folder for each class, as float32 from 0 to 255, and their labels."""
    refuse("image_dataset_from_directory", labels=(labels, "inferred"), data_format=(data_format, None, "channels_last"),
           format=(format, "tf"))
    node, names, paths = _core.image_dataset_from_directory(
        os.fspath(directory), label_mode or "int", list(class_names or []), color_mode, int(batch_size), list(image_size),
        shuffle, seed, float(validation_split or 0), subset or "", interpolation, follow_links, crop_to_aspect_ratio,
        pad_to_aspect_ratio)
    return _of_directory(Dataset(node, (0, 0)), names, paths, label_mode, verbose)


def text_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, batch_size=32,
                                max_length=None, shuffle=True, seed=None, validation_split=None, subset=None,
                                follow_links=False, format="tf", verbose=True):
    """The .txt files below a directory that has a folder for each class, as batches of texts, and their labels."""
    refuse("text_dataset_from_directory", labels=(labels, "inferred"), format=(format, "tf"))
    node, names, paths = _core.text_dataset_from_directory(
        os.fspath(directory), label_mode or "int", list(class_names or []), int(batch_size),
        None if max_length is None else int(max_length), shuffle, seed, float(validation_split or 0), subset or "", follow_links)
    return _of_directory(Dataset(node), names, paths, label_mode, verbose)


def timeseries_dataset_from_array(data, targets, sequence_length, sequence_stride=1, sampling_rate=1, batch_size=128,
                                  shuffle=False, seed=None, start_index=None, end_index=None, format="tf"):
    """Sequences of a series as batches, with the target of the first step of each, if there are targets."""
    refuse("timeseries_dataset_from_array", format=(format, "tf"))
    node = _core.timeseries_dataset_from_array(data, targets, int(sequence_length), int(sequence_stride),
                                               int(sampling_rate), int(batch_size), shuffle, seed, int(start_index or 0),
                                               end_index)
    return Dataset(node, 0 if targets is None else (0, 0))


def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """Lists of different lengths as rows of one array, padded and cut in front or behind."""
    if padding not in ("pre", "post") or truncating not in ("pre", "post"):
        raise ValueError(f"pad_sequences: padding {padding!r} and truncating {truncating!r} are 'pre' or 'post'")
    lengths = [len(s) for s in sequences]
    length = max(lengths, default=0) if maxlen is None else int(maxlen)
    inner = next((np.asarray(s).shape[1:] for s in sequences if len(s)), ())
    padded = np.full((len(lengths), length) + inner, value, dtype)
    for row, sequence in zip(padded, sequences):
        kept = np.asarray(sequence[-length:] if truncating == "pre" else sequence[:length], dtype) if length else []
        if len(kept) and kept.shape[1:] != inner:
            raise ValueError(f"pad_sequences: elements have the shapes {inner} and {kept.shape[1:]}")
        if len(kept):
            row[slice(-len(kept), None) if padding == "pre" else slice(0, len(kept))] = kept
    return padded


def normalize(x, axis=-1, order=2):
    """Rows of norm 1; rows of zeros stay. An array for an array, else a tensor."""
    if isinstance(x, np.ndarray):
        norm = np.linalg.norm(x, order, axis, keepdims=True)
        return x / np.where(norm == 0, 1, norm)
    x = _ops.convert_to_tensor(x)
    norm = _ops.norm(x, order, axis, keepdims=True)
    return x / _ops.maximum(norm, 1e-12)


def load_img(path, color_mode="rgb", target_size=None, interpolation="nearest", keep_aspect_ratio=False):
    """A PNG or JPEG file as an array uint8[height, width, channels]."""
    from .. import _modules, files
    channels = {"grayscale": 1, "rgb": 3, "rgba": 4}
    if color_mode not in channels:
        raise ValueError(f"load_img: color_mode {color_mode!r} is none of {sorted(channels)}")
    refuse("load_img", keep_aspect_ratio=(keep_aspect_ratio, False))
    image = files.load_image(path, channels[color_mode])
    if target_size is not None:
        image = _modules.image.resize(image, list(target_size), method=interpolation)
        image = _ops.OPS["saturate_cast"](_ops.OPS["round"](_ops.cast(image, "float32")), "uint8")
    return image.numpy()


def img_to_array(img, data_format=None, dtype=None):
    """An image as an array float32[height, width, channels]."""
    refuse("img_to_array", data_format=(data_format, None, "channels_last"))
    array = np.asarray(img, dtype or "float32")
    if array.ndim not in (2, 3):
        raise ValueError(f"img_to_array: an image has 2 or 3 axes, not the shape {array.shape}")
    return array[..., None] if array.ndim == 2 else array


def _scaled(x, scale):
    """With `scale` from 0, the least element, to 255, the largest."""
    if scale:
        x = x - x.min()
        x = x / x.max() * 255 if x.max() > 0 else x
    return x


def array_to_img(x, data_format=None, scale=True, dtype=None):
    """An array [height, width, channels] as an image of Pillow, which must be installed; with `scale` from its least to its
    largest element."""
    from PIL import Image
    refuse("array_to_img", data_format=(data_format, None, "channels_last"))
    x = np.asarray(x, dtype or "float32")
    if x.ndim != 3 or x.shape[2] not in (1, 3, 4):
        raise ValueError(f"array_to_img: x must be [height, width, 1, 3 or 4], not of the shape {x.shape}")
    x = _scaled(x, scale).astype("uint8")
    return Image.fromarray(x[..., 0] if x.shape[2] == 1 else x)


def save_img(path, x, data_format=None, file_format=None, scale=True):
    """Writes an array [height, width, channels] as a PNG or JPEG file, by the end of the path; with `scale` from its
    least to its largest element."""
    from .. import files
    refuse("save_img", data_format=(data_format, None, "channels_last"))
    x = _scaled(np.asarray(x, "float32"), scale)
    end = file_format or str(path).rpartition(".")[2].lower()
    if end not in ("png", "jpg", "jpeg"):
        raise ValueError(f"save_img: {end!r} is neither png nor jpg")
    (files.save_png if end == "png" else files.save_jpeg)(path, np.clip(x, 0, 255).astype("uint8"))


def split_dataset(dataset, left_size=None, right_size=None, shuffle=False, seed=None, preferred_backend=None):
    """Two datasets of the elements of one, or of the rows of arrays: a share of them or so many."""
    if left_size is None and right_size is None:
        raise ValueError("split_dataset: one of left_size and right_size must be given")
    rows = list(dataset if isinstance(dataset, Dataset) else Dataset.from_tensor_slices(dataset))
    if shuffle:
        np.random.default_rng(seed).shuffle(rows)

    def count(size):
        return int(round(size * len(rows))) if isinstance(size, float) else int(size)
    left = count(left_size) if left_size is not None else len(rows) - count(right_size)
    right = count(right_size) if right_size is not None else len(rows) - left
    if left < 0 or right < 0 or left + right > len(rows):
        raise ValueError(f"split_dataset: {left} and {right} elements of {len(rows)}")
    parts = rows[:left], rows[left:left + right]
    return tuple(Dataset.from_generator(lambda part=part: iter(part)) for part in parts)


def pack_x_y_sample_weight(x, y=None, sample_weight=None):
    """What a step of fit() takes."""
    if y is None:
        return (x,) if isinstance(x, (tuple, list, dict)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(data):
    """The three parts of what a step of fit() takes; None for those that are not there."""
    data = tuple(data) if isinstance(data, list) else data
    if not isinstance(data, tuple):
        return data, None, None
    if len(data) > 3:
        raise ValueError(f"unpack_x_y_sample_weight: data has {len(data)} parts, more than x, y and sample_weight")
    return data + (None,) * (3 - len(data))


class Progbar:
    """The progress bar of `fit`, for loops of one's own."""

    def __init__(self, target, width=20, verbose=1, interval=0.05, stateful_metrics=None, stateless_metrics=None,
                 unit_name="step"):
        self.target = target
        self._bar = _core.make_progbar(target, width, verbose, interval, list(stateful_metrics or []),
                                       None if stateless_metrics is None else list(stateless_metrics), unit_name,
                                       lambda text: print(text, end="", flush=True))

    def update(self, current, values=None, finalize=None):
        """`current` steps are done; `values` are pairs of a name and a number."""
        self._bar.update(int(current), [(name, float(value)) for name, value in values or []], finalize)

    def add(self, n, values=None):
        """`n` more steps are done."""
        self._bar.add(int(n), [(name, float(value)) for name, value in values or []])


class PyDataset:
    """Batches by their number: a class of one's own has `__len__` and `__getitem__`."""

    def __init__(self, workers=1, use_multiprocessing=False, max_queue_size=10):
        self.workers, self.use_multiprocessing, self.max_queue_size = workers, use_multiprocessing, max_queue_size

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__() for batch {index}")

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__} has no __len__()")

    def on_epoch_begin(self):
        """Called before each pass."""

    def on_epoch_end(self):
        """Called after each pass."""

    def __iter__(self):
        self.on_epoch_begin()
        for index in range(len(self)):
            yield self[index]
        self.on_epoch_end()


def get_file(fname=None, origin=None, untar=False, md5_hash=None, file_hash=None, cache_subdir="datasets",
             hash_algorithm="auto", extract=False, archive_format="auto", cache_dir=None, force_download=False):
    """The path of a file, or with `extract` of the folder beside it, that lies where Keras keeps what it downloads. Nothing
    is downloaded or unpacked, and no hash is compared."""
    refuse("get_file", force_download=(force_download, False))
    del md5_hash, file_hash, hash_algorithm, archive_format
    name = fname or os.path.basename(origin or "")
    if not name:
        raise ValueError("get_file: fname or origin is needed")
    path = os.path.join(os.path.expanduser(cache_dir or os.path.join("~", ".keras")), cache_subdir, name)
    if untar or extract:
        stem = next((path[:-len(end)] for end in (".tar.gz", ".tgz", ".tar.bz", ".tar", ".zip") if path.endswith(end)), path)
        path = next((p for p in (stem, stem + "_extracted", path + "_extracted") if os.path.isdir(p)), stem)
    if not os.path.exists(path):
        raise _core.IoError(f"get_file: there is no such file, and nothing is downloaded\n  file: {path}\n  help: put "
                            f"{origin or name} there")
    return path


def get_source_inputs(tensor):
    """The inputs that values of a functional model are computed of."""
    return _core.get_source_inputs(tensor)


FUNCTIONS = {f.__name__: f for f in (
    to_categorical, get_source_inputs, set_random_seed, plot_model, image_dataset_from_directory, text_dataset_from_directory,
    timeseries_dataset_from_array, pad_sequences, normalize, load_img, img_to_array, array_to_img, save_img,
    split_dataset,    pack_x_y_sample_weight, unpack_x_y_sample_weight, get_file, PyDataset, Progbar)}
FUNCTIONS["Sequence"] = PyDataset
