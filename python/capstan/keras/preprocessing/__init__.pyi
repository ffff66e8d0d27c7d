# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.utils import image_dataset_from_directory as image_dataset_from_directory, text_dataset_from_directory as text_dataset_from_directory, timeseries_dataset_from_array as timeseries_dataset_from_array
from capstan.keras.preprocessing import image as image
from capstan.keras.preprocessing import sequence as sequence
from capstan.keras.preprocessing import text as text

