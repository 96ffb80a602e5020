#!/usr/bin/env python3
"""Measures, on one GPU with nothing else to do, how much the times of a matrix product's workgroups differ, from the start
and end that each writes down (`gpu.gemm.libraries[].time_spread`). All else is measured by c3sim-measure
(calibrate/measure/): a library's kernel writes nothing down, so that this one is written in Triton.

    python3 gemm_kernel.py > workgroup_times.csv

Needs PyTorch and Triton on an NVIDIA GPU (the kernel reads its clock and its CU in PTX).
"""

import argparse

import torch
import triton
import triton.language as tl


@triton.jit
def now():
    return tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def this_cu():
    return tl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def multiply(a, b, c, log, M, N, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    program = tl.program_id(0)
    begin = now()
    columns = tl.cdiv(N, TILE_N)
    group = program // (8 * columns)  # eight rows of tiles at a time, so that neighbours share panels
    first = group * 8
    rows = tl.minimum(tl.cdiv(M, TILE_M) - first, 8)
    row = first + (program % (8 * columns)) % rows
    column = (program % (8 * columns)) // rows
    m = row * TILE_M + tl.arange(0, TILE_M)
    n = column * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    a_at = a + m[:, None] * K + k[None, :]
    b_at = b + n[None, :] * K + k[:, None]
    sum = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, TILE_K)):
        sum = tl.dot(tl.load(a_at), tl.load(b_at), sum)
        a_at += TILE_K
        b_at += TILE_K
    tl.store(c + m[:, None] * N + n[None, :], sum.to(tl.bfloat16))
    tl.debug_barrier()
    tl.store(log + 3 * program, begin)
    tl.store(log + 3 * program + 1, now())
    tl.store(log + 3 * program + 2, this_cu().to(tl.int64))


def measure_times():
    device = torch.cuda.get_device_properties(0)
    cus = device.multi_processor_count
    if cus % 4 != 0:
        raise SystemExit(f"error: {cus} CUs: whole waves of these shapes need a multiple of 4")
    print(f"# {device.name}: {cus} CUs; whole waves only, so that differences of time alone make CUs end apart")
    print("# deviation: of the times of workgroups, over their mean; spread: of the last ends on all places that a CU has")
    print("# for a workgroup, over the same; cu_dry: by how many mean times before the end of all that share of CUs ended")
    print("tile_m,tile_n,waves,k,repeat,per_cu,rate_TFLOPs,mean_us,first_wave_deviation,deviation,spread,cu_dry_10,"
          "cu_dry_25,cu_dry_50")
    for tile_m, tile_n, warps, per_cu in ((128, 256, 8, 1), (128, 128, 4, 2), (128, 64, 4, 3)):
        for waves, k in ((1, 8192), (1, 32768), (4, 8192), (16, 8192), (16, 16384), (64, 8192)):
            columns = 4 * per_cu * waves
            m, n = tile_m * (cus // 4), tile_n * columns
            a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
            b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
            c = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
            count = cus // 4 * columns
            log = torch.zeros(count, 3, device="cuda", dtype=torch.int64)
            for repeat in range(-3, 5):
                multiply[(count,)](a, b, c, log, m, n, k, tile_m, tile_n, 64, num_warps=warps, num_stages=3)
                torch.cuda.synchronize()
                if repeat < 0:
                    continue
                begin, end, cu = log.cpu().unbind(1)
                start = begin.min()
                begin, end = (begin - start).double() / 1e3, (end - start).double() / 1e3
                took, last = end - begin, end.max()
                mean = took.mean()
                first = took[begin < 0.3 * mean]
                places = torch.sort(end).values[-len(first):]
                dry = torch.stack([end[cu == one].max() for one in cu.unique()])
                shares = [(last - torch.quantile(dry, q)) / mean for q in (0.10, 0.25, 0.50)]
                print(f"{tile_m},{tile_n},{waves},{k},{repeat},{len(first) / cus:.2f},{2e-6 * m * n * k / last:.1f},{mean:.1f},"
                      + ",".join(f"{x:.4f}" for x in (first.std() / first.mean(), took.std() / mean, places.std() / mean,
                                                      *shares)), flush=True)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    measure_times()
