// HIP's functions, of the types that its header gives them, found in libamdhip64 when the program runs.
#pragma once

#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__
#endif
#include <hip/hip_runtime_api.h>

#include <string>
#include <type_traits>

#include "calibrate/measure/library.h"

namespace c3sim::measure {

class HipDriver {
 private:
  Library library_;  // first, since all others are found in it

  template <class Function>
  Function entry(const char* name) const {
    return library_.need<Function>(name);
  }
  // C++ has overloads of these beside the functions of C.
  using Allocate = hipError_t (*)(void**, std::size_t);
  using AllocateHost = hipError_t (*)(void**, std::size_t, unsigned);
  static_assert(std::is_same_v<decltype(static_cast<Allocate>(&hipMalloc)), Allocate>);
  static_assert(std::is_same_v<decltype(static_cast<AllocateHost>(&hipHostMalloc)), AllocateHost>);

 public:
  explicit HipDriver(Library library) : library_(std::move(library)) {}

  // GpuError unless it is a success.
  void check(hipError_t result, const char* call) const;
  std::string version() const;  // of HIP: "6.2.41133"

  decltype(&hipGetErrorName) error_name = entry<decltype(error_name)>("hipGetErrorName");
  decltype(&hipRuntimeGetVersion) runtime_version = entry<decltype(runtime_version)>("hipRuntimeGetVersion");
  decltype(&hipGetDeviceCount) device_count = entry<decltype(device_count)>("hipGetDeviceCount");
  decltype(&hipSetDevice) set_device = entry<decltype(set_device)>("hipSetDevice");
  decltype(&hipDeviceGetName) device_name = entry<decltype(device_name)>("hipDeviceGetName");
  decltype(&hipDeviceTotalMem) device_memory = entry<decltype(device_memory)>("hipDeviceTotalMem");
  decltype(&hipDeviceGetPCIBusId) bus_id = entry<decltype(bus_id)>("hipDeviceGetPCIBusId");
  decltype(&hipDeviceCanAccessPeer) can_access_peer = entry<decltype(can_access_peer)>("hipDeviceCanAccessPeer");
  decltype(&hipDeviceEnablePeerAccess) enable_peer = entry<decltype(enable_peer)>("hipDeviceEnablePeerAccess");
  Allocate allocate = entry<Allocate>("hipMalloc");
  decltype(&hipFree) release = entry<decltype(release)>("hipFree");
  AllocateHost allocate_host = entry<AllocateHost>("hipHostMalloc");
  decltype(&hipHostFree) release_host = entry<decltype(release_host)>("hipHostFree");
  decltype(&hipMemcpyAsync) copy = entry<decltype(copy)>("hipMemcpyAsync");
  decltype(&hipMemsetAsync) fill = entry<decltype(fill)>("hipMemsetAsync");
  decltype(&hipStreamCreateWithFlags) create_stream = entry<decltype(create_stream)>("hipStreamCreateWithFlags");
  decltype(&hipExtStreamCreateWithCUMask) create_masked_stream =
      entry<decltype(create_masked_stream)>("hipExtStreamCreateWithCUMask");
  decltype(&hipStreamWaitEvent) wait_event = entry<decltype(wait_event)>("hipStreamWaitEvent");
  decltype(&hipEventCreate) create_event = entry<decltype(create_event)>("hipEventCreate");
  decltype(&hipEventRecord) record_event = entry<decltype(record_event)>("hipEventRecord");
  decltype(&hipEventQuery) query_event = entry<decltype(query_event)>("hipEventQuery");
  decltype(&hipEventElapsedTime) elapsed_time = entry<decltype(elapsed_time)>("hipEventElapsedTime");
  decltype(&hipModuleLoadData) load_module = entry<decltype(load_module)>("hipModuleLoadData");
  decltype(&hipModuleGetFunction) find_function = entry<decltype(find_function)>("hipModuleGetFunction");
  decltype(&hipModuleLaunchKernel) launch_kernel = entry<decltype(launch_kernel)>("hipModuleLaunchKernel");
  decltype(&hipStreamBeginCapture) begin_capture = entry<decltype(begin_capture)>("hipStreamBeginCapture");
  decltype(&hipStreamEndCapture) end_capture = entry<decltype(end_capture)>("hipStreamEndCapture");
  decltype(&hipGraphInstantiate) instantiate = entry<decltype(instantiate)>("hipGraphInstantiate");
  decltype(&hipGraphLaunch) launch_graph = entry<decltype(launch_graph)>("hipGraphLaunch");
  decltype(&hipGraphDestroy) destroy_graph = entry<decltype(destroy_graph)>("hipGraphDestroy");
  decltype(&hipGraphExecDestroy) destroy_instance = entry<decltype(destroy_instance)>("hipGraphExecDestroy");
};

}  // namespace c3sim::measure
