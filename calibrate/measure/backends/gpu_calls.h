// Finds shared libraries at run time, so that one program runs with whatever of them a machine has, and declares the
// calls of NVIDIA's driver and of AMD's runtime that measurements need: the same calls with the same errors under other
// names. With declarations here, the program builds without either vendor's headers;
// tests/calibrate/measure/headers_test.py compares them with those.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

// All calls of these libraries return this value on success.
inline constexpr int success = 0;

class Library {
 public:
  // A Fault makes the error of a call that returned another result.
  using Fault = GpuError (*)(const Library& library, const std::string& call, int result);

  Library() = default;
  // Returns the first of these libraries that can be loaded, from `folders` if it is there, else from wherever the
  // system looks; empty if there is none.
  static Library find(const std::vector<std::string>& names, const std::vector<std::string>& folders = {},
                      Fault fault = failed_with_status) {
    Library library;
    library.fault_ = fault;
    std::vector<std::string> candidates;
    for (const std::string& folder : folders) {
      for (const std::string& name : names) candidates.push_back(fmt::format("{}/{}", folder, name));
    }
    candidates.insert(candidates.end(), names.begin(), names.end());
    for (const std::string& candidate : candidates) {
      library.handle_ = dlopen(candidate.c_str(), RTLD_NOW | RTLD_GLOBAL);
      library.name_ = library ? candidate : names.front();
      if (library) break;
    }
    return library;
  }
  // Returns the newest generation of one of AMD's libraries that is there.
  static Library find_newest(const std::string& name, const std::vector<std::string>& folders,
                             Fault fault = failed_with_status) {
    std::vector<std::string> names;
    for (const char* generation : {".7", ".6", ".5", ".1", ".0", ""}) names.push_back(name + generation);
    return find(names, folders, fault);
  }
  explicit operator bool() const { return handle_ != nullptr; }

  // Returns the function of that name, or null.
  template <class Function>
  Function* look_up(const std::string& function) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, function.c_str()));
  }
  // Returns the function of that name, or throws GpuError that says which library lacks it.
  template <class Function>
  Function* need(const std::string& function) const {
    if (handle_ == nullptr) throw GpuError(GpuError::Kind::unsupported, "{} was not found", name_);
    if (Function* const found = look_up<Function>(function)) return found;
    throw GpuError(GpuError::Kind::unsupported, "{} has no {}", name_, function);
  }

  // Calls a function that takes exactly these parameters, and returns its result.
  template <class... Parameters>
  int result(const std::string& function, Parameters... parameters) const {
    return need<int(Parameters...)>(function)(parameters...);
  }
  // Calls a function; throws GpuError unless it succeeds.
  template <class... Parameters>
  void call(const std::string& function, Parameters... parameters) const {
    check(result(function, parameters...), function);
  }
  // Returns whether the function is there and succeeds.
  template <class... Parameters>
  bool succeeds(const std::string& function, Parameters... parameters) const noexcept {
    const auto found = look_up<int(Parameters...)>(function);
    return found != nullptr && found(parameters...) == success;
  }
  // Throws GpuError unless the result is a success.
  void check(int result, const std::string& function) const {
    if (result != success) throw fault_(*this, function, result);
  }

  // A Call is a function that is looked up once, for calls in which no time may be lost. The library outlives it.
  template <class... Parameters>
  class Call {
   public:
    // A null name stands for a function that the library is known to lack; nobody calls it.
    Call(const Library& library, const char* name) : library_(library), name_(name) {
      if (name_ != nullptr) function_ = library.need<int(Parameters...)>(name_);
    }
    int result(Parameters... parameters) const noexcept { return function_(parameters...); }
    // Throws GpuError unless the result is a success.
    void check(int result) const {
      if (result != success) library_.check(result, name_);
    }
    void operator()(Parameters... parameters) const { check(result(parameters...)); }
    // Returns true on success and false for this other result; throws GpuError for all others.
    bool unless(int other, Parameters... parameters) const {
      const int got = result(parameters...);
      if (got != other) check(got);
      return got != other;
    }

   private:
    const Library& library_;
    const char* name_;
    int (*function_)(Parameters...) = nullptr;
  };

 private:
  static GpuError failed_with_status(const Library& /*library*/, const std::string& call, int status) {
    return {GpuError::Kind::failed, "{}: status {}", call, status};
  }

  void* handle_ = nullptr;  // never closed: these libraries do not survive being unloaded
  std::string name_;
  Fault fault_ = failed_with_status;
};

enum class Vendor { nvidia, amd };

using Object = void*;                  // only the library looks into it
enum class Place : std::uintptr_t {};  // where work is done: a context with NVIDIA, the number of a GPU with AMD

class GpuCalls {
 private:
  Vendor vendor_;  // first, like the library: all calls are found by them
  Library library_;

 public:
  GpuCalls(Vendor vendor, Library library) : vendor_(vendor), library_(std::move(library)) {}
  GpuCalls(const GpuCalls&) = delete;
  GpuCalls& operator=(const GpuCalls&) = delete;

  // A Call has its name with either vendor; null where one lacks it.
  template <class... Parameters>
  struct Call : Library::Call<Parameters...> {
    Call(const GpuCalls& all, const char* nvidia, const char* amd)
        : Library::Call<Parameters...>(all.library_, all.vendor_ == Vendor::nvidia ? nvidia : amd) {}
  };

  // These results are no failures where they are expected.
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
