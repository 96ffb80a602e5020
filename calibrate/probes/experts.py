#!/usr/bin/env python3
"""Measures, on one GPU with nothing else to do, grouped products of experts whose weights have few bits: one kernel for all
experts, each with tokens of its own, as serving systems have it. Weights are in bf16; in mxfp4, unpacked by the kernel and
multiplied in bf16; or in fp8 with a scale for each block of 128 by 128 (activations one for 128 numbers of a token).

    python3 experts.py > experts_h200.csv

Needs PyTorch and Triton on an NVIDIA GPU. Of each size the fastest of a few tiles is told: the median of bursts of launches
in a captured graph, each from rest, over the launches of a burst.
"""

import itertools
import statistics
import time

import torch
import triton
import triton.language as tl


@triton.jit
def experts(tokens, weights, token_scales, weight_scales, out, tile_expert, tile_first, expert_end, N, K,
            FORMAT: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    columns = tl.cdiv(N, TILE_N)
    tile = tl.program_id(0) // columns
    expert = tl.load(tile_expert + tile).to(tl.int64)
    m = tl.load(tile_first + tile) + tl.arange(0, TILE_M)
    is_row = m < tl.load(expert_end + expert)
    n = (tl.program_id(0) % columns) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    token_at = tokens + m[:, None].to(tl.int64) * K + k[None, :]
    sum = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    if FORMAT == "mxfp4":
        packed = tl.arange(0, TILE_K // 2)
        weight_at = weights + expert * N * (K // 2) + n[None, :] * (K // 2) + packed[:, None]
        scale_at = weight_scales + expert * N * (K // 32) + n[:, None] * (K // 32) + tl.arange(0, TILE_K // 32)[None, :]
        for _ in range(0, K // TILE_K):
            a = tl.load(token_at, mask=is_row[:, None], other=0.0)
            sum = tl.dot_scaled(a, None, "bf16", tl.load(weight_at), tl.load(scale_at), "e2m1", sum)
            token_at += TILE_K
            weight_at += TILE_K // 2
            scale_at += TILE_K // 32
    elif FORMAT == "fp8":
        weight_at = weights + expert * N * K + n[None, :] * K + k[:, None]
        for step in range(0, K // TILE_K):
            a = tl.load(token_at, mask=is_row[:, None], other=0.0)
            of_tokens = tl.load(token_scales + m * (K // 128) + step * TILE_K // 128, mask=is_row, other=0.0)
            of_weights = tl.load(weight_scales + (expert * (N // 128) + n // 128) * (K // 128) + step * TILE_K // 128)
            sum += tl.dot(a, tl.load(weight_at)) * of_tokens[:, None] * of_weights[None, :]
            token_at += TILE_K
            weight_at += TILE_K
    else:
        weight_at = weights + expert * N * K + n[None, :] * K + k[:, None]
        for _ in range(0, K // TILE_K):
            a = tl.load(token_at, mask=is_row[:, None], other=0.0)
            sum = tl.dot(a, tl.load(weight_at), sum)
            token_at += TILE_K
            weight_at += TILE_K
    tl.store(out + m[:, None].to(tl.int64) * N + n[None, :], sum.to(tl.bfloat16), mask=is_row[:, None])


# Of each tile its expert and its first row, and of each expert the row behind its last, where experts have so many rows each.
def tiles_of(counts, tile_m):
    which, first, ends, row = [], [], [], 0
    for expert, count in enumerate(counts):
        for begin in range(0, count, tile_m):
            which.append(expert)
            first.append(row + begin)
        row += count
        ends.append(row)
    as_tensor = lambda values: torch.tensor(values, dtype=torch.int32, device="cuda")
    return as_tensor(which), as_tensor(first), as_tensor(ends)


def seconds_of(launch):
    launch()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record(); launch(); end.record()
    torch.cuda.synchronize()
    once = begin.elapsed_time(end) / 1e3
    launches = max(3, min(200, int(0.004 / max(once, 1e-6))))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            launch()
    times = []
    for _ in range(5):
        time.sleep(0.02)
        begin.record(); graph.replay(); end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / launches)
    return statistics.median(times)


def measure(experts_of_layer, n, k, rows, form):
    torch.manual_seed(1)
    each, rest = divmod(rows, experts_of_layer)
    counts = [each + (i < rest) for i in range(experts_of_layer)]
    tokens = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16)
    token_scales = weight_scales = torch.ones(1, device="cuda")
    if form == "mxfp4":
        weights = torch.randint(0, 256, (experts_of_layer, n, k // 2), device="cuda", dtype=torch.uint8)
        weight_scales = torch.randint(120, 130, (experts_of_layer, n, k // 32), device="cuda", dtype=torch.uint8)
    elif form == "fp8":
        tokens = tokens.to(torch.float8_e4m3fn)
        weights = torch.randn(experts_of_layer, n, k, device="cuda", dtype=torch.bfloat16).to(torch.float8_e4m3fn)
        token_scales = torch.rand(rows, k // 128, device="cuda")
        weight_scales = torch.rand(experts_of_layer, n // 128, k // 128, device="cuda")
    else:
        weights = torch.randn(experts_of_layer, n, k, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(rows, n, device="cuda", dtype=torch.bfloat16)
    best = None
    a_tile = max(16, min(128, triton.next_power_of_2(-(-rows // experts_of_layer))))
    tiles_m = sorted({a_tile, max(16, a_tile // 2)})
    tiles_k = [128] if form == "fp8" else [64, 128]
    for tile_m, tile_n, tile_k, (warps, stages) in itertools.product(
            tiles_m, [128, 256], tiles_k, [(4, 3), (8, 3), (8, 4)]):
        if n % tile_n or k % tile_k:
            continue
        which, first, ends = tiles_of(counts, tile_m)
        launch = lambda: experts[(len(which) * (n // tile_n),)](
            tokens, weights, token_scales, weight_scales, out, which, first, ends, n, k, FORMAT=form,
            TILE_M=tile_m, TILE_N=tile_n, TILE_K=tile_k, num_warps=warps, num_stages=stages)
        try:
            seconds = seconds_of(launch)
        except (triton.runtime.errors.OutOfResources, RuntimeError):
            continue
        best = seconds if best is None else min(best, seconds)
    return best


def main():
    hidden, ffn, number = 3072, 2816, 32
    print(f"# measured on {torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Triton {triton.__version__} "
          "(calibrate/probes/experts.py): products of the experts of a layer by one kernel each, rows dealt to experts in "
          "turn, the fastest of some tiles, from rest, launches in a captured graph")
    print("format,hidden,ffn,experts,rows,up_us,down_us,both_us", flush=True)
    for form, rows in itertools.product(["mxfp4", "bf16", "fp8"], [64, 1024, 4096, 16384, 32768]):
        up = 1e6 * measure(number, 2 * ffn, hidden, rows, form)
        down = 1e6 * measure(number, hidden, ffn, rows, form)
        print(f"{form},{hidden},{ffn},{number},{rows},{up:.2f},{down:.2f},{up + down:.2f}", flush=True)


main()
