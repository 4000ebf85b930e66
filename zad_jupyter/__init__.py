"""zad_jupyter: see and change, live, how a derivative is made.

>>> from zad_jupyter import gradient
>>> gradient(lambda x: x ** 3, 2.0)
(12.0,)
"""

from . import library
from .api import adjoint_source, grad, gradient, hessian, jacobian, pullback, stop_gradient, value_and_grad
from .live import watch
from .notebook import load_ipython_extension, unload_ipython_extension
from .rules import (
    expression_rule,
    non_differentiable,
    opt_in,
    opt_out,
    registry,
    rrule,
    scalar_rule,
    which_rule,
)
from .trace import trace

__version__ = "0.1.0"
__all__ = [
    "adjoint_source",
    "expression_rule",
    "grad",
    "gradient",
    "hessian",
    "jacobian",
    "library",
    "load_ipython_extension",
    "non_differentiable",
    "opt_in",
    "opt_out",
    "pullback",
    "registry",
    "rrule",
    "scalar_rule",
    "stop_gradient",
    "trace",
    "unload_ipython_extension",
    "value_and_grad",
    "watch",
    "which_rule",
]  # fmt: skip
