"""Files of tensors and images: weights of other frameworks, checkpoints without objects, PNG and JPEG.

    weights = capstan.files.load_safetensors("model.safetensors")     # {"0.weight": a tensor, ...}
    capstan.files.save_png("digit.png", image)

A file that is damaged, or claims what it has not, is an IoError, which is an OSError. What was at a path is replaced when
all has been written.
"""
import os

from . import _core


def load_safetensors(path, with_metadata=False):
    """The tensors of a .safetensors file by name; with their metadata as a pair, if asked."""
    tensors, metadata = _core.load_safetensors(os.fspath(path))
    return (tensors, metadata) if with_metadata else tensors


def save_safetensors(path, tensors, metadata=None):
    """Writes tensors by name, and texts beside them."""
    _core.save_safetensors(os.fspath(path), dict(tensors), dict(metadata or {}))


def load_hdf5(path):
    """The datasets of an HDF5 file by their paths."""
    return _core.load_hdf5(os.fspath(path))


def save_hdf5(path, tensors):
    """Writes tensors as datasets of an HDF5 file; a name may be a path."""
    _core.save_hdf5(os.fspath(path), dict(tensors))


def load_npz(path):
    """The arrays of a .npz archive by name."""
    return _core.load_npz(os.fspath(path))


def load_torch(path):
    """What a file of torch.save holds, by where it stands; nothing of the pickle is executed."""
    return _core.load_torch(os.fspath(path))


def load_checkpoint(path):
    """The tensors of a checkpoint by name, without any object."""
    return _core.load_checkpoint(os.fspath(path))


def load_image(path, channels=0):
    """A PNG or JPEG file as uint8[height, width, channels]; 0 channels: those of the file."""
    return _core.load_image(os.fspath(path), int(channels))


def save_png(path, image):
    """Writes an image, uint8, as a PNG file."""
    _core.save_png(os.fspath(path), image)


def save_jpeg(path, image, quality=95):
    """Writes an image, uint8 with 1 or 3 channels, as a JPEG file."""
    _core.save_jpeg(os.fspath(path), image, int(quality))
