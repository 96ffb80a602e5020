// SIM_CHECK verifies c3sim's own assumptions in every build. A failed check is a bug of c3sim, not of its user.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace c3sim::sim {

// InternalError reports a failed SIM_CHECK. Simulator::run adds the simulated time and the process to its message.
class InternalError : public std::exception {
 public:
  InternalError(std::string_view expression, std::string_view file, int line);

  // Adds the simulated time and the running process (empty: none) to the message. Only the first call counts.
  void locate(std::string_view at, std::string_view process);

  // Returns, for example, "check failed: at >= now_ (sim/simulator.cpp:31) at 2200000ps in process 'gpu0.sdma3'".
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& expression() const { return expression_; }

 private:
  std::string expression_;
  std::string message_;
  bool located_ = false;
};

// `debug_checks` enables checks that cost about as much as the work checked (C3SIM_DEBUG_CHECKS: presets dev and asan).
#ifdef C3SIM_DEBUG_CHECKS
inline constexpr bool debug_checks = true;
#else
inline constexpr bool debug_checks = false;
#endif

namespace detail {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}  // namespace detail

}  // namespace c3sim::sim

// Throws sim::InternalError unless `condition` holds. Add a reason like this: SIM_CHECK(at >= now && "time runs on").
#define SIM_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::c3sim::sim::detail::check_failed(#condition, __FILE__, __LINE__))
