# SPDX-License-Identifier: Apache-2.0
"""Programs by torch.compile: parts of nets, and single operations of many kinds."""
import torch
import torch._inductor.config
from torch import nn
from torch.nn import functional as F

from common import program
from models import Net, infer, learn, tokens


@program
def norms():
    names = ["layer", "rms", "group", "instance", "batch", "plain"]
    net = Net(layer=nn.LayerNorm(24), rms=nn.RMSNorm(24), group=nn.GroupNorm(3, 6), batch=nn.BatchNorm1d(6),
              instance=nn.InstanceNorm1d(6, affine=True), plain=nn.LayerNorm(24, elementwise_affine=False))

    def loss(net, x, weight):
        total = (F.normalize(x, dim=-1) * weight).sum()
        for name in names:
            total = total + (getattr(net, name)(x) * weight).sin().mean()
        return total

    results = learn(net, loss, torch.randn(8, 6, 24), torch.randn(8, 6, 24))
    long = torch.randn(3, 5000).cuda()
    return results + infer(lambda x: F.layer_norm(x.half(), (5000,)), long)


@program
def optimizers():
    """Two steps of each, all parameters in a kernel."""
    shapes, found = [(24, 16), (40,), (3, 5, 7)], []
    gradients = [[torch.randn(s).cuda() for s in shapes] for _ in range(2)]
    for kind, options in ((torch.optim.SGD, {"momentum": 0.9, "nesterov": True}), (torch.optim.AdamW, {}),
                          (torch.optim.RMSprop, {"centered": True}), (torch.optim.Adagrad, {})):
        parameters = [torch.randn(s).cuda().requires_grad_() for s in shapes]
        optimizer = kind(parameters, lr=0.01, weight_decay=0.1, foreach=True, **options)
        step = torch.compile(optimizer.step)
        for each in gradients:
            for p, g in zip(parameters, each):
                p.grad = g
            step()
        found += parameters
    return found


@program
def losses():
    def every(x, y, labels):
        p, q = x.log_softmax(-1), y.softmax(-1)
        sign = torch.where(labels > 4, 1.0, -1.0)
        return torch.stack([
            F.cross_entropy(x, labels, label_smoothing=0.1), F.kl_div(p, q), F.mse_loss(x, y), F.l1_loss(x, y),
            F.huber_loss(x, y, delta=0.5), F.poisson_nll_loss(x, q), F.soft_margin_loss(x, y.sign()),
            F.cosine_embedding_loss(x, y, sign, margin=0.2), F.triplet_margin_loss(x, y, x.flip(0)),
            F.margin_ranking_loss(x[:, 0], y[:, 0], sign), F.gaussian_nll_loss(x, y, q),
            F.hinge_embedding_loss(x[:, 1], sign), -(p.gather(1, labels[:, None]) * 0.25).mean()])

    x, y, labels = (x.cuda() for x in (torch.randn(20, 10), torch.randn(20, 10), tokens(20, below=10)))
    x.requires_grad_()
    found = torch.compile(every)(x, y, labels)
    return [found, *torch.autograd.grad(found, x, torch.linspace(1, 2, 13).cuda())]


@program
def activations():
    kinds = [F.relu, F.relu6, F.elu, F.selu, F.celu, F.gelu, F.silu, F.mish, F.softplus, F.softsign, F.hardswish,
             F.hardsigmoid, F.logsigmoid, F.tanhshrink, F.hardtanh, torch.tanh, torch.sigmoid, torch.erf, torch.atan,
             lambda x: F.gelu(x, approximate="tanh")]

    def every(x):
        return torch.stack([kind(x) for kind in kinds])

    found = []
    for dtype in (torch.float32, torch.bfloat16):
        x = (torch.randn(300) * 3).to(dtype).cuda().requires_grad_()
        y = torch.compile(every)(x)
        found += [y, *torch.autograd.grad(y, x, torch.randn(len(kinds), 300).to(dtype).cuda())]
    return found


@program
def functions():
    """Functions of numbers, of f32 and f64; of integers."""
    def floats(x):
        u = x.abs() + 0.25
        return torch.stack([x.exp(), x.expm1(), u.log(), u.log1p(), u.log2(), u.sqrt(), u.rsqrt(), x.sin(), x.cos(),
                            x.tan(), x.tanh(), x.sinh(), x.erf(), x.erfc(), torch.lgamma(u), torch.sigmoid(x),
                            u.pow(x), torch.atan2(x, u), torch.fmod(x, u), torch.remainder(x, u), x.floor(),
                            x.round(), torch.hypot(x, u), (x / 9).asin(), (x / 9).erfinv(), 1 / u, x / u])

    def integers(a, b):
        return torch.stack([a // b, a % b, torch.fmod(a, b), a & b, a ^ b, a << (b & 7), a >> (b & 7), ~a, a * b,
                            a.abs(), a.bitwise_or(b), (a > b).int(), torch.maximum(a, b), a.clamp(-9, 9)])

    x, a, b = torch.randn(200) * 3, torch.randint(-9999, 9999, (200,)).int(), torch.randint(1, 99, (200,)).int()
    return infer(floats, x) + infer(floats, x.double()) + infer(integers, a, b)


@program
def reductions():
    def every(x, i):
        best, at = x.max(-1)
        spread, mean = torch.var_mean(x, 0)
        return [x.sum(), x.sum(0), x.mean(-1), x.prod(-1), x.std(-1), spread, mean, best, at, x.argmin(0),
                x.logsumexp(-1), (x > 2).any(-1), x.norm(dim=-1), x.norm(p=3, dim=0), x.amax((0, 1)), i.sum(-1),
                i.min(0).values, x.cumsum(-1), i.cumsum(-1), x.cummax(-1)[0], x.softmax(0), x.half().sum(-1),
                x.logcumsumexp(-1), x.cumprod(0)]

    return infer(every, torch.randn(12, 300), tokens(12, 300)) + infer(lambda x: x.sum(-1), torch.randn(2, 9000))


@program
def indexing():
    def every(x, i):
        rows, columns = i % 12, i % 20
        return [x[rows], x.gather(1, columns.expand(12, -1)), x.index_select(1, columns), x.roll(3, 0), x.flip(1),
                x.scatter(1, columns[:1].expand(12, 1), 5.0), torch.where(x > 0, x, -1), x.tril(-1),
                x.masked_fill(x < 0, 9), F.one_hot(rows, 12),
                torch.bucketize(x, torch.linspace(-2, 2, 9, device=x.device)),
                x.unfold(1, 4, 2).contiguous(), x.index_put((rows, columns), x[0, 0] + 1.0), x.sort(-1)[0],
                F.pad(x, (2, 1), mode="constant"), torch.cat([x, x.T.reshape(12, 20)], 1), x.repeat(2, 2),
                x.view(torch.int32) >> 3, F.pixel_shuffle(x.view(1, 4, 6, 10), 2), x.diagonal().contiguous()]

    return infer(every, torch.randn(12, 20), tokens(9, below=1000))


@program
def quantized():
    """Products of 8 bits: integers with scales, e4m3."""
    def integers(x, w, scale):
        step = x.abs().amax(-1, keepdim=True) / 127
        return torch._int_mm((x / step).round().to(torch.int8), w) * step * scale

    def floats(x, w, scale):
        step = x.abs().amax() / 448
        return torch._scaled_mm((x / step).to(torch.float8_e4m3fn), w, step, scale, out_dtype=torch.bfloat16)

    x, scale = torch.randn(32, 64), torch.tensor(0.01)
    w = torch.randint(-127, 128, (48, 64)).to(torch.int8).T
    e4m3 = torch.randn(48, 64).to(torch.float8_e4m3fn).T
    return infer(integers, x, w, scale) + infer(floats, x, e4m3, scale)


@program
def tuned():
    """Products as Inductor's templates, with what follows; every configuration that it tries is a launch."""
    torch._inductor.config.max_autotune_gemm_backends = "TRITON"
    net = torch.compile(lambda x, w, b: F.silu(x @ w + b), mode="max-autotune-no-cudagraphs")
    x, w, b = (torch.randn(s).half().cuda() for s in ((64, 96), (96, 64), (64,)))
    with torch.no_grad():
        return [net(x, w, b)]
