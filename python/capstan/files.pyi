# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator

def load_checkpoint(path: Any) -> Any:
    """The tensors of a checkpoint by name, without any object."""
    ...
def load_hdf5(path: Any) -> Any:
    """The datasets of an HDF5 file by their paths."""
    ...
def load_image(path: Any, channels: _b.int | Any = 0) -> Any:
    """A PNG or JPEG file as uint8[height, width, channels]; 0 channels: those of the file."""
    ...
def load_npz(path: Any) -> Any:
    """The arrays of a .npz archive by name."""
    ...
def load_safetensors(path: Any, with_metadata: _b.bool = False) -> Any:
    """The tensors of a .safetensors file by name; with their metadata as a pair, if asked."""
    ...
def load_torch(path: Any) -> Any:
    """What a file of torch.save holds, by where it stands; nothing of the pickle is executed."""
    ...
def save_hdf5(path: Any, tensors: Any) -> Any:
    """Writes tensors as datasets of an HDF5 file; a name may be a path."""
    ...
def save_jpeg(path: Any, image: Any, quality: _b.int | Any = 95) -> Any:
    """Writes an image, uint8 with 1 or 3 channels, as a JPEG file."""
    ...
def save_png(path: Any, image: Any) -> Any:
    """Writes an image, uint8, as a PNG file."""
    ...
def save_safetensors(path: Any, tensors: Any, metadata: Any = None) -> Any:
    """Writes tensors by name, and texts beside them."""
    ...
