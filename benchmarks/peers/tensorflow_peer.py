#!/usr/bin/env python3
"""TensorFlow on the workloads of shared_workloads.cc. Modes: eager, function (tf.function), xla (with jit_compile)."""
import os

# Read when TensorFlow is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import tensorflow as tf

import protocol
from protocol import Workload, last_losses

options = protocol.arguments("eager", "function", "xla")
tf.config.threading.set_intra_op_parallelism_threads(options.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)


def compiled(f):
    return f if options.mode == "eager" else tf.function(f, jit_compile=options.mode == "xla", autograph=False)


# --- Chains of ops ---


def op():
    protocol.require_eager(options)
    x = tf.constant([0.999])

    def step():
        for _ in range(100):
            y = x * x
        return y

    return Workload(step, per=100)


def op_gradient():
    x = tf.constant([0.999])

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    return Workload(compiled(step))


def chain100(n):
    x = tf.constant(np.full(n, 0.999, np.float32))

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(50):
                y = y * x
                y = y + x
        return tape.gradient(y, x)

    return Workload(compiled(step), per=100, check=lambda results: float(results[0][0]))


def chain10(n):
    x = tf.constant(protocol.chain10_input(n))

    def step():
        with tf.GradientTape() as tape:
            tape.watch(x)
            t3 = tf.tanh(x * 0.5 + 0.1)
            t6 = tf.exp(t3 * x - 0.3)
            t9 = tf.nn.relu(t6 * 0.25 + t3)
            total = tf.reduce_sum(t9 * t9)
        return tape.gradient(total, x)

    return Workload(compiled(step), seconds=2, check=lambda results: float(tf.reduce_mean(results[0])))


# --- Training steps ---


def regression():
    x = tf.constant(np.arange(11, dtype=np.float32))
    y = x * 10 + 5
    a, b = tf.Variable(0.3), tf.Variable(0.7)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.abs(y - (a * x + b))
        a_gradient, b_gradient = tape.gradient(loss, (a, b))
        a.assign_sub(a_gradient * 0.001)
        b.assign_sub(b_gradient * 0.001)
        return loss

    return Workload(compiled(step), calls=100, check=lambda results: [float(a), float(b)])


def training_step(variables, rate, loss_of):
    optimizer = keras.optimizers.Adam(rate)
    optimizer.build(variables)

    def step():
        with tf.GradientTape() as tape:
            loss = loss_of()
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return compiled(step)


def dense_model(units, activation):
    model = keras.Sequential([keras.Input(units[:1])])
    for n in units[1:-1]:
        model.add(keras.layers.Dense(n, activation))
    model.add(keras.layers.Dense(units[-1]))
    model.set_weights([array for layer in protocol.dense_stack(units) for array in layer])
    return model


def mlp_adam():
    model = dense_model(protocol.MLP_UNITS, "relu")
    x, y = map(tf.constant, protocol.mlp_batch())
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    step = training_step(model.trainable_variables, 1e-3, lambda: cross_entropy(y, model(x, training=True)))
    return Workload(step, calls=10, check=last_losses)


def cnn_model(rate):
    layers = keras.layers
    model = keras.Sequential([keras.Input((28, 28, 1))])
    for group in protocol.CNN_GROUPS:
        for filters in group:
            model.add(layers.Conv2D(filters, (3, 3), padding="same"))
            model.add(layers.Activation("relu"))
            model.add(layers.BatchNormalization())
        model.add(layers.MaxPooling2D((2, 2)))
    model.add(layers.Flatten())
    model.add(layers.Dense(256))
    model.add(layers.Activation("relu"))
    model.add(layers.BatchNormalization())
    model.add(layers.Dropout(rate))
    model.add(layers.Dense(10))
    weighted = [layer for layer in model.layers if isinstance(layer, (layers.Conv2D, layers.Dense))]
    for layer, weights in zip(weighted, protocol.cnn_weights(), strict=True):
        layer.set_weights(weights)
    return model


def cnn_adam():
    x, y = map(tf.constant, protocol.cnn_batch())
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def make_step(rate):
        model = cnn_model(rate)
        return training_step(model.trainable_variables, 1e-3, lambda: cross_entropy(y, model(x, training=True)))

    def check(_):
        without_dropout = make_step(0.0)
        return [float(without_dropout()) for _ in range(3)]

    return Workload(make_step(protocol.CNN_RATE), seconds=4, check=check)


def lstm():
    layers = keras.layers
    ids, following = map(tf.constant, protocol.lstm_batch())
    model = keras.Sequential([keras.Input(ids.shape[1:], dtype="int32"), layers.Embedding(65, protocol.LSTM_WIDTH),
                              layers.LSTM(protocol.LSTM_UNITS, return_sequences=True), layers.Dense(65)])
    model.set_weights(protocol.lstm_weights())
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    step = training_step(model.trainable_variables, 1e-3, lambda: cross_entropy(following, model(ids, training=True)))
    return Workload(step, calls=3, seconds=3, check=last_losses)


def transformer():
    variables = []

    def variable(array):
        variables.append(tf.Variable(array))
        return variables[-1]

    model = protocol.transformer_weights(variable)
    width, heads = protocol.TRANSFORMER_WIDTH, protocol.TRANSFORMER_HEADS
    ids, following = map(tf.constant, protocol.transformer_batch())
    batch, length = ids.shape
    unseen = tf.constant(np.triu(np.full((length, length), -1e9, np.float32), 1))

    def affine(x, weights):
        return x @ weights[0] + weights[1]

    def norm(x, weights):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + protocol.NORM_EPSILON) * weights[0] + weights[1]

    def attention(x):
        x = tf.reshape(x, (batch, length, 3, heads, width // heads))
        q, k, v = tf.unstack(tf.transpose(x, (2, 0, 3, 1, 4)))
        scores = tf.matmul(q, k, transpose_b=True) * (width // heads) ** -0.5
        return tf.reshape(tf.transpose(tf.nn.softmax(scores + unseen) @ v, (0, 2, 1, 3)), (batch, length, width))

    def loss_of():
        x = tf.gather(model["token"], ids) + model["position"]
        for block in model["blocks"]:
            x = x + affine(attention(affine(norm(x, block["norm1"]), block["qkv"])), block["out"])
            h = tf.nn.gelu(affine(norm(x, block["norm2"]), block["up"]), approximate=True)
            x = x + affine(h, block["down"])
        logits = norm(x, model["norm"]) @ model["head"]
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(following, logits))

    return Workload(training_step(variables, 1e-3, loss_of), calls=3, seconds=6, check=last_losses)


# --- Second derivatives ---


def hvp():
    w, v = tf.constant(protocol.flat_mlp_weights()), tf.constant(protocol.hvp_direction())
    x, y = map(tf.constant, protocol.mlp_batch())

    def loss_of(w):
        k1, b1, k2, b2, k3, b3 = map(tf.reshape, tf.split(w, protocol.MLP_SIZES), protocol.MLP_SHAPES)
        logits = tf.tanh(tf.tanh(x @ k1 + b1) @ k2 + b2) @ k3 + b3
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))

    def step():
        with tf.GradientTape() as outer:
            outer.watch(w)
            with tf.GradientTape() as inner:
                inner.watch(w)
                loss = loss_of(w)
            gradient = inner.gradient(loss, w)
        return outer.gradient(gradient, w, output_gradients=v)

    return Workload(compiled(step), check=lambda results: float(tf.norm(results[0])))


def wgan_gp():
    critic = dense_model(protocol.CRITIC_UNITS, lambda t: tf.nn.leaky_relu(t, 0.2))
    real, fake, mix = map(tf.constant, protocol.critic_batch())

    def loss_of():
        between = mix * real + (1 - mix) * fake
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(between)
            score = critic(between)
        slope = tf.norm(tape.gradient(score, between), axis=1)
        return tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real)) + 10 * tf.reduce_mean((slope - 1) ** 2)

    return Workload(training_step(critic.trainable_variables, 1e-4, loss_of), calls=3, check=last_losses)


# Taking a result to numpy returns when it has been computed.
protocol.run_shared(f"tensorflow {tf.__version__}", options,
                    [op, op_gradient, chain100, regression, mlp_adam, cnn_adam, hvp, wgan_gp, chain10, lstm,
                     transformer],
                    wait=lambda result: result.numpy())
