// A shared library that is looked for at run time, so that one program runs whatever of them a machine has.
#pragma once

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

  // The first of these names that can be loaded, from `folder` where it is not empty, else from wherever the system
  // looks. Empty where there is none.
  static Library find(const std::vector<std::string>& names, const std::vector<std::string>& folders = {},
                      Fault fault = failed_with_status);
  // The newest generation that is there of a library of AMD's.
  static Library find_newest(const std::string& name, const std::vector<std::string>& folders,
                             Fault fault = failed_with_status);
  static GpuError failed_with_status(const Library& library, const std::string& call, int status);

  Library() = default;
  explicit operator bool() const { return handle_ != nullptr; }

  // A function, of whatever type of pointer it is given to.
  class Symbol {
   public:
    explicit Symbol(void* address) : address_(address) {}
    explicit operator bool() const { return address_ != nullptr; }
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address_);
    }

   private:
    void* address_;
  };
  // The function of that name, or null.
  Symbol look_up(const std::string& function) const;
  // The same; without it GpuError says which library lacks it.
  Symbol need(const std::string& function) const;

  // What a function says that takes just these.
  template <class... Parameters>
  int result(const std::string& function, Parameters... parameters) const {
    int (*const found)(Parameters...) = need(function);
    return found(parameters...);
  }
  // Calls it: GpuError unless it is a success.
  template <class... Parameters>
  void call(const std::string& function, Parameters... parameters) const {
    check(result(function, parameters...), function);
  }
  // Whether it is there and it is a success.
  template <class... Parameters>
  bool succeeds(const std::string& function, Parameters... parameters) const noexcept {
    int (*const found)(Parameters...) = look_up(function);
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
      if (name_ != nullptr) function_ = library.need(name_);
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
  void* handle_ = nullptr;  // for as long as the program runs: these libraries do not survive being unloaded
  std::string name_;
  Fault fault_ = failed_with_status;
};

}  // namespace c3sim::measure
