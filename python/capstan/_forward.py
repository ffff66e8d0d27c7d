"""Forward mode."""
import enum
import inspect

from . import _core
from ._modules import make_module


class UnconnectedGradients(enum.Enum):
    """What a gradient is where the target does not depend on a source."""
    NONE = "none"
    ZERO = "zero"


class ForwardAccumulator(_core.ForwardAccumulator):
    """Computes Jacobian-vector products while ops run.

        with tf.autodiff.ForwardAccumulator(x, tangent) as accumulator:
            y = x * x
        accumulator.jvp(y)
    """
    __signature__ = inspect.Signature([inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                                       for n in ("primals", "tangents")])

    def jvp(self, primals, unconnected_gradients=UnconnectedGradients.NONE):
        """The tangents of tensors, in their structure; None where nothing depends on the primals."""
        return self._jvp(primals, _core.unconnected_is_zero(unconnected_gradients))


autodiff = make_module("autodiff", {"ForwardAccumulator": ForwardAccumulator, "GradientTape": _core.GradientTape},
                       "tf.autodiff")
