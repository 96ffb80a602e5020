#!/usr/bin/env python3
"""Measures what the boards of two GPUs draw while data is copied between them at several rates, and while one copies
within its own memory: what links cost awake and per byte (`gpu.power.links_awake`, `gpu.power.link_energy`).

    python3 link_power.py > link_power.csv

Needs PyTorch and nvidia-smi.
"""

import statistics
import subprocess
import threading
import time

import torch

SIZES = (16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 64 << 20)  # of one copy, in bytes
SECONDS = 4.0  # of each phase, of which the second half counts


class Boards:
    """Power in W and clock in MHz of every GPU, as nvidia-smi prints them every 100 ms."""

    def __init__(self):
        self.rows = []
        self.process = subprocess.Popen(
            ["nvidia-smi", "--query-gpu=uuid,power.draw.instant,clocks.sm", "--format=csv,noheader,nounits", "-lms",
             "100"], stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            gpu, watts, megahertz = line.split(",")
            self.rows.append((time.perf_counter(), gpu, float(watts), float(megahertz)))

    def mean(self, begin, end):
        text = []
        for gpu in (0, 1):
            name = f"GPU-{torch.cuda.get_device_properties(gpu).uuid}"
            rows = [row for row in self.rows if begin < row[0] < end and row[1] == name]
            text.append(f"{statistics.mean(row[2] for row in rows):.1f},{statistics.mean(row[3] for row in rows):.0f}")
        return ",".join(text)


def phase(boards, name, size, pairs):
    """Copies between buffers of `pairs` (source, destination), each pair on a stream of its own, as fast as one thread
    launches them: the smaller the copies, the longer the pauses and the lower the rate."""
    streams = [torch.cuda.Stream(source.device) for source, _ in pairs]
    begin = time.perf_counter()
    moved, half, half_moved = 0, None, 0
    while time.perf_counter() < begin + SECONDS:
        for _ in range(min(256, max(1, (16 << 20) // max(size, 1)))):
            for stream, (source, destination) in zip(streams, pairs):
                with torch.cuda.stream(stream):
                    destination[:size].copy_(source[:size], non_blocking=True)
            moved += size
        for stream in streams:
            stream.synchronize()
        if half is None and time.perf_counter() > begin + SECONDS / 2:
            half, half_moved = time.perf_counter(), moved
    end = time.perf_counter()
    rate = (moved - half_moved) / (end - half) * 1e-9 if pairs else 0.0
    print(f"{name},{size},{rate:.2f},{boards.mean(half or begin + SECONDS / 2, end)}", flush=True)


def main():
    buffers = [[torch.randint(0, 255, (64 << 20,), dtype=torch.uint8, device=f"cuda:{gpu}") for _ in range(2)]
               for gpu in (0, 1)]
    print(f"# {torch.cuda.get_device_name(0)}; board power (instant) and clock, means of the second half of {SECONDS:.0f} s")
    print("# rate: of each pair of buffers, one way; one_way: gpu0 to gpu1; both_ways: and back; local: within gpu0")
    print("phase,copy_bytes,rate_GBps,power0_W,clock0_MHz,power1_W,clock1_MHz")
    boards = Boards()
    time.sleep(2)
    first, second = buffers
    phase(boards, "rest", 0, [])
    for size in SIZES:
        phase(boards, "one_way", size, [(first[0], second[1])])
        phase(boards, "both_ways", size, [(first[0], second[1]), (second[0], first[1])])
    for size in SIZES[3:]:
        phase(boards, "local", size, [(first[0], first[1])])
    boards.process.terminate()


if __name__ == "__main__":
    main()
