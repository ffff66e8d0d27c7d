# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.optimizers import Adadelta as Adadelta
from capstan.keras.optimizers import Adafactor as Adafactor
from capstan.keras.optimizers import Adagrad as Adagrad
from capstan.keras.optimizers import Adam as Adam
from capstan.keras.optimizers import AdamW as AdamW
from capstan.keras.optimizers import Adamax as Adamax
from capstan.keras.optimizers import Ftrl as Ftrl
from capstan.keras.optimizers import Lamb as Lamb
from capstan.keras.optimizers import Lion as Lion
from capstan.keras.optimizers import LossScaleOptimizer as LossScaleOptimizer
from capstan.keras.optimizers import Muon as Muon
from capstan.keras.optimizers import Nadam as Nadam
from capstan.keras.optimizers import RMSprop as RMSprop
from capstan.keras.optimizers import SGD as SGD
from capstan.keras.optimizers import ScheduleFreeAdamW as ScheduleFreeAdamW

