// Checks of our own assumptions, on in every build. A failed one is a bug of c3sim and never the user's fault.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace c3sim::sim {

// A failed SIM_CHECK. Simulator::run adds when and in which process it happened as the error passes through.
class InternalError : public std::exception {
 public:
  InternalError(std::string_view expression, std::string_view file, int line);

  // Notes the simulated time and the running process (empty: none ran). The first note, the innermost, stays.
  void locate(std::string_view at, std::string_view process);

  // "check failed: at >= now_ (sim/simulator.cpp:31) at 2200000ps in process 'gpu0.sdma3'"
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& expression() const { return expression_; }

 private:
  std::string expression_;
  std::string message_;
  bool located_ = false;
};

// Whether this build checks invariants whose check costs about as much as the work (C3SIM_DEBUG_CHECKS: dev and asan).
#ifdef C3SIM_DEBUG_CHECKS
inline constexpr bool debug_checks = true;
#else
inline constexpr bool debug_checks = false;
#endif

namespace detail {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace detail

}  // namespace c3sim::sim

// Throws sim::InternalError unless `condition` holds. Say why in the expression: SIM_CHECK(at >= now && "time runs
// on").
#define SIM_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::c3sim::sim::detail::check_failed(#condition, __FILE__, __LINE__))
