#!/usr/bin/env python3
"""Times what PyTorch's compiler makes of the operations between products of a served model, and layers without attention
that consist of both, from captured graphs, on a GPU with nothing else to do.

    python3 compiled.py kernels > compiled_kernels.csv
    python3 compiled.py layers > compiled_layers.csv

Needs PyTorch with Triton on a GPU. Columns: the operation, tokens, features of a row of its result (cache: of keys and
values), median, least and longest microseconds of one of a hundred in a graph, the gap to the next within; or the model, the GPUs
that share out its products (of which one computes), tokens, layers, microseconds of all layers.
"""

import statistics
import sys

import torch

TOKENS = [1, 4, 16, 64, 128, 256, 566, 1024, 2048, 4096]
HEAD = 128  # features
PLACES = 8192
SLOTS = 65536  # of the cache
# Features of a token, heads of queries and of keys, and features between products, of a GPU; GPUs; layers.
MODELS = {"mistral-nemo-12b": (5120, 32, 8, 14336, 1, 8), "llama3-70b": (8192, 16, 2, 7168, 4, 8),
          "qwen2.5-7b": (3584, 28, 4, 18944, 1, 8), "llama2-7b": (4096, 32, 32, 11008, 1, 10)}


def random(*sizes):
    return torch.randn(*sizes, device="cuda", dtype=torch.bfloat16)


@torch.compile(dynamic=True)
def norm_add(added, stream, weights):
    sums = added.float() + stream.float()
    scale = torch.rsqrt(sums.pow(2).mean(-1, keepdim=True) + 1e-5)
    return (sums * scale).to(added.dtype) * weights, sums.to(added.dtype)


@torch.compile(dynamic=True)
def swiglu(halves):
    features = halves.shape[-1] // 2
    return torch.nn.functional.silu(halves[..., :features]) * halves[..., features:]


def turning(heads, heads_of_keys):
    @torch.compile(dynamic=True)
    def rope(qkv, positions, angles):
        cosines, sines = angles.index_select(0, positions)[:, None, :].chunk(2, -1)
        turned = qkv[:, : (heads + heads_of_keys) * HEAD].view(-1, heads + heads_of_keys, HEAD)
        left, right = turned[..., : HEAD // 2], turned[..., HEAD // 2 :]
        both = torch.cat((left * cosines - right * sines, right * cosines + left * sines), -1)
        return both.view(-1, (heads + heads_of_keys) * HEAD)

    return rope


def caching(heads, heads_of_keys):
    @torch.compile(dynamic=True)
    def cache(turned, qkv, keys, values, slots):
        keys[slots] = turned[:, heads * HEAD :].view(-1, heads_of_keys, HEAD)
        values[slots] = qkv[:, (heads + heads_of_keys) * HEAD :].view(-1, heads_of_keys, HEAD)

    return cache


def from_graph(call, times, replays=9):
    """Median, least and longest microseconds of one call of a graph of `times`."""
    torch.cuda.synchronize()  # operands are there before another stream reads them
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(times):
            call()
    seen = []
    for replay in range(replays + 3):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        if replay >= 3:
            seen.append(begin.elapsed_time(end) * 1e3 / times)
    return f"{statistics.median(seen):.3f},{min(seen):.3f},{max(seen):.3f}"


class Attended:
    """What the compiler's kernels of a layer need beside its stream."""

    def __init__(self, heads, heads_of_keys):
        self.heads, self.heads_of_keys = heads, heads_of_keys
        self.rope, self.cache = turning(heads, heads_of_keys), caching(heads, heads_of_keys)
        self.angles = random(PLACES, HEAD)
        self.keys, self.values = random(SLOTS, heads_of_keys, HEAD), random(SLOTS, heads_of_keys, HEAD)

    def begin(self, tokens):
        self.positions = torch.randint(0, PLACES, (tokens,), device="cuda")
        self.slots = torch.randperm(SLOTS, device="cuda")[:tokens]

    def turn(self, qkv):
        return self.rope(qkv, self.positions, self.angles)

    def keep(self, turned, qkv):
        self.cache(turned, qkv, self.keys, self.values, self.slots)


def kernels():
    print("operation,tokens,features,time_us,least_us,most_us")
    for tokens in TOKENS:
        for features in (4096, 5120, 8192):
            added, stream, weights = random(tokens, features), random(tokens, features), random(features)
            print(f"norm_add,{tokens},{features},{from_graph(lambda: norm_add(added, stream, weights), 100)}")
        for features in (3584, 7168, 14336):
            halves = random(tokens, 2 * features)
            print(f"swiglu,{tokens},{features},{from_graph(lambda: swiglu(halves), 100)}")
        for heads, of_keys in ((32, 8), (16, 2)):
            attended = Attended(heads, of_keys)
            attended.begin(tokens)
            qkv = random(tokens, (heads + 2 * of_keys) * HEAD)
            turned = attended.turn(qkv).clone()
            print(f"rope,{tokens},{(heads + of_keys) * HEAD},{from_graph(lambda: attended.turn(qkv), 100)}")
            print(f"cache,{tokens},{2 * of_keys * HEAD},{from_graph(lambda: attended.keep(turned, qkv), 100)}")


def layers():
    print("model,tp,tokens,layers,time_us,least_us,most_us")
    for name, (features, heads, of_keys, ffn, tp, count) in MODELS.items():
        attended = Attended(heads, of_keys)
        sizes = (((heads + 2 * of_keys) * HEAD, features), (features, heads * HEAD), (2 * ffn, features), (features, ffn))
        weights = [[0.02 * random(*size) for size in sizes] for _ in range(count)]
        of_norm = random(features)
        for tokens in (1, 8, 16, 32, 64, 128, 256, 566, 1024):
            attended.begin(tokens)
            first, first_stream = random(tokens, features), random(tokens, features)

            def forward():
                added, stream = first, first_stream
                for qkv_weights, out_weights, up_weights, down_weights in weights:
                    normed, stream = norm_add(added, stream, of_norm)
                    qkv = normed @ qkv_weights.t()
                    turned = attended.turn(qkv)
                    attended.keep(turned, qkv)
                    added = turned[:, : heads * HEAD] @ out_weights.t()
                    normed, stream = norm_add(added, stream, of_norm)
                    added = swiglu(normed @ up_weights.t()) @ down_weights.t()
                return added

            print(f"{name},{tp},{tokens},{count},{from_graph(forward, 1)}", flush=True)


if __name__ == "__main__":
    {"kernels": kernels, "layers": layers}[sys.argv[1]]()
