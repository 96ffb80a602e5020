#!/usr/bin/env python3
"""Measures, on two GPUs with nothing else to do, what a collective and a single load lose beside a kernel that streams, by the
bytes that the kernel keeps under way. c3sim-measure's hogs have one such number; here it is chosen by workgroups, threads and
words that a thread asks for before it waits, so that full memories are seen with little and with much that waits.

    CH=2 python3 hogs_in_flight.py > hogs_in_flight.csv

Needs PyTorch with NCCL and CuPy on two NVIDIA GPUs. CH: channels of the all-reduce.
"""

import os
import time

channels = os.environ.get("CH", "2")
os.environ["NCCL_MAX_NCHANNELS"] = os.environ["NCCL_MIN_NCHANNELS"] = channels

import cupy
import torch

KERNELS = r"""
typedef unsigned long long u64;
__device__ u64 now() { u64 t; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t)); return t; }

// Goes through arrays of so many words until *stop: reads two and writes one (triad) or writes one. Each thread asks for
// `ahead` words of every array before it waits for any.
template <int ahead, bool triad>
__device__ void stream(const uint4* from, uint4* __restrict__ to, u64 words, const volatile unsigned* stop, u64* log) {
  const u64 threads = (u64)gridDim.x * blockDim.x, begin = now();
  u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x, rounds = 0;
  for (int over = 0; !over; ++rounds) {
    for (int pass = 0; pass < 16; ++pass) {
      uint4 one[ahead], other[ahead];
      u64 place[ahead];
      #pragma unroll
      for (int i = 0; i < ahead; ++i) { place[i] = at; at += threads; if (at >= words) at -= words; }
      #pragma unroll
      for (int i = 0; i < ahead; ++i) if (triad) one[i] = __ldcg(from + place[i]);
      #pragma unroll
      for (int i = 0; i < ahead; ++i) if (triad) other[i] = __ldcg(from + words + place[i]);
      #pragma unroll
      for (int i = 0; i < ahead; ++i) {
        uint4 sum = make_uint4(pass, pass, pass, pass);
        if (triad) sum = make_uint4(one[i].x + other[i].x, one[i].y + other[i].y, one[i].z + other[i].z, one[i].w);
        to[place[i]] = sum;
      }
    }
    over = __syncthreads_or(threadIdx.x == 0 ? *stop : 0);
  }
  if (threadIdx.x == 0) { log[3 * blockIdx.x] = rounds * 16 * ahead; log[3 * blockIdx.x + 1] = begin; log[3 * blockIdx.x + 2] = now(); }
}
#define KERNEL(name, ahead, triad) extern "C" __global__ void __launch_bounds__(1024) \
  name(const uint4* from, uint4* to, u64 words, const volatile unsigned* stop, u64* log) { stream<ahead, triad>(from, to, words, stop, log); }
KERNEL(triad1, 1, true) KERNEL(triad2, 2, true) KERNEL(triad4, 4, true) KERNEL(write1, 1, false) KERNEL(write2, 2, false)

extern "C" __global__ void chase(const unsigned* next, unsigned at, int steps, u64* log) {
  const u64 begin = now();
  for (int i = 0; i < steps; ++i) at = __ldcg(next + at);
  log[0] = now() - begin, log[1] = at;
}
"""
GPUS, WORD, ARRAY, ALL_REDUCE = (0, 1), 16, 1 << 30, 1 << 28
HOGS = [("triad", workgroups, threads, ahead) for workgroups, threads, ahead in
        [(16, 1024, 1), (33, 1024, 1), (66, 1024, 1), (98, 256, 1), (98, 512, 1), (98, 1024, 1), (98, 1024, 2), (98, 1024, 4),
         (33, 1024, 4), (16, 1024, 4)]] + [("write", 16, 1024, 1), ("write", 98, 1024, 1), ("write", 98, 1024, 2)]


def on_each(count, kind):
    return [torch.zeros(count, dtype=kind, device=gpu) for gpu in GPUS]


read, written = on_each(2 * ARRAY, torch.uint8), on_each(ARRAY, torch.uint8)
stop, log, array = on_each(64, torch.int32), on_each(1024, torch.int64), on_each(ALL_REDUCE // 2, torch.bfloat16)
streams = {what: [torch.cuda.Stream(gpu) for gpu in GPUS] for what in ("hog", "work", "stop")}
modules = []
for gpu in GPUS:
    with cupy.cuda.Device(gpu):
        modules.append(cupy.RawModule(code=KERNELS, options=("-std=c++17",)))


def launch(gpu, name, workgroups, threads, arguments, what):
    with cupy.cuda.Device(gpu):
        stream = cupy.cuda.ExternalStream(streams[what][gpu].cuda_stream)
        modules[gpu].get_function(name)((workgroups,), (threads,), arguments, stream=stream)


def wait():
    for gpu in GPUS:
        torch.cuda.synchronize(gpu)


def begin(hog):
    kind, workgroups, threads, ahead = hog
    for gpu in GPUS:
        stop[gpu].zero_()
    wait()
    for gpu in GPUS:
        arguments = (read[gpu].data_ptr(), written[gpu].data_ptr(), cupy.uint64(ARRAY // WORD), stop[gpu].data_ptr(), log[gpu].data_ptr())
        launch(gpu, f"{kind}{ahead}", workgroups, threads, arguments, "hog")
    time.sleep(0.002)


def end(hog):
    for gpu in GPUS:
        with torch.cuda.device(gpu), torch.cuda.stream(streams["stop"][gpu]):
            stop[gpu].fill_(1)
    wait()
    kind, workgroups, threads, _ = hog
    of_each = log[0][: 3 * workgroups].reshape(-1, 3).cpu().double()
    words = float(of_each[:, 0].sum()) * threads * (3 if kind == "triad" else 1)
    return words * WORD / float((of_each[:, 2] - of_each[:, 1]).mean())


def chain(count=1 << 20, apart=512):
    order, next_one = torch.randperm(count), torch.zeros(count * apart, dtype=torch.int32)
    next_one[order * apart] = (torch.roll(order, -1) * apart).to(torch.int32)
    return next_one.to(0), int(order[0]) * apart


places, first = chain()


def chased(steps=3000):
    result = torch.zeros(2, dtype=torch.int64, device=0)
    launch(0, "chase", 1, 1, (places.data_ptr(), cupy.uint32(first), cupy.int32(steps), result.data_ptr()), "work")
    streams["work"][0].synchronize()
    return int(result[0]) / steps


def all_reduced(runs=5):
    times = []
    for _ in range(runs + 1):
        with torch.cuda.device(0):
            before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            before.record(streams["work"][0])
            torch.cuda.nccl.all_reduce(array, streams=streams["work"])
            after.record(streams["work"][0])
            after.synchronize()
            times.append(before.elapsed_time(after) * 1e3)
    return sorted(times[1:])[runs // 2]


all_reduced()
wait()
alone, unloaded = all_reduced(), chased()
print(f"# one load alone {unloaded:.0f} ns")
print("what,bytes,channels,hog,workgroups,threads,words,under_way_bytes,all_reduce_us,alone_us,hog_GBps,hog_alone_GBps,latency_ns")
for hog in HOGS:
    kind, workgroups, threads, ahead = hog
    begin(hog)
    nanoseconds, beside = chased(), all_reduced()
    rate = end(hog)
    begin(hog)
    time.sleep(0.01)
    rate_alone = end(hog)
    under_way = threads * WORD * ahead * (3 if kind == "triad" else 1)
    print(f"all_reduce,{ALL_REDUCE},{channels},{kind},{workgroups},{threads},{ahead},{under_way},{beside:.1f},{alone:.1f},{rate:.1f},"
          f"{rate_alone:.1f},{nanoseconds:.1f}")
