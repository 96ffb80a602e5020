// The CUDA driver's functions, of the types that cuda.h gives them, found in libcuda when the program runs.
#pragma once

#include <cuda.h>

#include <string>

#include "calibrate/measure/library.h"

namespace c3sim::measure {

class CudaDriver {
 private:
  // First, since all others are found through them.
  Library library_;
  decltype(&cuGetProcAddress) find_;

  // In the version that this header declares.
  template <class Function>
  Function entry(const char* name) const {
    return reinterpret_cast<Function>(address(name));
  }
  void* address(const char* name) const;

 public:
  explicit CudaDriver(Library library);

  // GpuError unless it is a success.
  void check(CUresult result, const char* call) const;
  std::string version() const;  // of CUDA: "13.0"

  decltype(&cuInit) init = entry<decltype(init)>("cuInit");
  decltype(&cuGetErrorName) error_name = entry<decltype(error_name)>("cuGetErrorName");
  decltype(&cuGetErrorString) error_text = entry<decltype(error_text)>("cuGetErrorString");
  decltype(&cuDriverGetVersion) driver_version = entry<decltype(driver_version)>("cuDriverGetVersion");
  decltype(&cuDeviceGetCount) device_count = entry<decltype(device_count)>("cuDeviceGetCount");
  decltype(&cuDeviceGet) device = entry<decltype(device)>("cuDeviceGet");
  decltype(&cuDeviceGetName) device_name = entry<decltype(device_name)>("cuDeviceGetName");
  decltype(&cuDeviceTotalMem) device_memory = entry<decltype(device_memory)>("cuDeviceTotalMem");
  decltype(&cuDeviceGetAttribute) attribute = entry<decltype(attribute)>("cuDeviceGetAttribute");
  decltype(&cuDeviceGetPCIBusId) bus_id = entry<decltype(bus_id)>("cuDeviceGetPCIBusId");
  decltype(&cuDeviceCanAccessPeer) can_access_peer = entry<decltype(can_access_peer)>("cuDeviceCanAccessPeer");
  decltype(&cuDevicePrimaryCtxRetain) retain_context = entry<decltype(retain_context)>("cuDevicePrimaryCtxRetain");
  decltype(&cuDevicePrimaryCtxRelease) release_context = entry<decltype(release_context)>("cuDevicePrimaryCtxRelease");
  decltype(&cuCtxSetCurrent) set_context = entry<decltype(set_context)>("cuCtxSetCurrent");
  decltype(&cuCtxEnablePeerAccess) enable_peer = entry<decltype(enable_peer)>("cuCtxEnablePeerAccess");
  decltype(&cuMemAlloc) allocate = entry<decltype(allocate)>("cuMemAlloc");
  decltype(&cuMemFree) release = entry<decltype(release)>("cuMemFree");
  decltype(&cuMemHostAlloc) allocate_host = entry<decltype(allocate_host)>("cuMemHostAlloc");
  decltype(&cuMemFreeHost) release_host = entry<decltype(release_host)>("cuMemFreeHost");
  decltype(&cuMemcpyAsync) copy = entry<decltype(copy)>("cuMemcpyAsync");
  decltype(&cuMemsetD8Async) fill = entry<decltype(fill)>("cuMemsetD8Async");
  decltype(&cuStreamCreate) create_stream = entry<decltype(create_stream)>("cuStreamCreate");
  decltype(&cuStreamWaitEvent) wait_event = entry<decltype(wait_event)>("cuStreamWaitEvent");
  decltype(&cuEventCreate) create_event = entry<decltype(create_event)>("cuEventCreate");
  decltype(&cuEventRecord) record_event = entry<decltype(record_event)>("cuEventRecord");
  decltype(&cuEventQuery) query_event = entry<decltype(query_event)>("cuEventQuery");
  decltype(&cuEventElapsedTime) elapsed_time = entry<decltype(elapsed_time)>("cuEventElapsedTime");
  decltype(&cuModuleLoadData) load_module = entry<decltype(load_module)>("cuModuleLoadData");
  decltype(&cuModuleGetFunction) find_function = entry<decltype(find_function)>("cuModuleGetFunction");
  decltype(&cuFuncSetAttribute) set_attribute = entry<decltype(set_attribute)>("cuFuncSetAttribute");
  decltype(&cuLaunchKernel) launch_kernel = entry<decltype(launch_kernel)>("cuLaunchKernel");
  decltype(&cuStreamBeginCapture) begin_capture = entry<decltype(begin_capture)>("cuStreamBeginCapture");
  decltype(&cuStreamEndCapture) end_capture = entry<decltype(end_capture)>("cuStreamEndCapture");
  decltype(&cuGraphInstantiateWithFlags) instantiate = entry<decltype(instantiate)>("cuGraphInstantiateWithFlags");
  decltype(&cuGraphLaunch) launch_graph = entry<decltype(launch_graph)>("cuGraphLaunch");
  decltype(&cuGraphDestroy) destroy_graph = entry<decltype(destroy_graph)>("cuGraphDestroy");
  decltype(&cuGraphExecDestroy) destroy_instance = entry<decltype(destroy_instance)>("cuGraphExecDestroy");
};

}  // namespace c3sim::measure
