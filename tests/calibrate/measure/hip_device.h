// Declares what hipRTC gives device code before its first line, as far as device/kernels.cu needs it, so that a plain
// clang can compile it for an AMD GPU.
#pragma once

#define __HIPCC_RTC__ 1
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))

struct Index {
  unsigned x;
};
#define threadIdx (Index{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (Index{__builtin_amdgcn_workgroup_id_x()})
#define blockDim (Index{__builtin_amdgcn_workgroup_size_x()})
#define gridDim (Index{__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()})

static __device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
extern "C" __device__ int __ockl_wgred_or_i32(int value);
static __device__ inline int __syncthreads_or(int predicate) { return __ockl_wgred_or_i32(predicate != 0) != 0; }
static __device__ inline void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
static __device__ inline unsigned long long atomicAdd(unsigned long long* at, unsigned long long value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
static __device__ inline unsigned long long atomicMax(unsigned long long* at, unsigned long long value) {
  return __atomic_fetch_max(at, value, __ATOMIC_RELAXED);
}
