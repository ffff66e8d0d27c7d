"""keras.datasets: readers of files that the user has; nothing is downloaded."""
import os

import numpy as np

from .. import _core, _modules


def keras_folder(*names):
    """A path in the folder where Keras keeps what it downloads."""
    return os.path.join(os.path.expanduser("~"), ".keras", *names)


def _folder(variable, name):
    """The folder that an environment variable names, or one of Keras's datasets."""
    named, keras = os.environ.get(variable), keras_folder("datasets", name)
    return named if named and (os.path.exists(named) or not os.path.exists(keras)) else keras


def _images(kind, folder, label_mode="fine"):
    return tuple(tuple(t.numpy() for t in part) for part in _core.load_images(kind, folder, label_mode))


def load_mnist(path="mnist.npz"):
    """The digits, from `path`, the folder CAPSTAN_MNIST, or Keras's folder of datasets. Nothing is downloaded."""
    named = path if os.path.exists(path) else None
    folders = [named, os.environ.get("CAPSTAN_MNIST"), keras_folder("datasets")]
    folder = next((f for f in folders if f and os.path.exists(f)), "mnist")
    if os.path.isfile(folder):
        folder = os.path.dirname(os.path.abspath(folder))
    return _images("mnist", folder)


def load_fashion_mnist():
    """Pictures of clothes, from the folder CAPSTAN_FASHION_MNIST or Keras's `fashion-mnist`."""
    return _images("fashion_mnist", _folder("CAPSTAN_FASHION_MNIST", "fashion-mnist"))


def load_cifar10():
    """Pictures of 10 classes in their binary form, from the folder CAPSTAN_CIFAR10 or `cifar-10-batches-bin`."""
    return _images("cifar10", _folder("CAPSTAN_CIFAR10", "cifar-10-batches-bin"))


def load_cifar100(label_mode="fine"):
    """Pictures of 100 classes in their binary form, from the folder CAPSTAN_CIFAR100 or `cifar-100-binary`."""
    return _images("cifar100", _folder("CAPSTAN_CIFAR100", "cifar-100-binary"), label_mode)


def _words(kind, path, test_split, *options):
    if not os.path.exists(path):
        path = keras_folder("datasets", path)

    def part(texts, labels):
        rows = np.empty(len(texts), dtype=object)
        rows[:] = texts
        return rows, labels.numpy()
    return tuple(part(*given) for given in _core.load_words(kind, path, test_split, *options))


def load_imdb(path="imdb.npz", num_words=None, skip_top=0, maxlen=None, seed=113, start_char=1, oov_char=2,
              index_from=3):
    """Reviews as numbers of words, with labels 1 for good ones."""
    return _words("imdb", path, 0.0, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from)


def load_reuters(path="reuters.npz", num_words=None, skip_top=0, maxlen=None, test_split=0.2, seed=113, start_char=1,
                 oov_char=2, index_from=3):
    """Newswires as numbers of words, with labels from 0 to 45."""
    return _words("reuters", path, test_split, num_words, skip_top, maxlen, seed, start_char, oov_char, index_from)


datasets = _modules.make_module("keras.datasets", {
    name: _modules.make_module(f"keras.datasets.{name}", {"load_data": load}, f"tf.keras.datasets.{name}")
    for name, load in (("mnist", load_mnist), ("fashion_mnist", load_fashion_mnist), ("cifar10", load_cifar10),
                       ("cifar100", load_cifar100), ("imdb", load_imdb), ("reuters", load_reuters))},
    "tf.keras.datasets")
