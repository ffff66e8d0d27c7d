#!/usr/bin/env python3
"""JAX on the workloads of loop_workloads.cc: a scan, its gradient, and all of it under jit. Modes: jit."""
import os

import protocol
from protocol import Workload

options = protocol.arguments("jit")
# As in jax_peer.py.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
os.environ["JAX_PLATFORMS"] = "cpu"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

POINTS, STEPS, TIME_STEP = 64, 200, 0.01


def moved(stiffening, state, _):
    x, v = state
    stretch = x[1:] - x[:-1] - 1.0
    force = 10.0 * stretch
    if stiffening:
        force = force + 5.0 * stretch * stretch * stretch
    acceleration = jnp.pad(force, (0, 1)) - jnp.pad(force, (1, 0))
    return (x + TIME_STEP * v, v + TIME_STEP * acceleration), None


def spring(dtype, stiffening):
    def total(x, v):
        (x, _), _ = jax.lax.scan(partial(moved, stiffening), (x, v), None, length=STEPS)
        return jnp.sum(x * x)

    gradient = jax.jit(jax.grad(total, (0, 1)))
    x = jnp.asarray((np.arange(POINTS) * np.float32(1.1)).astype(dtype) + protocol.fill((POINTS,), 1, 0.2).astype(dtype))
    v = jnp.asarray(protocol.fill((POINTS,), 2).astype(dtype))
    return Workload(lambda: gradient(x, v),
                    check=lambda results: [float(jnp.sum(part * part)) for part in results[0]])


protocol.run(f"jax {jax.__version__}", options, {
    "spring": partial(spring, np.float32, False),
    "spring_f64": partial(spring, np.float64, False),
    "stiff_spring": partial(spring, np.float32, True),
    "stiff_spring_f64": partial(spring, np.float64, True),
}, wait=jax.block_until_ready)
