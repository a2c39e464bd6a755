#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three training steps of a small Llama, on fixed tokens; prints the bits of the losses.

Everything that a GPU does here is a Triton kernel that Inductor made, or a product of matrices by cuBLAS: weights enter
by copies, words by products with rows of one 1, and the gradient of the loss is a copied 1. So a recording of this
program can be replayed from its first byte to its last loss. Weights are f32; products take bf16, on tensor cores.
"""
import math
import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch
import torch._inductor.config
from torch import nn

WIDTH, LAYERS, HEADS, GROUPS, SIZE, HIDDEN, WORDS, BATCH, LENGTH, STEPS = 32, 2, 4, 2, 16, 64, 128, 2, 32, 3
RATE, BETA1, BETA2, EPSILON, DECAY = 3e-3, 0.9, 0.95, 1e-8, 0.1

# Attention stays products and a softmax of its own: a library's fused attention would take their place.
torch._inductor.config.pattern_matcher = False


def bf16_product(x, w):
    """x w^T, rounded to bf16 before and after."""
    return x.bfloat16() @ w.bfloat16().T


def one_hot(tokens):
    return (tokens.unsqueeze(-1) == torch.arange(WORDS, device=tokens.device)).bfloat16()


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


def weight(rows, columns):
    return nn.Parameter(torch.randn(rows, columns) / math.sqrt(columns))


def rotate(x):
    """Turns pairs of elements, by their place: x is [batch, heads, length, size]."""
    half = x.shape[-1] // 2
    speeds = torch.exp(torch.arange(half, device=x.device) * (-math.log(10000.0) / half))
    angles = torch.arange(x.shape[-2], device=x.device).unsqueeze(-1) * speeds
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).bfloat16()


class Attention(nn.Module):
    """HEADS queries of SIZE elements; each of GROUPS keys and values serves HEADS / GROUPS of them."""

    def __init__(self):
        super().__init__()
        self.q, self.out = weight(HEADS * SIZE, WIDTH), weight(WIDTH, HEADS * SIZE)
        self.k, self.v = weight(GROUPS * SIZE, WIDTH), weight(GROUPS * SIZE, WIDTH)

    def heads(self, x, w):
        return bf16_product(x, w).unflatten(-1, (-1, SIZE)).transpose(1, 2)

    def forward(self, x):
        q, k, v = rotate(self.heads(x, self.q)), rotate(self.heads(x, self.k)), self.heads(x, self.v)
        k, v = (t.repeat_interleave(HEADS // GROUPS, 1) for t in (k, v))
        place = torch.arange(LENGTH, device=x.device)
        future = place > place.unsqueeze(-1)
        scores = (q @ k.transpose(-2, -1)).float() / math.sqrt(SIZE)
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        y = weights.bfloat16() @ v
        return bf16_product(y.transpose(1, 2).flatten(2), self.out)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = Norm(), Norm(), Attention()
        self.gate, self.up, self.down = weight(HIDDEN, WIDTH), weight(HIDDEN, WIDTH), weight(WIDTH, HIDDEN)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        h = self.norm2(x)
        h = nn.functional.silu(bf16_product(h, self.gate).float()) * bf16_product(h, self.up)
        return x + bf16_product(h, self.down)


class Llama(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Parameter(torch.randn(WIDTH, WORDS))
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = Norm(), weight(WORDS, WIDTH)

    def forward(self, tokens):
        """The mean of the surprise, in nats, at each token but the first."""
        x = bf16_product(one_hot(tokens[:, :-1]), self.words).float()
        for layer in self.layers:
            x = layer(x)
        logits = bf16_product(self.norm(x), self.head).float()
        right = (logits * one_hot(tokens[:, 1:])).sum(-1)
        return (logits.logsumexp(-1) - right).mean()


def adamw(parameters, gradients, means, squares, corrections):
    """A step of AdamW for all parameters, in place. corrections: 1 - BETA1^t and 1 - BETA2^t."""
    for p, g, m, s in zip(parameters, gradients, means, squares):
        m.copy_(BETA1 * m + (1 - BETA1) * g)
        s.copy_(BETA2 * s + (1 - BETA2) * g * g)
        change = m / corrections[0] / ((s / corrections[1]).sqrt() + EPSILON)
        p.copy_(p * (1 - RATE * DECAY) - RATE * change)


def main():
    torch.manual_seed(11)
    model = Llama().cuda()
    tokens = torch.randint(0, WORDS, (BATCH, LENGTH + 1)).cuda()
    parameters = [p.detach() for p in model.parameters()]
    means, squares = ([torch.zeros(p.shape).cuda() for p in parameters] for _ in range(2))
    one = torch.ones(()).cuda()
    forward, update = torch.compile(model), torch.compile(adamw)
    for step in range(1, STEPS + 1):
        corrections = torch.tensor([1 - BETA1**step, 1 - BETA2**step]).cuda()
        loss = forward(tokens)
        gradients = torch.autograd.grad(loss, list(model.parameters()), one)
        with torch.no_grad():
            update(parameters, gradients, means, squares, corrections)
        print(f"step {step}: loss 0x{loss.detach().cpu().view(torch.int32).item():08x} = {loss.item():.6f}", flush=True)


if __name__ == "__main__":
    main()
