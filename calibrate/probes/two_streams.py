#!/usr/bin/env python3
"""Times two pieces of work at once on one GPU, each on a stream of its own, and asks c3sim for the same.

    python3 two_streams.py measure > measured.csv      (needs PyTorch on an NVIDIA GPU)
    python3 two_streams.py predict path/to/c3sim > predicted.csv

Both write a row for each pair: at once, one after the other on one stream, and each alone. All are captured graphs that are
replayed back to back for a quarter of a second; the median of three such times is told, in microseconds of one replay.
"""

import json
import statistics
import subprocess
import sys
import tempfile

MI = 1 << 20
# Operations of two streams: gemm MxNxK, add of so many elements of bf16, and copies of bytes from and to the host.
PAIRS = {
    "gemm_add": (["gemm 8192x8192x8192"], [f"add {256 * MI}"]),
    "add_gemm": ([f"add {256 * MI}"], ["gemm 8192x8192x8192"]),
    "gemms_of_a_wave": (["gemm 4096x2048x4096"], ["gemm 4096x2048x4096"]),
    "gemms_of_half_a_wave": (["gemm 4096x1024x8192"], ["gemm 4096x1024x8192"]),
    "gemms_of_64_tokens": (["gemm 18432x64x7168"], ["gemm 4096x64x7168"]),
    "gemms_of_32_tokens": (["gemm 8192x32x8192"], ["gemm 28672x32x8192"]),
    "gemm_from_host": (["gemm 8192x8192x8192"], [f"from_host {64 * MI}"]),
    "gemm_to_host": (["gemm 8192x8192x8192"], [f"to_host {64 * MI}"]),
    "add_from_host": ([f"add {512 * MI}"], [f"from_host {64 * MI}"]),
    "decoding_to_host": (["gemm 28672x32x8192"] * 4, [f"to_host {16 * MI}"]),
    "gemms_of_1024": (["gemm 1024x1024x1024"], ["gemm 1024x1024x1024"]),
    "gemms_of_2048": (["gemm 2048x512x2048"], ["gemm 2048x512x2048"]),
    "uneven_gemms": (["gemm 6144x3072x4096"], ["gemm 2048x3072x4096"]),
    "smaller_gemm_add": (["gemm 4096x4096x4096"], [f"add {64 * MI}"]),
    "adds": ([f"add {256 * MI}"], [f"add {256 * MI}"]),
    "chains": (["gemm 4096x512x4096"] * 6, ["gemm 4096x512x4096"] * 6),
    "chain_adds": (["gemm 4096x512x4096"] * 8, [f"add {16 * MI}"] * 8),
    "few_tiles_many": (["gemm 4096x256x4096"], ["gemm 4096x4096x4096"]),
}


def launcher(torch, operation):
    kind, size = operation.split()
    if kind == "gemm":
        m, n, k = map(int, size.split("x"))
        tokens, weights = (torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) for rows in (n, m))
        result = torch.empty(n, m, device="cuda", dtype=torch.bfloat16)
        return lambda: torch.mm(tokens, weights.t(), out=result)
    if kind == "add":
        one, other = (torch.randn(int(size), device="cuda", dtype=torch.bfloat16) for _ in range(2))
        result = torch.empty_like(one)
        return lambda: torch.add(one, other, out=result)
    on_gpu = torch.empty(int(size), dtype=torch.uint8, device="cuda")
    on_host = torch.empty(int(size), dtype=torch.uint8, pin_memory=True)
    to, what = (on_gpu, on_host) if kind == "from_host" else (on_host, on_gpu)
    return lambda: to.copy_(what, non_blocking=True)


def measured(torch, streams):
    launchers = [[launcher(torch, operation) for operation in stream] for stream in streams]
    for launch in sum(launchers, []):
        launch()
    torch.cuda.synchronize()
    graph, first = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    others = [torch.cuda.Stream() for _ in launchers]
    with torch.cuda.graph(graph, stream=first):
        for stream, launches in zip(others, launchers):
            stream.wait_stream(first)
            with torch.cuda.stream(stream):
                for launch in launches:
                    launch()
        for stream in others:
            first.wait_stream(stream)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def mean(replays):
        begin.record()
        for _ in range(replays):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / replays

    replays = max(10, int(250 / mean(3)))
    mean(replays)
    return 1e3 * statistics.median(mean(replays) for _ in range(3))


def predicted(c3sim, streams):
    lines = ["name: pair", "platform: h200", "launch: graph", "operations:"]
    for stream, operations in enumerate(streams):
        for place, operation in enumerate(operations):
            kind, size = operation.split()
            ends = {"from_host": "{from: host, to: 0", "to_host": "{from: 0, to: host"}
            work = {"gemm": f"gemm: {size}, gpus: [0]", "add": f"kernel: {{operator: add, elements: {size}}}, gpus: [0]"}
            work = work.get(kind) or f"copy: {ends[kind]}, bytes: {size}B}}"
            lines.append(f"  - {{name: o{stream}_{place}, stream: s{stream}, {work}}}")
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        answer = subprocess.run([c3sim, "run", file.name, "--format", "json"], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)["overlap"][0]["makespan_us"]


def main():
    if sys.argv[1] == "measure":
        import torch

        time = lambda streams: measured(torch, streams)
    else:
        time = lambda streams: predicted(sys.argv[2], streams)
    print("pair,at_once_us,in_turn_us,first_us,second_us")
    for name, (first, second) in PAIRS.items():
        times = [time(streams) for streams in ([first, second], [first + second], [first], [second])]
        print(name, *(f"{microseconds:.1f}" for microseconds in times), sep=",", flush=True)


main()
