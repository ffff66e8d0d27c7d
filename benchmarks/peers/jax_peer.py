#!/usr/bin/env python3
"""JAX on the workloads of shared_workloads.cc. Modes: eager (jax.grad, op by op), jit."""
import os

import protocol
from protocol import Workload

options = protocol.arguments("eager", "jit")
# XLA has no option for its number of threads: it counts the cores that it may use, when it is imported.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.threads])
os.environ["JAX_PLATFORMS"] = "cpu"

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax


def compiled(f):
    return jax.jit(f) if options.mode == "jit" else f


def leaky_relu(x):
    return jax.nn.leaky_relu(x, 0.2)


# --- Chains of ops ---


def op():
    protocol.require_eager(options)
    x = jnp.array([0.999])

    def step():
        for _ in range(100):
            y = x * x
        return y

    return Workload(step, per=100)


def op_gradient():
    x = jnp.array([0.999])
    gradient = compiled(jax.grad(lambda x: jnp.sum(x * x)))
    return Workload(lambda: gradient(x))


def chain100(n):
    x = jnp.full((n,), 0.999, jnp.float32)

    def total(x):
        y = x
        for _ in range(50):
            y = y * x
            y = y + x
        return jnp.sum(y)

    gradient = compiled(jax.grad(total))
    return Workload(lambda: gradient(x), per=100, check=lambda results: float(results[0][0]))


def chain10(n):
    x = jnp.asarray(protocol.chain10_input(n))

    def total(x):
        t3 = jnp.tanh(x * 0.5 + 0.1)
        t6 = jnp.exp(t3 * x - 0.3)
        t9 = jax.nn.relu(t6 * 0.25 + t3)
        return jnp.sum(t9 * t9)

    gradient = compiled(jax.grad(total))
    return Workload(lambda: gradient(x), seconds=2, check=lambda results: float(jnp.mean(results[0])))


# --- Training steps ---


def regression():
    x = jnp.arange(11, dtype=jnp.float32)
    y = x * 10 + 5
    gradient = jax.grad(lambda p: jnp.sum(jnp.abs(y - (p[0] * x + p[1]))))
    update = compiled(lambda p: [value - slope * 0.001 for value, slope in zip(p, gradient(p))])
    p = [jnp.float32(0.3), jnp.float32(0.7)]

    def step():
        nonlocal p
        p = update(p)
        return p

    return Workload(step, calls=100, check=lambda results: [float(value) for value in results[-1]])


def training_step(loss_of, rate, params, state=()):
    """A step that returns the loss and all that is new. `loss_of` maps the parameters and a state to loss and state."""
    adam = optax.adam(rate, eps=1e-7)

    @compiled
    def update(params, slots, state):
        (loss, state), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, state)
        change, slots = adam.update(gradients, slots, params)
        return loss, optax.apply_updates(params, change), slots, state

    now = (None, params, adam.init(params), state)

    def step():
        nonlocal now
        now = update(*now[1:])
        return now

    return step


def losses(results):
    return protocol.last_losses([loss for loss, *_ in results])


def dense_stack(params, x, activation):
    for kernel, bias in params[:-1]:
        x = activation(x @ kernel + bias)
    kernel, bias = params[-1]
    return x @ kernel + bias


def cross_entropy(logits, y):
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, y))


def mlp_adam():
    x, y = map(jnp.asarray, protocol.mlp_batch())
    params = jax.tree.map(jnp.asarray, protocol.dense_stack(protocol.MLP_UNITS))
    step = training_step(lambda p, state: (cross_entropy(dense_stack(p, x, jax.nn.relu), y), state), 1e-3, params)
    return Workload(step, calls=10, check=losses)


def normalized(x, scale, offset, average):
    """Batch normalisation in training mode, and the moving averages of mean and variance."""
    axes = tuple(range(x.ndim - 1))
    mean, variance = jnp.mean(x, axes), jnp.var(x, axes)
    average = (0.99 * average[0] + 0.01 * mean, 0.99 * average[1] + 0.01 * variance)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-3) * scale + offset, average


def cnn_step(rate):
    x, y = map(jnp.asarray, protocol.cnn_batch())
    params = [(jnp.asarray(kernel), jnp.asarray(bias), jnp.ones(bias.size), jnp.zeros(bias.size))
              for kernel, bias in protocol.cnn_weights()]
    params[-1] = params[-1][:2]  # the last layer is not normalised
    averages = [(jnp.zeros(bias.size), jnp.ones(bias.size)) for _, bias, *_ in params[:-1]]

    def loss_of(params, state):
        key, averages = state
        key, draw = jax.random.split(key)
        h, layers, moved = x, iter(zip(params, averages)), []

        def activated(linear, h):
            (kernel, bias, scale, offset), average = next(layers)
            h, average = normalized(jax.nn.relu(linear(h, kernel) + bias), scale, offset, average)
            moved.append(average)
            return h

        convolution = partial(jax.lax.conv_general_dilated, window_strides=(1, 1), padding="SAME",
                              dimension_numbers=("NHWC", "HWIO", "NHWC"))
        for group in protocol.CNN_GROUPS:
            for _ in group:
                h = activated(convolution, h)
            h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        h = activated(jnp.matmul, h.reshape(len(x), -1))
        if rate:
            h = jnp.where(jax.random.bernoulli(draw, 1 - rate, h.shape), h / (1 - rate), 0)
        kernel, bias = params[-1]
        return cross_entropy(h @ kernel + bias, y), (key, moved)

    return training_step(loss_of, 1e-3, params, (jax.random.key(0), averages))


def cnn_adam():
    def check(_):
        without_dropout = cnn_step(0.0)
        return losses([without_dropout() for _ in range(3)])

    return Workload(cnn_step(protocol.CNN_RATE), seconds=4, check=check)


def lstm():
    ids, following = map(jnp.asarray, protocol.lstm_batch())

    def loss_of(params, state):
        embedding, kernel, recurrent_kernel, bias, head, head_bias = params

        def cell(states, z):
            h, c = states
            i, f, g, o = jnp.split(z + h @ recurrent_kernel, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((len(ids), protocol.LSTM_UNITS))
        _, h = jax.lax.scan(cell, (zero, zero), (embedding[ids] @ kernel + bias).swapaxes(0, 1))
        return cross_entropy(h.swapaxes(0, 1) @ head + head_bias, following), state

    params = [jnp.asarray(array) for array in protocol.lstm_weights()]
    return Workload(training_step(loss_of, 1e-3, params), calls=3, seconds=3, check=losses)


def transformer():
    width, heads = protocol.TRANSFORMER_WIDTH, protocol.TRANSFORMER_HEADS
    ids, following = map(jnp.asarray, protocol.transformer_batch())
    length = ids.shape[1]
    unseen = jnp.asarray(np.triu(np.full((length, length), -1e9, np.float32), 1))

    def affine(x, weights):
        return x @ weights[0] + weights[1]

    def norm(x, weights):
        centred = x - jnp.mean(x, -1, keepdims=True)
        variance = jnp.var(x, -1, keepdims=True)
        return centred * jax.lax.rsqrt(variance + protocol.NORM_EPSILON) * weights[0] + weights[1]

    def attention(x):
        q, k, v = x.reshape(*x.shape[:2], 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-2, -1) * (width // heads) ** -0.5
        return (jax.nn.softmax(scores + unseen) @ v).swapaxes(1, 2).reshape(*x.shape[:2], width)

    def loss_of(params, state):
        x = params["token"][ids] + params["position"]
        for block in params["blocks"]:
            x = x + affine(attention(affine(norm(x, block["norm1"]), block["qkv"])), block["out"])
            h = jax.nn.gelu(affine(norm(x, block["norm2"]), block["up"]), approximate=True)
            x = x + affine(h, block["down"])
        return cross_entropy(norm(x, params["norm"]) @ params["head"], following), state

    params = protocol.transformer_weights(jnp.asarray)
    return Workload(training_step(loss_of, 1e-3, params), calls=3, seconds=6, check=losses)


# --- Second derivatives ---


def hvp():
    w, v = jnp.asarray(protocol.flat_mlp_weights()), jnp.asarray(protocol.hvp_direction())
    x, y = map(jnp.asarray, protocol.mlp_batch())

    def loss_of(w):
        parts = [part.reshape(shape) for part, shape in
                 zip(jnp.split(w, np.cumsum(protocol.MLP_SIZES)[:-1]), protocol.MLP_SHAPES)]
        return cross_entropy(dense_stack(list(zip(parts[::2], parts[1::2])), x, jnp.tanh), y)

    product = compiled(lambda w, v: jax.jvp(jax.grad(loss_of), (w,), (v,))[1])
    return Workload(lambda: product(w, v), check=lambda results: float(jnp.linalg.norm(results[0])))


def wgan_gp():
    real, fake, mix = map(jnp.asarray, protocol.critic_batch())

    def loss_of(params, state):
        def critic(x):
            return dense_stack(params, x, leaky_relu)

        between = mix * real + (1 - mix) * fake
        slope = jnp.linalg.norm(jax.grad(lambda x: jnp.sum(critic(x)))(between), axis=1)
        return jnp.mean(critic(fake)) - jnp.mean(critic(real)) + 10 * jnp.mean((slope - 1) ** 2), state

    params = jax.tree.map(jnp.asarray, protocol.dense_stack(protocol.CRITIC_UNITS))
    return Workload(training_step(loss_of, 1e-4, params), calls=3, check=losses)


protocol.run_shared(f"jax {jax.__version__}", options,
                    [op, op_gradient, chain100, regression, mlp_adam, cnn_adam, hvp, wgan_gp, chain10, lstm,
                     transformer],
                    wait=jax.block_until_ready)
