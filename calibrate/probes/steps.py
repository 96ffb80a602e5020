#!/usr/bin/env python3
"""Times whole steps of PyTorch on one GPU: layers like LLaMA's from a CUDA graph and op by op, training of BERT.

    python3 steps.py [layers] [bert] > steps.csv
    python3 steps.py operators > energies.csv

Needs PyTorch on a GPU. Columns: what is done, the model, its layers, sequences, new tokens of each, cached ones, number
format, part; median, 10th and 90th percentile in us of one step at a time, a millisecond after the one before, by the
clock of the thread that launches it and waits for it. Part `sum:KIND`: all kernels of a kind in one step, by the profiler,
as their names tell it. Part `loop`: one of the steps that follow each other for a second behind a second of rest, with its
energy in joules by the GPU's counter, and the mean clock in MHz. `operators` loops over operators by themselves, whose
operands no cache holds: attention of queries of each sequence to as many keys, cached ones among them.
"""

import collections
import ctypes
import sys
import threading
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

KINDS = (("gemm", ("nvjet", "gemm", "splitk")), ("attention", ("sdpa", "fmha", "flash", "lean_reduction", "dot_do_o", "convert_dq")),
         ("norm", ("norm",)), ("optimizer", ("multi_tensor",)), ("softmax", ("softmax", "nll")),
         ("copy", ("copy", "memcpy", "catarray")), ("elementwise", ("elementwise", "dropout", "reduce_kernel")))


def percentiles(step, number):
    times = []
    for _ in range(number):
        torch.cuda.synchronize()
        time.sleep(1e-3)
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6)
    times.sort()
    return times[number // 2], times[number // 10], times[-1 - number // 10]


def print_row(of, part, times, joules=None, clock=None):
    low, high = times[1:] if len(times) > 1 else (times[0], times[0])
    others = [f"{joules:.4g}", f"{clock:.0f}"] if joules else ["", ""]
    print(",".join([*map(str, of), part, f"{times[0]:.2f}", f"{low:.2f}", f"{high:.2f}", *others]), flush=True)


def print_kinds(of, step):
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    sums = collections.Counter()
    for event in seen.profiler.kineto_results.events():
        if event.device_type() != torch.autograd.DeviceType.CUDA:
            continue
        name = event.name().lower()
        kind = next((kind for kind, words in KINDS if any(word in name for word in words)), "other")
        sums[kind] += event.duration_ns() / 1e3
    for kind, total in sorted(sums.items()):
        print_row(of, f"sum:{kind}", (total,))


class Board:
    """Its energy and clock, by the driver's library."""

    def __init__(self):
        self.library = ctypes.CDLL("libnvidia-ml.so.1")
        self.library.nvmlInit_v2()
        self.device = ctypes.c_void_p()
        self.library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device))

    def joules(self):
        millijoules = ctypes.c_ulonglong()
        self.library.nvmlDeviceGetTotalEnergyConsumption(self.device, ctypes.byref(millijoules))
        return millijoules.value / 1e3

    def clock(self):
        megahertz = ctypes.c_uint()
        self.library.nvmlDeviceGetClockInfo(self.device, 1, ctypes.byref(megahertz))
        return megahertz.value


def print_loop(of, step, seconds=1.0, of_one=1):
    """Prints what one of `of_one` things takes that a step does."""
    board = Board()
    torch.cuda.synchronize()
    time.sleep(1.0)
    clocks, running = [], True

    def watch():
        while running:
            clocks.append(board.clock())
            time.sleep(0.01)

    watcher = threading.Thread(target=watch)
    begin, joules, count = time.perf_counter(), board.joules(), 0
    watcher.start()
    while time.perf_counter() - begin < seconds:
        for _ in range(4):
            step()
        torch.cuda.synchronize()
        count += 4
    passed, joules, running = time.perf_counter() - begin, board.joules() - joules, False
    watcher.join()
    count *= of_one
    print_row(of, "loop", (passed / count * 1e6,), joules / count, sum(clocks) / len(clocks))


LLAMA_LIKE = {"llama3-8b": (4096, 32, 8, 14336), "qwen2-7b": (3584, 28, 4, 18944), "llama3-70b": (8192, 64, 8, 28672)}


@torch.no_grad()
def llama_like(model, layers, batch, tokens, context, dtype="bf16"):
    hidden, heads, key_heads, ffn = LLAMA_LIKE[model]
    features, number = 128, {"bf16": torch.bfloat16, "fp16": torch.float16}[dtype]
    random = lambda *sizes: torch.randn(*sizes, device="cuda", dtype=number) * 0.02
    weights = [(random(hidden), random((heads + 2 * key_heads) * features, hidden), random(hidden, heads * features),
                random(hidden), random(2 * ffn, hidden), random(hidden, ffn)) for _ in range(layers)]
    caches = [random(2, batch, key_heads, context, features) for _ in range(layers)] if context else None
    x = random(batch, tokens, hidden)

    def step():
        y = x
        for index, (norm, qkv, out, second_norm, up, down) in enumerate(weights):
            q, k, v = F.linear(F.rms_norm(y, (hidden,), norm), qkv).split([n * features for n in (heads, key_heads, key_heads)], -1)
            q, k, v = (z.view(batch, tokens, -1, features).transpose(1, 2) for z in (q, k, v))
            if context:
                cache = caches[index]
                cache[0, :, :, -tokens:].copy_(k)
                cache[1, :, :, -tokens:].copy_(v)
                k, v = cache[0], cache[1]
            z = F.scaled_dot_product_attention(q, k, v, is_causal=not context, enable_gqa=True)
            y = y + F.linear(z.transpose(1, 2).reshape(batch, tokens, -1), out)
            a, b = F.linear(F.rms_norm(y, (hidden,), second_norm), up).chunk(2, -1)
            y = y + F.linear(F.silu(a) * b, down)
        return y

    of = ("decode" if context else "prefill", model, layers, batch, tokens, context, dtype)
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    graph.replay()
    print_row(of, "step_graph", percentiles(graph.replay, 25))
    print_row(of, "step_eager", percentiles(step, 25))
    print_kinds(of, graph.replay)
    print_loop(of, graph.replay)
    del weights, caches, graph
    torch.cuda.empty_cache()


class Layer(torch.nn.Module):
    def __init__(self, hidden, heads, ffn):
        super().__init__()
        self.heads = heads
        self.first_norm, self.second_norm = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.qkv, self.out = torch.nn.Linear(hidden, 3 * hidden), torch.nn.Linear(hidden, hidden)
        self.up, self.down = torch.nn.Linear(hidden, ffn), torch.nn.Linear(ffn, hidden)

    def forward(self, x):
        batch, tokens, hidden = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        z = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1)
        x = self.first_norm(x + F.dropout(self.out(z.transpose(1, 2).reshape(batch, tokens, hidden)), 0.1))
        return self.second_norm(x + F.dropout(self.down(F.gelu(self.up(x))), 0.1))


BERT = {"bert-large": (24, 1024, 16, 4096)}
WORDS = 30522


def bert(model, batch, tokens, dtype):
    layers, hidden, heads, ffn = BERT[model]
    torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
    cast = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(dtype)
    words, places = torch.nn.Embedding(WORDS, hidden).cuda(), torch.nn.Embedding(512, hidden).cuda()
    encoder = torch.nn.Sequential(*(Layer(hidden, heads, ffn) for _ in range(layers))).cuda()
    ids = torch.randint(0, WORDS, (batch, tokens), device="cuda")
    scored = torch.randperm(batch * tokens, device="cuda")[:int(0.15 * batch * tokens + 0.5)]
    target = torch.randint(0, WORDS, (len(scored),), device="cuda")
    parameters = [*words.parameters(), *places.parameters(), *encoder.parameters()]
    adam = torch.optim.AdamW(parameters, lr=1e-4, foreach=True)

    def forward():
        with torch.autocast("cuda", cast or torch.bfloat16, enabled=cast is not None):
            x = words(ids) + places(torch.arange(tokens, device="cuda"))
            scores = F.linear(encoder(x).view(-1, hidden)[scored], words.weight)
            return F.cross_entropy(scores.float(), target)

    def forward_backward():
        adam.zero_grad()
        forward().backward()

    def step():
        forward_backward()
        adam.step()

    of = ("train", model, layers, batch, tokens, 0, dtype)
    for _ in range(3):
        step()
    print_row(of, "forward", percentiles(forward, 15))
    print_row(of, "forward_backward", percentiles(forward_backward, 15))
    print_row(of, "step", percentiles(step, 15))
    print_kinds(of, step)
    print_loop(of, step)
    del encoder, adam, parameters
    torch.cuda.empty_cache()


def all_layers():
    for batch, context in ((1, 1024), (8, 1024), (32, 8192), (128, 1024), (16, 2048), (64, 4096), (256, 512), (2, 16384)):
        llama_like("llama3-8b", 4, batch, 1, context)
    for batch, tokens in ((1, 512), (1, 2048), (1, 256), (1, 1024), (2, 1024), (4, 2048), (1, 4096)):
        llama_like("llama3-8b", 4, batch, tokens, 0)
    for model, layers in (("qwen2-7b", 4), ("llama3-70b", 2)):
        for batch, context in ((1, 2048), (16, 2048), (64, 1024)):
            llama_like(model, layers, batch, 1, context)
        for batch, tokens in ((1, 512), (1, 2048), (2, 4096)):
            llama_like(model, layers, batch, tokens, 0)
    llama_like("llama3-8b", 4, 8, 1, 2048, "fp16")
    llama_like("llama3-8b", 4, 1, 2048, 0, "fp16")


def all_bert():
    for dtype in ("fp32", "bf16", "tf32", "fp16"):
        for batch, tokens in ((4, 512), (32, 128), (16, 128), (8, 256), (16, 512)):
            bert("bert-large", batch, tokens, dtype)


def all_operators():
    random = lambda *sizes: torch.randn(*sizes, device="cuda", dtype=torch.bfloat16)

    def loop(of, call, *sizes):
        bytes_of_one = 2 * sum(torch.Size(size).numel() for size in sizes)
        sets = [[random(*size) for size in sizes] for _ in range(max(2, min(64, (256 << 20) // bytes_of_one + 1)))]
        graph = torch.cuda.CUDAGraph()
        for operands in sets[:2]:
            call(*operands)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for operands in sets:
                call(*operands)
        graph.replay()
        print_loop(of, graph.replay, 0.7, len(sets))
        del sets, graph
        torch.cuda.empty_cache()

    for heads, key_heads in ((32, 8), (64, 8), (28, 4), (8, 1), (32, 32)):
        for batch, keys in ((1, 8192), (8, 2048), (16, 2048), (32, 8192), (128, 1024)):
            of = ("attention", f"{heads} {key_heads} 128", 1, batch, 1, keys, "bf16")
            loop(of, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=heads != key_heads),
                 (batch, heads, 1, 128), (batch, key_heads, keys, 128), (batch, key_heads, keys, 128))
    for batch, tokens in ((1, 2048), (4, 2048), (1, 8192)):
        of = ("attention", "32 8 128", 1, batch, tokens, 0, "bf16")
        loop(of, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True),
             (batch, 32, tokens, 128), (batch, 8, tokens, 128), (batch, 8, tokens, 128))
    for out, inputs in ((28672, 4096), (8192, 8192), (57344, 8192), (3584, 18944)):
        for tokens in (1, 16, 64, 128, 256):
            loop(("gemm", f"{out}x{tokens}x{inputs}", 1, 1, tokens, 0, "bf16"), F.linear, (tokens, inputs), (out, inputs))
    for rows in (2048, 16384):
        for name, call in (("add", torch.add), ("mul", torch.mul), ("silu", lambda x, y: F.silu(x)),
                           ("rms_norm", lambda x, y: F.rms_norm(x, (4096,)))):
            loop((name, f"{rows}x4096", 1, 1, rows, 0, "bf16"), call, (rows, 4096), (rows, 4096))


if __name__ == "__main__":
    torch.manual_seed(1)
    print(f"# {torch.cuda.get_device_name()}; PyTorch {torch.__version__}, CUDA {torch.version.cuda}; {' '.join(sys.argv)}")
    print("what,model,layers,batch,tokens,context,dtype,part,median_us,p10_us,p90_us,joules,MHz")
    parts = {"layers": all_layers, "bert": all_bert, "operators": all_operators}
    for name in sys.argv[1:] or ("layers", "bert"):
        began = time.time()
        parts[name]()
        print(f"{name}: {time.time() - began:.0f} s", file=sys.stderr, flush=True)
