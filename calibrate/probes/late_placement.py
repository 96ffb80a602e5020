#!/usr/bin/env python3
"""Measures what a collective takes whose channels are placed while a GEMM leaves its SMs, beside one that finds an idle GPU.

    python3 late_placement.py > late_placement.csv

Needs PyTorch with NCCL and CuPy on two or more NVIDIA GPUs with 27 GiB free. A GEMM and a collective start together behind a
barrier: alone, one after the other in one stream (serial), or in a stream each, so that the collective takes over SMs as the
GEMM ends. Times are marked on the GPU by %globaltimer, so that launches do not count.
"""

import os
import statistics
import time

import cupy
import torch
import torch.distributed as dist
import torch.multiprocessing as processes

MARK = r"""
extern "C" __global__ void mark(unsigned long long* to) { asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(*to) :: "memory"); }
"""
GIB, MIB = 1 << 30, 1 << 20
PAIRS = [
    ((8192, 8192, 8192), "all_gather", 4 * GIB), ((8192, 8192, 8192), "all_to_all", 4 * GIB),
    ((4096, 4096, 16384), "all_gather", 4 * GIB), ((16384, 8192, 16384), "all_gather", 4 * GIB),
    ((16384, 8192, 16384), "all_to_all", GIB), ((8192, 57344, 8192), "all_gather", 4 * GIB),
    ((8192, 57344, 8192), "all_gather", 13 * GIB), ((106496, 8192, 16384), "all_gather", 1664 * MIB),
    ((106496, 8192, 16384), "all_gather", 13 * GIB), ((8192, 57344, 8192), "all_reduce", GIB),
]
BEGIN, GEMM_END, END = range(3)


class Gpu:
    def __init__(self, gpu, gpus, barrier):
        torch.cuda.set_device(gpu)
        cupy.cuda.Device(gpu).use()
        self.gpus, self.barrier = gpus, barrier
        self.mark = cupy.RawModule(code=MARK).get_function("mark")
        self.marks = torch.zeros(3, dtype=torch.int64, device="cuda")
        self.first, self.second = torch.cuda.Stream(), torch.cuda.Stream()
        self.received = torch.empty(13 * GIB, dtype=torch.uint8, device="cuda")
        self.sent = torch.empty(7 * GIB, dtype=torch.uint8, device="cuda")

    def note(self, place):
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            self.mark((1,), (1,), (self.marks[place:].data_ptr(),))

    def communicate(self, collective, size):
        if collective == "all_gather":
            dist.all_gather_into_tensor(self.received[:size], self.sent[: size // self.gpus])
        elif collective == "all_to_all":
            dist.all_to_all_single(self.received[:size], self.sent[:size])
        else:
            dist.all_reduce(self.received[:size].view(torch.bfloat16))
        self.note(END)

    def run(self, how, operands, collective, size):
        self.barrier.wait()
        with torch.cuda.stream(self.first):
            self.note(BEGIN)
            if how != "alone":
                torch.mm(operands[0], operands[1].t(), out=operands[2])
                self.note(GEMM_END)
            if how != "behind":
                self.communicate(collective, size)
        if how == "behind":
            with torch.cuda.stream(self.second):
                self.communicate(collective, size)
        torch.cuda.synchronize()
        return self.marks.tolist()

    # Medians, once the clock has settled: from the start to the end of both, of the GEMM, and of the collective after it.
    def times(self, *run):
        rows, until = [], time.time() + 0.9
        for index in range(60):
            rows.append(self.run(*run))
            if self.of_all(index >= 8 and time.time() > until)[0]:
                break
        rows = rows[len(rows) // 3:]
        spans = ((BEGIN, END), (BEGIN, GEMM_END), (GEMM_END, END))
        return [statistics.median((row[to] - row[since]) / 1e3 for row in rows) for since, to in spans]

    # What each GPU says, by its number.
    def of_all(self, mine):
        every = [None] * self.gpus
        dist.all_gather_object(every, mine)
        return every


def measure(gpu, gpus, barrier):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    dist.init_process_group("nccl", rank=gpu, world_size=gpus)
    one = Gpu(gpu, gpus, barrier)
    if gpu == 0:
        print("gemm,collective,bytes,gpus,collective_alone_us,gemm_us,wall_us,serial_wall_us,after_serial_us,after_us", flush=True)
    for (m, n, k), collective, size in PAIRS:
        shapes = ((m, k), (n, k))
        operands = [torch.randn(*shape, device="cuda", dtype=torch.bfloat16) for shape in shapes]
        operands.append(torch.empty(m, n, device="cuda", dtype=torch.bfloat16))
        every = one.of_all([one.times(how, operands, collective, size) for how in ("alone", "behind", "serial")])
        alone, behind, serial = ([[row[how][span] for row in every] for span in range(3)] for how in range(3))
        numbers = (max(alone[0]), max(behind[1]), max(behind[0]), max(serial[0]), min(serial[2]), min(behind[2]))
        if gpu == 0:
            print(f"{m}x{n}x{k},{collective},{size},{gpus}," + ",".join(f"{number:.1f}" for number in numbers), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    count = torch.cuda.device_count()
    processes.spawn(measure, args=(count, processes.get_context("spawn").Barrier(count)), nprocs=count)
