#!/usr/bin/env python3
"""Times operators of PyTorch one by one, on a GPU with nothing else to do: each kernel that an operator launches, by the
profiler, with operands that no cache holds. What stands in the platform files of library kernels (which one a size gets,
what it takes beside its products and its bytes) is read off such tables.

    python3 operators.py > operators.csv

Needs PyTorch on a GPU. Columns: the operator; its sizes (gemm: features x tokens x depth, with the layout of operands;
attention: sequences, heads, heads of keys, queries, keys, features of a head; norm and elementwise: rows, features); number format;
kernel: its name, and how many of it a call launches; median, 10th and 90th percentile of the time of those, over the calls.
Operator `host`: time of the calling thread for a call, by the clock.
"""

import collections
import re
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

COLD = 256 << 20  # bytes that lie between two uses of an operand
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "tf32": torch.float32}


def copies(bytes_of_one):
    """How many sets of operands a loop goes through so that each finds its own cold."""
    return max(2, min(64, -(-COLD // max(1, bytes_of_one))))


def random(*sizes, dtype):
    return torch.randn(*sizes, device="cuda", dtype=DTYPES[dtype])


def kernels_of(call, sets, calls):
    """Times in us by name of kernel, of each of `calls` calls, in order of their first launch."""
    for index in range(3):
        call(*sets[index % len(sets)])
    torch.cuda.synchronize()
    time.sleep(0.01)
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for index in range(calls):
            call(*sets[index % len(sets)])
        torch.cuda.synchronize()
    found = collections.OrderedDict()
    events = [event for event in seen.profiler.kineto_results.events() if event.device_type() == torch.autograd.DeviceType.CUDA]
    for event in sorted(events, key=lambda event: event.start_ns()):
        found.setdefault(re.sub(r"[\s,\"]+", " ", event.name())[:100], []).append(event.duration_ns() / 1e3)
    return found


def write(operator, sizes, dtype, call, sets, calls=12):
    try:
        found = kernels_of(call, sets, calls)
    except Exception as fault:  # out of memory, no such kernel
        print(f"# {operator} {sizes} {dtype}: {str(fault).splitlines()[0]}", flush=True)
        return
    for name, times in found.items():
        count = len(times) / calls
        each = int(count) if count >= 1 else 1
        sums = sorted(sum(times[at:at + each]) for at in range(0, len(times) - each + 1, each))
        low, high = sums[len(sums) // 10], sums[-1 - len(sums) // 10]
        print(f"{operator},{sizes},{dtype},{name},{count:g},{statistics.median(sums):.2f},{low:.2f},{high:.2f}", flush=True)


def gemm(m, n, k, dtype, layout, bias=False):
    """`layout` tells what a product is of: y = x W^T of a forward pass, dx = dy W, or dW = dy^T x."""
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    size = 4 if dtype in ("fp32", "tf32") else 2
    number = copies(size * (m * k + n * k + m * n))
    flops = 2.0 * m * n * k
    calls = 12 if flops < 5e11 else 5
    if layout == "forward":
        sets = [(random(n, k, dtype=dtype), random(m, k, dtype=dtype), random(m, dtype=dtype) if bias else None) for _ in range(number)]
        call = lambda x, w, b: F.linear(x, w, b)
    elif layout == "input_gradient":  # features k of the result, depth m of weights' rows: here m = features of x
        sets = [(random(n, k, dtype=dtype), random(k, m, dtype=dtype)) for _ in range(number)]
        call = lambda dy, w: dy @ w
    else:
        sets = [(random(k, m, dtype=dtype), random(k, n, dtype=dtype)) for _ in range(number)]
        call = lambda dy, x: dy.t() @ x
    write("gemm", f"{m}x{n}x{k} {layout}{' bias' if bias else ''}", dtype, call, sets, calls)
    del sets


def gemms():
    llama = [(6144, 4096), (4096, 4096), (14336, 4096), (4096, 14336), (28672, 4096),
             (3072, 4096), (4096, 2048), (7168, 4096), (4096, 7168)]
    large = [(10240, 8192), (8192, 8192), (28672, 8192), (8192, 28672), (5120, 8192), (8192, 4096), (14336, 8192), (8192, 14336),
             (1280, 8192), (8192, 1024), (3584, 8192), (8192, 3584)]
    qwen = [(3584, 3584), (4608, 3584), (18944, 3584), (3584, 18944)]
    bert = [(1024, 1024), (3072, 1024), (4096, 1024), (1024, 4096)]
    for m, k in llama + large + qwen:
        for n in (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192):
            if (m, k) in large + qwen and n in (2, 4, 48, 96, 192, 384, 768):
                continue
            gemm(m, n, k, "bf16", "forward")
    for m, k in bert:
        for n in (128, 512, 1024, 2048, 4096, 8192, 16384):
            gemm(m, n, k, "bf16", "forward", bias=True)
            gemm(m, n, k, "bf16", "input_gradient")
            gemm(m, k, n, "bf16", "weight_gradient")
    for m, k in llama[:5]:
        for n in (512, 1024, 2048, 4096):
            gemm(k, n, m, "bf16", "input_gradient")
            gemm(m, k, n, "bf16", "weight_gradient")
    for dtype in ("fp32", "tf32", "fp16"):
        for m, k in bert + [(4096, 4096), (14336, 4096)]:
            for n in (128, 512, 2048, 8192):
                gemm(m, n, k, dtype, "forward", bias=(m, k) in bert)
                if dtype != "fp16":
                    gemm(k, n, m, dtype, "input_gradient")
                    gemm(m, k, n, dtype, "weight_gradient")
    gemm(30522, 2048, 1024, "bf16", "forward")
    gemm(30522, 2048, 1024, "fp32", "forward")
    gemm(128256, 8, 4096, "bf16", "forward")
    gemm(128256, 2048, 4096, "bf16", "forward")


def attention(batch, heads, key_heads, queries, keys, features, causal, dtype="bf16", backward=False, dropout=0.0):
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    size = 4 if dtype in ("fp32", "tf32") else 2
    number = copies(size * batch * features * (2 * heads * queries + 2 * key_heads * keys))
    number = min(number, max(2, (60 << 30) // max(1, size * batch * features * 2 * key_heads * keys)))
    grad = backward
    sets = [tuple(random(batch, h, t, features, dtype=dtype).requires_grad_(grad)
                  for h, t in ((heads, queries), (key_heads, keys), (key_heads, keys))) for _ in range(number)]
    def call(q, k, v):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=heads != key_heads,
                                             dropout_p=dropout)
        if backward:
            out.backward(out.detach())
    kind = ("causal" if causal else "all") + (" backward" if backward else "") + (f" dropout {dropout}" if dropout else "")
    write("attention", f"{batch} {heads} {key_heads} {queries} {keys} {features} {kind}", dtype, call, sets, 8)


def attentions():
    for heads, key_heads in ((32, 8), (16, 4), (64, 8), (32, 4), (8, 1), (28, 4), (14, 2)):
        for batch in (1, 4, 8, 32, 64, 128):
            for keys in (512, 1024, 2048, 4096, 8192, 16384):
                if batch * keys <= 32 * 16384:
                    attention(batch, heads, key_heads, 1, keys, 128, False)
    for heads, key_heads in ((32, 8), (16, 4), (64, 8), (28, 4)):
        for tokens in (128, 256, 512, 1024, 2048, 4096, 8192, 16384):
            attention(1, heads, key_heads, tokens, tokens, 128, True)
            if tokens <= 8192:
                attention(1, heads, heads, tokens, tokens, 128, True, backward=True)
        attention(4, heads, key_heads, 512, 512, 128, True)
        attention(4, heads, key_heads, 2048, 2048, 128, True)
    for batch, tokens in ((1, 128), (4, 128), (16, 128), (32, 128), (64, 128), (4, 512), (16, 512), (32, 512)):
        for dtype in ("bf16", "fp32"):
            attention(batch, 16, 16, tokens, tokens, 64, False, dtype)
            attention(batch, 16, 16, tokens, tokens, 64, False, dtype, backward=True)


def dropouts():
    attentions_of = ((1, 128), (8, 128), (32, 128), (128, 128), (8, 256), (2, 512), (4, 512), (16, 512), (4, 1024), (2, 2048))
    for batch, tokens in attentions_of:
        for dtype in ("bf16", "fp16", "fp32", "tf32"):
            for dropout in (0.0, 0.1):
                attention(batch, 16, 16, tokens, tokens, 64, False, dtype, backward=True, dropout=dropout)
    for dropout in (0.0, 0.1):
        attention(1, 32, 32, 2048, 2048, 128, True, backward=True, dropout=dropout)


def rows():
    for dtype in ("bf16", "fp32"):
        for features in (1024, 3584, 4096, 8192):
            for number in (1, 8, 32, 128, 256, 512, 1024, 2048, 4096, 8192, 16384):
                size = number * features * 4
                sets = [(random(number, features, dtype=dtype), random(number, features, dtype=dtype), random(features, dtype=dtype))
                        for _ in range(copies(3 * size))]
                write("rms_norm", f"{number} {features}", dtype, lambda x, y, w: F.rms_norm(x, (x.shape[-1],), w), sets)
                write("layer_norm", f"{number} {features}", dtype, lambda x, y, w: F.layer_norm(x, (x.shape[-1],), w, w), sets)
                write("add", f"{number} {features}", dtype, lambda x, y, w: x + y, sets)
                write("silu_mul", f"{number} {features}", dtype, lambda x, y, w: F.silu(x) * y, sets)
                write("gelu", f"{number} {features}", dtype, lambda x, y, w: F.gelu(x), sets)
                write("cast", f"{number} {features}", dtype, lambda x, y, w: x.float() if x.dtype != torch.float32 else x.bfloat16(), sets)
                # The second half of each row of one that follows it, as rotary embeddings and fused projections have them.
                write("strided_copy", f"{number} {features}", dtype, lambda x, y, w: x[:, x.shape[1] // 2:].contiguous(), sets)
                if dtype == "bf16":
                    write("softmax", f"{number} {features}", dtype, lambda x, y, w: F.softmax(x, -1), sets)


def gradients():
    for dtype in ("bf16", "fp32"):
        for number, features in ((2048, 1024), (4096, 1024), (2048, 4096), (4096, 4096), (512, 4096), (16384, 1024)):
            size = number * features * 4
            sets = [(random(number, features, dtype=dtype).requires_grad_(True), random(number, features, dtype=dtype),
                     random(features, dtype=dtype).requires_grad_(True)) for _ in range(copies(3 * size))]
            for name, forward in (("gelu", lambda x, w: F.gelu(x)), ("gelu_tanh", lambda x, w: F.gelu(x, approximate="tanh")),
                                  ("silu", lambda x, w: F.silu(x)), ("dropout", lambda x, w: F.dropout(x, 0.1)),
                                  ("layer_norm", lambda x, w: F.layer_norm(x, (x.shape[-1],), w, w)),
                                  ("rms_norm", lambda x, w: F.rms_norm(x, (x.shape[-1],), w)),
                                  ("softmax", lambda x, w: F.softmax(x, -1))):
                def call(x, dy, w):
                    forward(x, w).backward(dy)
                    x.grad = w.grad = None
                write(f"{name} and gradient", f"{number} {features}", dtype, call, sets)
            write("column_sums", f"{number} {features}", dtype, lambda x, y, w: y.sum(0), sets)
    for rows, words in ((2048, 30522), (4096, 30522), (2048, 128256)):
        for dtype in ("bf16", "fp32"):
            x = random(rows, words, dtype=dtype).requires_grad_(True)
            target = torch.randint(0, words, (rows,), device="cuda")
            def call():
                F.cross_entropy(x, target).backward()
                x.grad = None
            write("cross_entropy and gradient", f"{rows} {words}", dtype, call, [()], 4)
            del x
    # BERT-large's weights, 24 layers.
    shapes = ([(30522, 1024), (512, 1024), (2, 1024)] + 24 * (4 * [(1024, 1024), (1024,)] + [(4096, 1024), (4096,), (1024, 4096), (1024,)] +
              4 * [(1024,)]))
    weights = [torch.randn(*shape, device="cuda").requires_grad_(True) for shape in shapes]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    for name, options in (("foreach", {"foreach": True}), ("fused", {"fused": True})):
        adam = torch.optim.Adam(weights, lr=1e-4, **options)
        write(f"adam {name}", f"{sum(weight.numel() for weight in weights)}", "fp32", adam.step, [()], 4)
    write("zero_grad", f"{sum(weight.numel() for weight in weights)}", "fp32", lambda: adam.zero_grad(set_to_none=False), [()], 4)


def hosts():
    def call_time(name, call, number=300):
        times = []
        for _ in range(7):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(number):
                call()
            times.append((time.perf_counter() - begin) / number * 1e6)
            torch.cuda.synchronize()
        times.sort()
        print(f"host,{name},bf16,,{number},{times[3]:.2f},{times[0]:.2f},{times[-1]:.2f}", flush=True)

    x = random(8, 1024, dtype="bf16")
    w = random(1024, 1024, dtype="bf16")
    norm = random(1024, dtype="bf16")
    q = random(8, 16, 1, 64, dtype="bf16")
    kv = random(8, 16, 256, 64, dtype="bf16")
    call_time("linear", lambda: F.linear(x, w), 200)
    call_time("add", lambda: x + x, 200)
    call_time("silu times", lambda: F.silu(x) * x, 200)
    call_time("rms_norm", lambda: F.rms_norm(x, (1024,), norm), 200)
    call_time("attention", lambda: F.scaled_dot_product_attention(q, kv, kv), 100)
    call_time("cat of halves", lambda: torch.cat((-x[:, 512:], x[:, :512]), -1), 100)
    import torch.distributed as dist
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29511", rank=0, world_size=1, device_id=torch.device("cuda:0"))
    dist.all_reduce(x)
    call_time("all_reduce of one rank", lambda: dist.all_reduce(x), 200)
    out = random(8, 1024, dtype="bf16")
    call_time("all_gather_into_tensor of one rank", lambda: dist.all_gather_into_tensor(out, x), 200)
    call_time("linear and all_reduce of one rank", lambda: dist.all_reduce(F.linear(x, w)), 200)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.manual_seed(1)
    device = torch.cuda.get_device_properties(0)
    print(f"# {device.name}; PyTorch {torch.__version__}, CUDA {torch.version.cuda}; {' '.join(sys.argv)}")
    print("operator,sizes,dtype,kernel,count,median_us,p10_us,p90_us")
    parts = {"hosts": hosts, "gemms": gemms, "attentions": attentions, "dropouts": dropouts, "rows": rows, "gradients": gradients}
    for name in sys.argv[1:] or parts:
        began = time.time()
        parts[name]()
        print(f"{name}: {time.time() - began:.0f} s", file=sys.stderr, flush=True)
