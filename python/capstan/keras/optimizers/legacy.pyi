# Written by tools/python_stubs.py.
import builtins as _b
from typing import Any, Iterator
from capstan.keras.optimizers import Adadelta as Adadelta, Adafactor as Adafactor, Adagrad as Adagrad, Adam as Adam, AdamW as AdamW, Adamax as Adamax, Ftrl as Ftrl, Lamb as Lamb, Lion as Lion, LossScaleOptimizer as LossScaleOptimizer, Muon as Muon, Nadam as Nadam, RMSprop as RMSprop, SGD as SGD, ScheduleFreeAdamW as ScheduleFreeAdamW

