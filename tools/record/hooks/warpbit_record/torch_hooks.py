# SPDX-License-Identifier: Apache-2.0
"""PyTorch: products of libraries, Inductor's own launcher, the blocks of the caching allocator."""
import bisect
import functools
import json
import os

from . import library
from .triton_hooks import parts_of, paused

TYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "float8_e4m3fn": "e4m3",
         "float8_e5m2": "e5m2", "float8_e8m0fnu": "ue8m0", "int8": "s8", "int32": "s32", "uint8": "u8"}


def torch_itself(torch):
    if library.HAS_KERNELS:
        library.find_blocks_by(functools.partial(find_block, torch))
    if library.HAS_PRODUCTS:
        Products(torch).install()


# ---- Memory

def find_block(torch, address):
    """The block of the caching allocator that an address lies in, as the tensor asked for it."""
    for segment in torch.cuda.memory_snapshot():
        if segment["address"] <= address < segment["address"] + segment["total_size"]:
            starts = [block["address"] for block in segment["blocks"]]
            block = segment["blocks"][bisect.bisect_right(starts, address) - 1]
            return block["address"], block.get("requested_size") or block["size"]
    return None


# ---- Launches

def static_launcher(module):
    """Inductor launches without Triton's launcher: run(grid_x, grid_y, grid_z, stream, *args)."""
    for kernel in [c for c in vars(module).values() if isinstance(c, type) and callable(vars(c).get("run"))]:
        if library.HAS_KERNELS and not getattr(kernel.run, "is_watched", False):
            kernel.run = watched_run(kernel.run)


def watched_run(original):
    @functools.wraps(original)
    def run(self, grid_x, grid_y, grid_z, stream, *args):
        if not library.wants(self.function):
            return original(self, grid_x, grid_y, grid_z, stream, *args)
        import triton

        with library.Hint(parts_of(args), library.where(), "triton " + triton.__version__):
            return original(self, grid_x, grid_y, grid_z, stream, *args)

    run.is_watched = True
    return run


def heuristics(module):
    for name in ("bench", "benchmark_all_configs", "coordinate_descent_tuning"):
        paused(module.CachingAutotuner, name)


# ---- Products

class Product:
    """An operation of aten: the names of its arguments that are matrices, as they are in a record."""

    def __init__(self, op, roles, out=None, is_in_place=False):
        self.op, self.roles, self.out, self.is_in_place = op, roles, out, is_in_place

    def operand(self, values, role):
        name = next(name for name, its_role in self.roles.items() if its_role == role)
        return self.matrix(values[name], role)

    def matrix(self, tensor, role):
        """What the operation takes a tensor for: A of a dot product is a row, other vectors of `VECTORS` are columns."""
        if self.op not in VECTORS or tensor.dim() == 2:
            return tensor
        return tensor.view(1, 1) if tensor.dim() == 0 else tensor.unsqueeze(0 if role == "a" else 1)


VECTORS = ("addmv", "dot")

A_B = {"self": "a", "mat2": "b"}
C_A_B = {"self": "c", "mat1": "a", "mat2": "b"}
C_A_VECTOR = {"self": "c", "mat": "a", "vec": "b"}
X_Y = {"self": "a", "tensor": "b"}
C_BATCHES = {"self": "c", "batch1": "a", "batch2": "b"}
SCALED = {"self": "a", "mat2": "b", "bias": "bias", "scale_a": "scale_a", "scale_b": "scale_b"}
OPS = {
    "mm": Product("mm", A_B), "mm.out": Product("mm", A_B, "out"),
    "mm.dtype": Product("mm", A_B), "mm.dtype_out": Product("mm", A_B, "out"),
    "bmm": Product("bmm", A_B), "bmm.out": Product("bmm", A_B, "out"),
    "bmm.dtype": Product("bmm", A_B), "bmm.dtype_out": Product("bmm", A_B, "out"),
    "addmm": Product("addmm", C_A_B), "addmm.out": Product("addmm", C_A_B, "out"),
    "addmm.dtype": Product("addmm", C_A_B), "addmm.dtype_out": Product("addmm", C_A_B, "out"),
    "addmm_": Product("addmm", C_A_B, "self", True),
    "baddbmm": Product("baddbmm", C_BATCHES), "baddbmm.out": Product("baddbmm", C_BATCHES, "out"),
    "baddbmm.dtype": Product("baddbmm", C_BATCHES), "baddbmm.dtype_out": Product("baddbmm", C_BATCHES, "out"),
    "baddbmm_": Product("baddbmm", C_BATCHES, "self", True),
    "addmv": Product("addmv", C_A_VECTOR), "addmv.out": Product("addmv", C_A_VECTOR, "out"),  # which mv calls
    "addmv_": Product("addmv", C_A_VECTOR, "self", True),
    "dot": Product("dot", X_Y),
    "_scaled_mm": Product("scaled_mm", SCALED), "_scaled_mm.out": Product("scaled_mm", SCALED, "out"),
    "_int_mm": Product("int_mm", A_B), "_int_mm.out": Product("int_mm", A_B, "out"),
}


class Unreadable(Exception):
    """Why a product cannot be recorded."""


class Products:
    """Stands in front of the CUDA kernels of aten, below autograd: compiled code comes through here, too."""

    def __init__(self, torch):
        self.torch, self.counts, self.active = torch, {}, False
        self.version = "torch " + torch.__version__
        self.key = torch._C.DispatchKey.BackendSelect
        self.behind = torch._C._dispatch_keyset_full_after(self.key)

    def install(self):
        self.aten = self.torch.library.Library("aten", "IMPL")
        for name, product in OPS.items():
            packet, _, overload = name.partition(".")
            op = getattr(getattr(self.torch.ops.aten, packet, None), overload or "default", None)
            if op is not None:
                self.aten.impl(name, self.watched(op, product), self.key.name, with_keyset=True)

    def watched(self, op, product):
        names = [argument.name for argument in op._schema.arguments]

        def call(keyset, *args, **kwargs):
            def run():
                return op.redispatch(keyset & self.behind, *args, **kwargs)

            values = {**dict(zip(names, args)), **kwargs}
            if not self.is_wanted(product, values):
                return run()
            return self.record(product, values, run)

        return call

    def is_wanted(self, product, values):
        a = product.operand(values, "a")
        if type(a).__name__ not in ("Tensor", "Parameter") or a.device.type != "cuda" or a.numel() == 0:
            return False
        if not library.PRODUCTS.search(product.op) or self.torch.cuda.is_current_stream_capturing():
            return False
        code = (product.op, *((tuple(t.shape), t.stride(), t.dtype) for t in values.values() if hasattr(t, "stride")))
        self.counts[code] = self.counts.get(code, 0) + 1
        if 0 < library.FIRST < self.counts[code]:
            library.left_out("products after the first of each shape (--first)")
            return False
        size = sum(t.untyped_storage().nbytes() for t in values.values() if hasattr(t, "untyped_storage"))
        return library.has_room(size)

    def record(self, product, values, run):
        try:
            members = self.before(product, values)
        except Unreadable as error:
            library.left_out(f"products: {error}")
            members = None
        with library.Collected() as collected:
            result = run()
        if members is not None:
            with library.Paused():
                self.after(product, members, result, run, collected.kernels)
        return result

    # The operands, before anything is written over.
    def before(self, product, values):
        members = {"op": product.op}
        alpha, beta = float(values.get("alpha", 1)), float(values.get("beta", 1))
        for name, role in product.roles.items():
            tensor = values.get(name)
            if tensor is None or (role == "c" and beta == 0):
                continue
            tensor = product.matrix(tensor, role)
            if role == "c" and tensor.dim() == 1 and alpha == beta == 1:
                role = "bias"
            members[role] = self.array(self.expanded(tensor, product, values) if role == "c" else tensor)
        if "c" in product.roles.values():
            members.update(alpha=alpha, beta=beta)
        members.update(self.settings(product, values))
        return members

    @staticmethod
    def expanded(tensor, product, values):
        a, b = product.operand(values, "a"), product.operand(values, "b")
        return tensor.expand(*a.shape[:-1], b.shape[-1])

    def array(self, tensor):
        name = str(tensor.dtype).rpartition(".")[2]
        if name not in TYPES:
            raise Unreadable(f"elements of {name}")
        if tensor.device.type != "cuda":
            raise Unreadable("an operand in the host's memory")
        if any(s < 0 for s in tensor.stride()) or tensor.is_neg() or tensor.is_conj():
            raise Unreadable("an operand that is a view with another sign")
        last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
        data = library.take(tensor.data_ptr(), (last + 1) * tensor.element_size())
        if not data:
            raise Unreadable("memory that cannot be read")
        return {"dtype": TYPES[name], "shape": list(tensor.shape), "strides": list(tensor.stride()), "data": data,
                "address": hex(tensor.data_ptr())}

    def settings(self, product, values):
        matmul = self.torch.backends.cuda.matmul
        if product.op == "scaled_mm":
            return {"fast": bool(values.get("use_fast_accum", False))}
        if product.op == "int_mm":
            return {}
        first = next(t for t in values.values() if hasattr(t, "dtype"))
        if first.dtype == self.torch.float32:
            return {"tf32": self.torch.get_float32_matmul_precision() != "highest" or bool(allowed(matmul, "allow_tf32"))}
        kind = "bf16" if first.dtype == self.torch.bfloat16 else "fp16"
        return {"reduced": bool(allowed(matmul, f"allow_{kind}_reduced_precision_reduction"))}

    # The result and whether a second run makes the same.
    def after(self, product, members, result, run, kernels):
        try:
            members["d"] = self.array(product.matrix(result, "d"))
        except Unreadable as error:
            return library.left_out(f"products: {error}")
        members["kernels"] = json.loads(kernels)
        if library.AGAIN and not product.is_in_place:
            members["stable"] = self.is_stable(product, members["d"], result, run)
        members.update(where=library.where(), library=self.version)
        library.product(product.op, members)

    def is_stable(self, product, d, result, run):
        kept = result.clone() if product.out else None
        again = run()
        size = (sum((n - 1) * s for n, s in zip(again.shape, again.stride())) + 1) * again.element_size()
        same = library.fingerprint(again.data_ptr(), size) == d["data"]
        if kept is not None and not same:
            result.copy_(kept)
        return same



def allowed(matmul, name):
    try:
        return getattr(matmul, name)
    except (AttributeError, RuntimeError):  # PyTorch refuses the old names once the new ones were used
        return False
