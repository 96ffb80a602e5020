// A shared library that is looked for at run time, so that one program runs whatever of them a machine has.
#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

#include "calibrate/measure/gpu.h"

namespace c3sim::measure {

// What all calls of these libraries return where nothing is wrong.
inline constexpr int success = 0;

class Library {
 public:
  // What it means that a call returned something else.
  using Fault = GpuError (*)(const Library& library, const std::string& call, int result);

  Library() = default;
  // The first of these names that can be loaded, from `folders` if it is there, else from wherever the system looks.
  // Empty where there is none.
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
  // The newest generation that is there of a library of AMD's.
  static Library find_newest(const std::string& name, const std::vector<std::string>& folders,
                             Fault fault = failed_with_status) {
    std::vector<std::string> names;
    for (const char* generation : {".7", ".6", ".5", ".1", ".0", ""}) names.push_back(name + generation);
    return find(names, folders, fault);
  }
  explicit operator bool() const { return handle_ != nullptr; }

  // The function of that name, or null.
  template <class Function>
  Function* look_up(const std::string& function) const {
    return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, function.c_str()));
  }
  // The same; without it GpuError says which library lacks it.
  template <class Function>
  Function* need(const std::string& function) const {
    if (handle_ == nullptr) throw GpuError(GpuError::Kind::unsupported, "{} was not found", name_);
    if (Function* const found = look_up<Function>(function)) return found;
    throw GpuError(GpuError::Kind::unsupported, "{} has no {}", name_, function);
  }

  // What a function says that takes just these.
  template <class... Parameters>
  int result(const std::string& function, Parameters... parameters) const {
    return need<int(Parameters...)>(function)(parameters...);
  }
  // Calls it: GpuError unless it is a success.
  template <class... Parameters>
  void call(const std::string& function, Parameters... parameters) const {
    check(result(function, parameters...), function);
  }
  // Whether it is there and it is a success.
  template <class... Parameters>
  bool succeeds(const std::string& function, Parameters... parameters) const noexcept {
    const auto found = look_up<int(Parameters...)>(function);
    return found != nullptr && found(parameters...) == success;
  }
  // GpuError unless it is a success.
  void check(int result, const std::string& function) const {
    if (result != success) throw fault_(*this, function, result);
  }

  // A function that is looked up once, where no time is to be lost in the call. The library outlives it.
  template <class... Parameters>
  class Call {
   public:
    // Without a name it is one that the library is known to lack, and nobody calls it.
    Call(const Library& library, const char* name) : library_(library), name_(name) {
      if (name_ != nullptr) function_ = library.need<int(Parameters...)>(name_);
    }
    int result(Parameters... parameters) const noexcept { return function_(parameters...); }
    // GpuError unless it is a success.
    void check(int result) const {
      if (result != success) library_.check(result, name_);
    }
    void operator()(Parameters... parameters) const { check(result(parameters...)); }
    // Whether it is a success, where this other result is fine, too.
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

  void* handle_ = nullptr;  // for as long as the program runs: these libraries do not survive being unloaded
  std::string name_;
  Fault fault_ = failed_with_status;
};

}  // namespace c3sim::measure
