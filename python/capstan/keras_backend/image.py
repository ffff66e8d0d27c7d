"""keras.ops.image: the functions of capstan/keras/_operations, and what NumPy does for dtypes that the library lacks."""
from ..keras._operations import _image, _image_warps
from ._reference import share

share("image", _image_warps, globals())
share("image", _image, globals())
