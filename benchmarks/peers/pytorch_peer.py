#!/usr/bin/env python3
"""PyTorch on the workloads of shared_workloads.cc. Modes: eager, compile (torch.compile)."""
import torch
import torch.nn.functional as F
from torch import nn

import protocol
from protocol import Workload, last_losses

options = protocol.arguments("eager", "compile")
torch.set_num_threads(options.threads)


def compiled(f):
    return torch.compile(f) if options.mode == "compile" else f


def batch(arrays):
    """Inputs and labels, which PyTorch wants as int64."""
    x, y = map(torch.from_numpy, arrays)
    return x, y.long()


# --- Chains of ops ---


def op():
    protocol.require_eager(options)
    x = torch.tensor([0.999])

    def step():
        with torch.inference_mode():
            for _ in range(100):
                y = x * x
        return y

    return Workload(step, per=100)


def op_gradient():
    x = torch.tensor([0.999], requires_grad=True)
    square = compiled(lambda: x * x)
    return Workload(lambda: torch.autograd.grad(square(), x))


def chain100(n):
    x = torch.full((n,), 0.999, requires_grad=True)
    ones = torch.ones(n)

    @compiled
    def forward():
        y = x
        for _ in range(50):
            y = y * x
            y = y + x
        return y

    return Workload(lambda: torch.autograd.grad(forward(), x, ones)[0], per=100,
                    check=lambda results: float(results[0][0]))


def chain10(n):
    x = torch.from_numpy(protocol.chain10_input(n)).requires_grad_()

    @compiled
    def total():
        t3 = torch.tanh(x * 0.5 + 0.1)
        t6 = torch.exp(t3 * x - 0.3)
        t9 = torch.relu(t6 * 0.25 + t3)
        return (t9 * t9).sum()

    return Workload(lambda: torch.autograd.grad(total(), x)[0], seconds=2,
                    check=lambda results: float(results[0].mean()))


# --- Training steps ---


def regression():
    x = torch.arange(11.0)
    y = x * 10 + 5
    a, b = torch.tensor(0.3, requires_grad=True), torch.tensor(0.7, requires_grad=True)
    ones = torch.ones(11)
    forward = compiled(lambda: torch.abs(y - (a * x + b)))

    def step():
        a_gradient, b_gradient = torch.autograd.grad(forward(), (a, b), ones)
        with torch.no_grad():
            a.sub_(a_gradient * 0.001)
            b.sub_(b_gradient * 0.001)

    return Workload(step, calls=100, check=lambda results: [a.item(), b.item()])


def training_step(parameters, rate, loss_of):
    # The faster one of each mode; the default is neither.
    kind = {"foreach": True} if options.mode == "compile" else {"fused": True}
    optimizer = torch.optim.Adam(parameters, rate, eps=1e-7, **kind)
    forward, update = compiled(loss_of), compiled(optimizer.step)

    def step():
        optimizer.zero_grad()
        loss = forward()
        loss.backward()
        update()
        return loss.detach()

    return step


@torch.no_grad()
def load(layer, kernel, bias):
    """Fills a layer; `kernel` is [in, out] or [height, width, in, out]."""
    layer.weight.copy_(torch.from_numpy(kernel.transpose(*range(kernel.ndim)[::-1][:2], *range(kernel.ndim - 2))))
    layer.bias.copy_(torch.from_numpy(bias))


def dense_model(units, activation):
    parts = []
    for kernel, bias in protocol.dense_stack(units):
        parts += [nn.Linear(*kernel.shape), activation]
        load(parts[-2], kernel, bias)
    return nn.Sequential(*parts[:-1])


def mlp_adam():
    model = dense_model(protocol.MLP_UNITS, nn.ReLU())
    x, y = batch(protocol.mlp_batch())
    step = training_step(model.parameters(), 1e-3, lambda: F.cross_entropy(model(x), y))
    return Workload(step, calls=10, check=last_losses)


def cnn_model(rate):
    parts, channels, weights = [], 1, iter(protocol.cnn_weights())
    for group in protocol.CNN_GROUPS:
        for filters in group:
            convolution = nn.Conv2d(channels, filters, 3, padding=1)
            load(convolution, *next(weights))
            parts += [convolution, nn.ReLU(), nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01)]
            channels = filters
        parts.append(nn.MaxPool2d(2))
    hidden, output = nn.Linear(576, 256), nn.Linear(256, 10)
    kernel, bias = next(weights)
    # Here the channels are flattened before height and width.
    load(hidden, kernel.reshape(3, 3, 64, 256).transpose(2, 0, 1, 3).reshape(576, 256), bias)
    load(output, *next(weights))
    parts += [nn.Flatten(), hidden, nn.ReLU(), nn.BatchNorm1d(256, eps=1e-3, momentum=0.01), nn.Dropout(rate), output]
    return nn.Sequential(*parts)


def cnn_adam():
    x, y = batch(protocol.cnn_batch())
    # The layout in which PyTorch runs convolutions fastest.
    x = x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)

    def make_step(rate):
        model = cnn_model(rate).to(memory_format=torch.channels_last)
        return training_step(model.parameters(), 1e-3, lambda: F.cross_entropy(model(x), y))

    def check(_):
        without_dropout = make_step(0.0)
        return [without_dropout().item() for _ in range(3)]

    return Workload(make_step(protocol.CNN_RATE), seconds=4, check=check)


def lstm():
    embedding, cell, head = (nn.Embedding(65, protocol.LSTM_WIDTH),
                             nn.LSTM(protocol.LSTM_WIDTH, protocol.LSTM_UNITS, batch_first=True),
                             nn.Linear(protocol.LSTM_UNITS, 65))
    weights = [torch.from_numpy(array) for array in protocol.lstm_weights()]
    with torch.no_grad():
        embedding.weight.copy_(weights[0])
        # The order of the gates is the same here.
        cell.weight_ih_l0.copy_(weights[1].T)
        cell.weight_hh_l0.copy_(weights[2].T)
        cell.bias_ih_l0.copy_(weights[3])
        cell.bias_hh_l0.zero_()
        head.weight.copy_(weights[4].T)
        head.bias.copy_(weights[5])
    # Of two biases that are added one is enough.
    cell.bias_hh_l0.requires_grad_(False)
    ids, following = (torch.from_numpy(array).long().contiguous() for array in protocol.lstm_batch())

    def loss_of():
        return F.cross_entropy(head(cell(embedding(ids))[0]).flatten(0, 1), following.flatten())

    parameters = [weight for part in (embedding, cell, head) for weight in part.parameters() if weight.requires_grad]
    return Workload(training_step(parameters, 1e-3, loss_of), calls=3, seconds=3, check=last_losses)


def transformer():
    parameters = []

    def parameter(array):
        parameters.append(nn.Parameter(torch.from_numpy(array)))
        return parameters[-1]

    model = protocol.transformer_weights(parameter)
    width, heads = protocol.TRANSFORMER_WIDTH, protocol.TRANSFORMER_HEADS
    ids, following = (torch.from_numpy(array).long().contiguous() for array in protocol.transformer_batch())

    def affine(x, weights):
        return x @ weights[0] + weights[1]

    def norm(x, weights):
        return F.layer_norm(x, (width,), *weights, protocol.NORM_EPSILON)

    def attention(x):
        q, k, v = x.unflatten(-1, (3, heads, width // heads)).permute(2, 0, 3, 1, 4)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)

    def loss_of():
        x = F.embedding(ids, model["token"]) + model["position"]
        for block in model["blocks"]:
            x = x + affine(attention(affine(norm(x, block["norm1"]), block["qkv"])), block["out"])
            h = F.gelu(affine(norm(x, block["norm2"]), block["up"]), approximate="tanh")
            x = x + affine(h, block["down"])
        return F.cross_entropy((norm(x, model["norm"]) @ model["head"]).flatten(0, 1), following.flatten())

    return Workload(training_step(parameters, 1e-3, loss_of), calls=3, seconds=6, check=last_losses)


# --- Second derivatives ---
#
# What torch.compile has compiled cannot be differentiated twice, but it compiles the derivatives of torch.func. These
# are slower than autograd where nothing is compiled.


def hvp():
    w, v = torch.from_numpy(protocol.flat_mlp_weights()), torch.from_numpy(protocol.hvp_direction())
    x, y = batch(protocol.mlp_batch())

    def loss_of(w):
        parts = [part.view(shape) for part, shape in zip(torch.split(w, protocol.MLP_SIZES), protocol.MLP_SHAPES)]
        k1, b1, k2, b2, k3, b3 = parts
        return F.cross_entropy(torch.tanh(torch.tanh(x @ k1 + b1) @ k2 + b2) @ k3 + b3, y)

    def twice_backward():
        leaf = w.clone().requires_grad_()
        gradient, = torch.autograd.grad(loss_of(leaf), leaf, create_graph=True)
        return torch.autograd.grad(gradient, leaf, v)[0]

    def forward_over_reverse():
        return torch.func.jvp(torch.func.grad(loss_of), (w,), (v,))[1]

    step = compiled(forward_over_reverse) if options.mode == "compile" else twice_backward
    return Workload(step, check=lambda results: float(results[0].norm()))


def wgan_gp():
    critic = dense_model(protocol.CRITIC_UNITS, nn.LeakyReLU(0.2))
    real, fake, mix = map(torch.from_numpy, protocol.critic_batch())

    def slopes(x):
        if options.mode == "compile":
            return torch.func.grad(lambda x: critic(x).sum())(x)
        x.requires_grad_()
        return torch.autograd.grad(critic(x).sum(), x, create_graph=True)[0]

    def loss_of():
        slope = slopes(mix * real + (1 - mix) * fake).norm(dim=1)
        return critic(fake).mean() - critic(real).mean() + 10 * ((slope - 1) ** 2).mean()

    return Workload(training_step(critic.parameters(), 1e-4, loss_of), calls=3, check=last_losses)


protocol.run_shared(f"pytorch {torch.__version__.split('+')[0]}", options,
                    [op, op_gradient, chain100, regression, mlp_adam, cnn_adam, hvp, wgan_gp, chain10, lstm,
                     transformer])
