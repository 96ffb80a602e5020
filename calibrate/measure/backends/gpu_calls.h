// The calls of NVIDIA's driver and of AMD's runtime that measurements need: the same ones under other names, and with
// the same errors. They are declared here, so that one program runs with either and is built where neither's headers
// are; tests/calibrate/measure/headers_test.py holds them against those.
#pragma once

#include <string>

#include "calibrate/measure/gpu.h"
#include "calibrate/measure/library.h"

namespace c3sim::measure {

enum class Vendor { nvidia, amd };

using Object = void*;                  // that nobody but the library looks into
enum class Place : std::uintptr_t {};  // where work is done: a context with NVIDIA, the number of a GPU with AMD

class GpuCalls {
 private:
  Vendor vendor_;  // first, as is the library, since all others are found by them
  Library library_;

 public:
  GpuCalls(Vendor vendor, Library library) : vendor_(vendor), library_(std::move(library)) {}
  Vendor vendor() const { return vendor_; }
  GpuCalls(const GpuCalls&) = delete;
  GpuCalls& operator=(const GpuCalls&) = delete;

  // By its name with either vendor; null where one has it not.
  template <class... Parameters>
  struct Call : Library::Call<Parameters...> {
    Call(const GpuCalls& all, const char* nvidia, const char* amd)
        : Library::Call<Parameters...>(all.library_, all.vendor_ == Vendor::nvidia ? nvidia : amd) {}
  };

  // Of results.
  static constexpr int no_device = 100, not_ready = 600, already_enabled = 704;

  Call<int*> version{*this, "cuDriverGetVersion", "hipRuntimeGetVersion"};
  Call<unsigned> init{*this, "cuInit", "hipInit"};
  Call<int*> device_count{*this, "cuDeviceGetCount", "hipGetDeviceCount"};
  Call<int*, int> device{*this, "cuDeviceGet", "hipDeviceGet"};
  Call<char*, int, int> device_name{*this, "cuDeviceGetName", "hipDeviceGetName"};
  Call<std::size_t*, int> device_memory{*this, "cuDeviceTotalMem_v2", "hipDeviceTotalMem"};
  Call<int*, int, int> attribute{*this, "cuDeviceGetAttribute", nullptr};
  Call<char*, int, int> bus_id{*this, "cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId"};
  Call<int*, int, int> can_access_peer{*this, "cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer"};
  Call<Place*, int> retain_context{*this, "cuDevicePrimaryCtxRetain", nullptr};
  Call<int> release_context{*this, "cuDevicePrimaryCtxRelease_v2", nullptr};
  Call<Place> set_current{*this, "cuCtxSetCurrent", "hipSetDevice"};
  Call<Place, unsigned> enable_peer{*this, "cuCtxEnablePeerAccess", "hipDeviceEnablePeerAccess"};
  Call<void**, std::size_t> allocate{*this, "cuMemAlloc_v2", "hipMalloc"};
  Call<void*> release{*this, "cuMemFree_v2", "hipFree"};
  Call<void**, std::size_t, unsigned> allocate_host{*this, "cuMemHostAlloc", "hipHostMalloc"};
  Call<void*> release_host{*this, "cuMemFreeHost", "hipHostFree"};
  Call<void*, const void*, std::size_t, Stream> copy{*this, "cuMemcpyAsync", nullptr};
  Call<void*, const void*, std::size_t, int, Stream> copy_of_kind{*this, nullptr, "hipMemcpyAsync"};
  Call<void*, unsigned char, std::size_t, Stream> fill{*this, "cuMemsetD8Async", "hipMemsetD8Async"};
  Call<Stream*, unsigned> create_stream{*this, "cuStreamCreate", "hipStreamCreateWithFlags"};
  Call<Stream*, unsigned, const unsigned*> create_masked{*this, nullptr, "hipExtStreamCreateWithCUMask"};
  Call<Stream, Event, unsigned> wait_event{*this, "cuStreamWaitEvent", "hipStreamWaitEvent"};
  Call<Event*, unsigned> create_event{*this, "cuEventCreate", "hipEventCreateWithFlags"};
  Call<Event, Stream> record_event{*this, "cuEventRecord", "hipEventRecord"};
  Call<Event> query_event{*this, "cuEventQuery", "hipEventQuery"};
  Call<float*, Event, Event> elapsed_time{*this, "cuEventElapsedTime", "hipEventElapsedTime"};
  Call<Object*, const void*> load_module{*this, "cuModuleLoadData", "hipModuleLoadData"};
  Call<Kernel*, Object, const char*> find_function{*this, "cuModuleGetFunction", "hipModuleGetFunction"};
  Call<Kernel, int, int> set_attribute{*this, "cuFuncSetAttribute", nullptr};
  Call<Kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**, void**>
      launch_kernel{*this, "cuLaunchKernel", "hipModuleLaunchKernel"};
  Call<Stream, int> begin_capture{*this, "cuStreamBeginCapture_v2", "hipStreamBeginCapture"};
  Call<Stream, Object*> end_capture{*this, "cuStreamEndCapture", "hipStreamEndCapture"};
  Call<Graph*, Object, unsigned long long> instantiate{*this, "cuGraphInstantiateWithFlags",
                                                       "hipGraphInstantiateWithFlags"};
  Call<Graph, Stream> launch_graph{*this, "cuGraphLaunch", "hipGraphLaunch"};
  Call<Object> destroy_graph{*this, "cuGraphDestroy", "hipGraphDestroy"};
  Call<Graph> destroy_instance{*this, "cuGraphExecDestroy", "hipGraphExecDestroy"};
};

}  // namespace c3sim::measure
