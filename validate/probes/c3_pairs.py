#!/usr/bin/env python3
"""Measures GEMMs and kernel collectives, alone and together, on the GPUs of one node: what c3_base and c3_sp predict.

    python3 c3_pairs.py --gpus 4 > c3_pairs.csv

Needs PyTorch for CUDA or ROCm. One process per GPU; times are in microseconds, from before the first of the two until
after the last on the slowest GPU, the median of seven runs behind two that are not counted.
"""
import argparse
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

GEMMS = ((8192, 8192, 8192), (16384, 8192, 16384), (8192, 28672, 8192), (4096, 4096, 16384))  # m, n, k
COLLECTIVES = ("all_gather", "all_to_all")
SIZES = (256 << 20, 1 << 30, 4 << 30)  # whole array of one GPU, in bytes
UNCOUNTED, COUNTED = 2, 7


class Pair:
    """One GPU's part of a GEMM and a collective, on streams of their own."""

    def __init__(self, rank, gpus):
        self.rank, self.gpus = rank, gpus
        self.streams = {"gemm": torch.cuda.Stream(), "collective": torch.cuda.Stream()}
        self.source = torch.empty(max(SIZES), dtype=torch.uint8, device="cuda")
        self.destination = torch.empty_like(self.source)
        self.matrices = {}
        for m, n, k in GEMMS:
            a = torch.randn(m, k, dtype=torch.bfloat16, device="cuda")
            b = torch.randn(k, n, dtype=torch.bfloat16, device="cuda")
            self.matrices[m, n, k] = a, b, torch.empty(m, n, dtype=torch.bfloat16, device="cuda")

    def launch(self, work):
        if work in self.matrices:
            a, b, c = self.matrices[work]
            with torch.cuda.stream(self.streams["gemm"]):
                torch.matmul(a, b, out=c)
            return
        kind, size = work
        with torch.cuda.stream(self.streams["collective"]):
            if kind == "all_gather":
                dist.all_gather_into_tensor(self.destination[:size], self.source[: size // self.gpus])
            else:
                dist.all_to_all_single(self.destination[:size], self.source[:size])

    def microseconds(self, *works):
        """Launched in this order, all at once."""
        times = []
        for _ in range(UNCOUNTED + COUNTED):
            dist.barrier()
            torch.cuda.synchronize()
            time.sleep(0.002)
            start = torch.cuda.Event(enable_timing=True)
            start.record()
            for stream in self.streams.values():
                stream.wait_event(start)
            for work in works:
                self.launch(work)
            ends = []
            for stream in self.streams.values():
                ends.append(torch.cuda.Event(enable_timing=True))
                ends[-1].record(stream)
            torch.cuda.synchronize()
            slowest = torch.tensor([max(start.elapsed_time(end) for end in ends)], device="cuda")
            dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
            times.append(slowest.item() * 1e3)
        return statistics.median(times[UNCOUNTED:])


def measure(rank, gpus):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=gpus, device_id=torch.device("cuda", rank))
    pair = Pair(rank, gpus)
    collectives = [(kind, size) for kind in COLLECTIVES for size in SIZES]
    alone = {work: pair.microseconds(work) for work in (*GEMMS, *collectives)}
    for gemm in GEMMS:
        for collective in collectives:
            base = pair.microseconds(gemm, collective)
            first = pair.microseconds(collective, gemm)
            if rank == 0:
                kind, size = collective
                times = ",".join(f"{t:.1f}" for t in (alone[gemm], alone[collective], base, first))
                print(f"{gpus},{'x'.join(map(str, gemm))},{kind},{size},{times}", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=torch.cuda.device_count(), help="GPUs of the node that take part")
    gpus = parser.parse_args().gpus
    if not 2 <= gpus <= torch.cuda.device_count():
        parser.error(f"--gpus: 2 to {torch.cuda.device_count()} GPUs are there, not {gpus}")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    print("gpus,gemm,collective,bytes,gemm_us,collective_us,c3_base_us,c3_sp_us", flush=True)
    mp.spawn(measure, args=(gpus,), nprocs=gpus)


if __name__ == "__main__":
    main()
