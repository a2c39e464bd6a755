# SPDX-License-Identifier: Apache-2.0
"""Programs by torch.compile: small nets with random weights, forward and backward. Inductor makes Triton kernels of
them, and calls libraries for products and convolutions.

Products of f32 run on CUDA cores, those under `tf32()` and of bf16 on tensor cores. Not deterministic, and so on
purpose: gpt, t5, gnn, dlrm (gradients of gathers are sums by atomics of f32).
"""
import torch
import torch._inductor.config
from torch import nn
from torch.nn import functional as F

from common import program

# Attention stays products and a softmax: what PyTorch would put in its place has no PTX.
torch._inductor.config.pattern_matcher = False
torch.manual_seed(1)


class Net(nn.Module):
    """Parts by name."""

    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


def tf32():
    torch.set_float32_matmul_precision("high")


def learn(net, loss, *inputs):
    """The loss of a compiled step, and its gradients."""
    net, inputs = net.cuda(), [x.cuda() for x in inputs]
    value = torch.compile(loss)(net, *inputs)
    parameters = [p for p in net.parameters() if p.requires_grad]
    gradients = torch.autograd.grad(value, parameters, torch.ones(()).cuda(), allow_unused=True)
    return [value, *(g for g in gradients if g is not None)]


def infer(function, *inputs):
    """Results of a compiled function."""
    with torch.no_grad():
        result = torch.compile(function)(*(x.cuda() for x in inputs))
    return list(result) if isinstance(result, (list, tuple)) else [result]


def attend(q, k, v, bias=0.0):
    return (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5 + bias).softmax(-1) @ v


def causal(x):
    n = x.shape[1]
    return torch.full((n, n), float("-inf"), device=x.device, dtype=x.dtype).triu(1)


class Attention(nn.Module):
    """To itself, or to a memory."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.v, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory=None, bias=0.0):
        memory = x if memory is None else memory
        y = attend(self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory)), bias)
        return self.out(y.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, norm=nn.LayerNorm, dropout=0.0):
        super().__init__()
        self.norm1, self.norm2 = norm(width), norm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width),
                                 nn.Dropout(dropout))

    def forward(self, x, bias=0.0):
        x = x + self.attention(self.norm1(x), bias=bias)
        return x + self.mlp(self.norm2(x))


def tokens(*shape, below=64):
    return torch.randint(0, below, shape)


@program
def mlp():
    net = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))
    return learn(net, lambda net, x, y: F.cross_entropy(net(x), y), torch.randn(16, 32), tokens(16, below=10))


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs),
                                  nn.ReLU(), nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs))
        self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


@program
def resnet():
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 1, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), Residual(8, 8, 1),
                        Residual(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    return learn(net, lambda net, x, y: F.cross_entropy(net(x), y), torch.randn(2, 3, 16, 16), tokens(2, below=10))


@program
def vit():
    tf32()
    net = Net(patch=nn.Linear(48, 32), place=nn.Parameter(torch.randn(16, 32)), body=nn.Sequential(
        Block(32, 2), Block(32, 4)), norm=nn.LayerNorm(32), head=nn.Linear(32, 10))

    def loss(net, images, labels):
        patches = images.unfold(2, 4, 4).unfold(3, 4, 4).permute(0, 2, 3, 1, 4, 5).reshape(2, 16, 48)
        x = net.body(net.patch(patches) + net.place)
        return F.cross_entropy(net.head(net.norm(x).mean(1)), labels)

    return learn(net, loss, torch.randn(2, 3, 16, 16), tokens(2, below=10))


@program
def gpt():
    net = Net(words=nn.Embedding(64, 32), places=nn.Embedding(16, 32), one=Block(32, 4), two=Block(32, 4),
              norm=nn.LayerNorm(32))

    def loss(net, x):
        at = torch.arange(x.shape[1] - 1, device=x.device)
        h = net.words(x[:, :-1]) + net.places(at)
        bias = causal(h)
        h = net.norm(net.two(net.one(h, bias), bias))
        return F.cross_entropy((h @ net.words.weight.T).flatten(0, 1), x[:, 1:].flatten())

    return learn(net, loss, tokens(2, 17))


@program
def llama_decode():
    """Tokens one by one, with a cache of keys and values, in bf16."""
    tf32()
    width, heads, length = 64, 4, 8
    net = Net(words=nn.Embedding(64, width), q=nn.Linear(width, width, bias=False),
              kv=nn.Linear(width, width, bias=False), out=nn.Linear(width, width, bias=False), norm=nn.RMSNorm(width),
              gate=nn.Linear(width, 128, bias=False), up=nn.Linear(width, 128, bias=False),
              down=nn.Linear(128, width, bias=False)).bfloat16().cuda()

    def rotate(x, at):
        angles = at * 1000.0 ** -torch.linspace(0, 1, 8, device=x.device)
        a, b = x.float().chunk(2, -1)
        return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1).to(x.dtype)

    def step(token, at, keys, values):
        x = net.words(token)
        h = net.norm(x)
        q = rotate(net.q(h).view(-1, heads, 16), at)
        k, v = net.kv(h).view(-1, 2, 2, 16).unbind(1)
        keys.index_copy_(1, at, rotate(k, at).unsqueeze(1))
        values.index_copy_(1, at, v.unsqueeze(1))
        k, v = (c.repeat_interleave(2, 2).permute(0, 2, 1, 3) for c in (keys, values))
        seen = torch.arange(length, device=x.device) <= at
        scores = (q.unsqueeze(2) @ k.transpose(-2, -1) / 4).masked_fill(~seen, float("-inf"))
        x = x + net.out((scores.softmax(-1) @ v).flatten(1))
        h = net.norm(x)
        x = x + net.down(F.silu(net.gate(h)) * net.up(h))
        return (x @ net.words.weight.T).argmax(-1)

    step, token = torch.compile(step), tokens(2).cuda()
    keys, values = (torch.zeros(2, length, 2, 16, dtype=torch.bfloat16).cuda() for _ in range(2))
    found = []
    with torch.no_grad():
        for at in range(4):
            token = step(token, torch.tensor([at]).cuda(), keys, values)
            found.append(token)
    return [*found, keys, values]


@program
def mixtral():
    """Two of four experts for each token."""
    tf32()
    net = Net(norm=nn.RMSNorm(32), attention=Attention(32, 2), route=nn.Linear(32, 4, bias=False),
              up=nn.Parameter(torch.randn(4, 32, 48) / 6), gate=nn.Parameter(torch.randn(4, 32, 48) / 6),
              down=nn.Parameter(torch.randn(4, 48, 32) / 7))

    def loss(net, x, y):
        x = x + net.attention(net.norm(x), bias=causal(x))
        h = net.norm(x).flatten(0, 1)
        weights, experts = net.route(h).softmax(-1).topk(2)
        chosen = (F.one_hot(experts, 4) * (weights / weights.sum(-1, keepdim=True)).unsqueeze(-1)).sum(1)
        each = (F.silu(h @ net.gate) * (h @ net.up)) @ net.down
        return (x.flatten(0, 1) + (each * chosen.T.unsqueeze(-1)).sum(0) - y.flatten(0, 1)).square().mean()

    return learn(net, loss, torch.randn(2, 16, 32), torch.randn(2, 16, 32))


@program
def mamba():
    """A selective scan, step by step."""
    net = Net(into=nn.Linear(16, 64), dt=nn.Linear(32, 32), bc=nn.Linear(32, 16), out=nn.Linear(32, 16),
              log_a=nn.Parameter(torch.rand(32, 8)), skip=nn.Parameter(torch.ones(32)),
              taps=nn.Parameter(torch.randn(3, 32)))

    def loss(net, x, y):
        h, gate = net.into(x).chunk(2, -1)
        past = F.pad(h, (0, 0, 2, 0))
        h = F.silu(sum(past[:, i:i + h.shape[1]] * net.taps[i] for i in range(3)))
        dt, (b, c) = F.softplus(net.dt(h)), net.bc(h).chunk(2, -1)
        decay = torch.exp(-dt.unsqueeze(-1) * net.log_a.exp())
        state, steps = torch.zeros_like(decay[:, 0]), []
        for t in range(h.shape[1]):
            state = decay[:, t] * state + (dt[:, t] * h[:, t]).unsqueeze(-1) * b[:, t].unsqueeze(1)
            steps.append((state * c[:, t].unsqueeze(1)).sum(-1))
        found = net.out((torch.stack(steps, 1) + h * net.skip) * F.silu(gate))
        return F.mse_loss(found, y)

    return learn(net, loss, torch.randn(2, 6, 16), torch.randn(2, 6, 16))


@program
def unet():
    def double(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.GroupNorm(2, o), nn.SiLU())

    net = Net(down1=double(1, 8), down2=double(8, 16), up=nn.ConvTranspose2d(16, 8, 2, 2), last=double(16, 8),
              head=nn.Conv2d(8, 1, 1))

    def loss(net, x, y):
        one = net.down1(x)
        two = net.down2(F.max_pool2d(one, 2))
        up = net.up(two) + F.interpolate(two[:, :8], scale_factor=2, mode="bilinear")
        return F.binary_cross_entropy_with_logits(net.head(net.last(torch.cat([one, up], 1))), y)

    return learn(net, loss, torch.randn(2, 1, 16, 16), torch.rand(2, 1, 16, 16).round())


@program
def lstm():
    net = Net(x=nn.Linear(12, 64), h=nn.Linear(16, 64, bias=False), head=nn.Linear(16, 5))

    def loss(net, xs, labels):
        h = c = torch.zeros_like(xs[0, :, :1]).expand(-1, 16)
        for t in range(4):
            i, f, g, o = (net.x(xs[t]) + net.h(h)).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        return F.cross_entropy(net.head(h), labels)

    return learn(net, loss, torch.randn(4, 8, 12), tokens(8, below=5))


@program
def gru():
    net = Net(x=nn.Linear(16, 48), h=nn.Linear(16, 48), head=nn.Linear(16, 16)).bfloat16()

    def loss(net, xs, y):
        h = torch.tanh(xs[0])
        for t in range(4):
            (xr, xz, xn), (hr, hz, hn) = net.x(xs[t]).chunk(3, -1), net.h(h).chunk(3, -1)
            z = (xz + hz).sigmoid()
            h = (1 - z) * (xn + (xr + hr).sigmoid() * hn).tanh() + z * h
        return F.smooth_l1_loss(net.head(h).float(), y)

    return learn(net, loss, torch.randn(4, 8, 16).bfloat16(), torch.randn(8, 16))


@program
def autoencoder():
    """Variational: noise by Inductor's generator."""
    net = Net(encode=nn.Sequential(nn.Linear(48, 32), nn.ELU(), nn.Linear(32, 16)),
              decode=nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(), nn.Linear(32, 48), nn.Sigmoid()))

    def loss(net, x):
        mean, log = net.encode(x).chunk(2, -1)
        y = net.decode(mean + torch.randn_like(mean) * (log / 2).exp())
        return F.binary_cross_entropy(y, x) - (1 + log - mean.square() - log.exp()).mean() / 2

    return learn(net, loss, torch.rand(16, 48))


@program
def diffusion():
    """A block of a denoiser: the time by sines, group norm, attention over places."""
    tf32()
    net = Net(time=nn.Sequential(nn.Linear(16, 32), nn.SiLU(), nn.Linear(32, 32)), into=nn.Linear(4, 32),
              norm=nn.GroupNorm(4, 32), attention=Attention(32, 2), out=nn.Linear(32, 4))

    def loss(net, x, noise, time):
        angles = time[:, None] * torch.exp(-torch.arange(8, device=x.device) * 0.9)
        t = net.time(torch.cat([angles.sin(), angles.cos()], -1))
        level = torch.cos(time / 1000 * 1.57)[:, None, None]
        h = net.into(level * x + (1 - level.square()).sqrt() * noise) + t.unsqueeze(1)
        h = h + net.attention(F.silu(net.norm(h.transpose(1, 2))).transpose(1, 2))
        return F.mse_loss(net.out(h), noise)

    return learn(net, loss, torch.randn(2, 36, 4), torch.randn(2, 36, 4), torch.tensor([17.0, 640.0]))


@program
def gnn():
    """Messages along edges, summed where they arrive."""
    net = Net(message=nn.Linear(20, 16), update=nn.Linear(24, 8), head=nn.Linear(8, 1))

    def loss(net, x, edges, about, y):
        source, target = edges[0], edges[1]
        for _ in range(2):
            sent = F.relu(net.message(torch.cat([x[source], x[target], about], -1)))
            came = torch.zeros(x.shape[0], 16, device=x.device).index_add(0, target, sent)
            x = x + torch.tanh(net.update(torch.cat([x, came], -1)))
        return F.huber_loss(net.head(x).squeeze(-1), y)

    return learn(net, loss, torch.randn(24, 8), tokens(2, 90, below=24), torch.randn(90, 4), torch.randn(24))


@program
def dlrm():
    """Bags of categories, and products of their vectors."""
    net = Net(bags=nn.ModuleList(nn.Embedding(n, 16) for n in (50, 20, 7)), dense=nn.Linear(6, 16),
              top=nn.Sequential(nn.Linear(22, 16), nn.ReLU(), nn.Linear(16, 1)))

    def loss(net, dense, categories, clicked):
        vectors = [F.relu(net.dense(dense))]
        vectors += [bag(categories[i] % bag.num_embeddings).sum(1) for i, bag in enumerate(net.bags)]
        x = torch.stack(vectors, 1)
        pairs = torch.bmm(x, x.transpose(1, 2))
        rows, columns = torch.tril_indices(4, 4, -1, device=x.device)
        found = net.top(torch.cat([vectors[0], pairs[:, rows, columns]], -1))
        return F.binary_cross_entropy_with_logits(found.squeeze(-1), clicked)

    return learn(net, loss, torch.randn(12, 6), tokens(3, 12, 5), torch.rand(12).round())


@program
def t5():
    """An encoder and a decoder, with a bias by distance."""
    tf32()
    net = Net(words=nn.Embedding(64, 32), distance=nn.Embedding(23, 2), encoder=Block(32, 2, nn.RMSNorm),
              decoder=Block(32, 2, nn.RMSNorm), norm=nn.RMSNorm(32), cross=Attention(32, 2))

    def loss(net, x, y):
        at = torch.arange(12, device=x.device)
        bias = net.distance((at[None] - at[:, None]).clamp(-11, 11) + 11).permute(2, 0, 1)
        memory = net.encoder(net.words(x), bias)
        h = net.words(y[:, :-1])
        h = net.decoder(h, bias[:, :11, :11] + causal(h))
        h = net.norm(h + net.cross(net.norm(h), memory))
        return F.cross_entropy((h @ net.words.weight.T).flatten(0, 1) / 6, y[:, 1:].flatten(), label_smoothing=0.1)

    return learn(net, loss, tokens(2, 12), tokens(2, 12))


@program
def bert():
    """With dropout, padding and masked words; words enter by a product, so that no gradient is a sum by atomics."""
    net = Net(words=nn.Linear(64, 32, bias=False), one=Block(32, 2, dropout=0.1), two=Block(32, 4, dropout=0.1),
              norm=nn.LayerNorm(32), head=nn.Linear(32, 64))

    def loss(net, x, lengths, labels):
        padding = torch.arange(16, device=x.device) >= lengths[:, None]
        bias = torch.where(padding, -1e9, 0.0)[:, None, None]
        h = net.norm(net.words(F.one_hot(x, 64).float()))
        h = net.two(net.one(h, bias), bias)
        return F.cross_entropy(net.head(h).flatten(0, 1), labels.flatten(), ignore_index=-100)

    labels = torch.where(torch.rand(2, 16) < 0.3, tokens(2, 16), -100)
    return learn(net, loss, tokens(2, 16), torch.tensor([16, 11]), labels)


@program
def wavenet():
    """Causal taps, further and further apart, by products."""
    net = Net(into=nn.Linear(1, 16), now=nn.ModuleList(nn.Linear(16, 32) for _ in range(4)),
              past=nn.ModuleList(nn.Linear(16, 32, bias=False) for _ in range(4)),
              out=nn.ModuleList(nn.Linear(16, 32) for _ in range(4)), head=nn.Linear(16, 32))

    def loss(net, x, y):
        h, skips = net.into(x.unsqueeze(-1)), 0.0
        for i, (now, past, out) in enumerate(zip(net.now, net.past, net.out)):
            before = F.pad(h, (0, 0, 2**i, 0))[:, :h.shape[1]]
            value, gate = (now(h) + past(before)).chunk(2, -1)
            step, skip = out(value.tanh() * gate.sigmoid()).chunk(2, -1)
            h, skips = h + step, skips + skip
        return F.nll_loss(net.head(F.relu(skips)).log_softmax(-1).flatten(0, 1), y.flatten())

    return learn(net, loss, torch.randn(2, 32), tokens(2, 32, below=32))


@program
def flex():
    """Attention as Inductor's template makes it, with a bias by distance."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 128, 128, device="cpu").to("cuda")
    q, k, v = (torch.randn(1, 2, 128, 16).cuda().requires_grad_() for _ in range(3))
    attend = torch.compile(flex_attention, dynamic=False)
    found = attend(q, k, v, lambda s, b, h, i, j: s - (i - j).abs() * 0.1, block_mask=mask)
    return [found, *torch.autograd.grad(found, (q, k, v), torch.randn(1, 2, 128, 16).cuda())]
