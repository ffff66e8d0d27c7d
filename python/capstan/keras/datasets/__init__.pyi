# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.datasets import cifar10 as cifar10
from capstan.keras.datasets import cifar100 as cifar100
from capstan.keras.datasets import fashion_mnist as fashion_mnist
from capstan.keras.datasets import imdb as imdb
from capstan.keras.datasets import mnist as mnist
from capstan.keras.datasets import reuters as reuters

