// What is wrong with a configuration, in words for the person who wrote it: every fault at once, not the first alone.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace c3sim::sim {

struct Fault {
  std::string where;     // "platform.yaml:12:9", "--set gpu.sdma.engines=32", or the bare name of an unreadable file
  std::string path;      // "gpu.sdma.engines"; empty for the file as a whole
  std::string what;      // what is wrong, what would be accepted, the nearest known name
  bool is_word = false;  // a word that stands for nothing, whatever the machine and whatever is written beside it

  bool operator==(const Fault&) const = default;
};

// "where: path: what"
std::string in_words(const Fault& fault);

// The user's fault, never the program's. what() has one line for each fault, in file order, at most
// max_lines of them; faults() has them all.
class ConfigError : public std::runtime_error {
 public:
  static constexpr std::size_t max_lines = 100;

  explicit ConfigError(std::vector<Fault> faults);
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  std::vector<Fault> faults_;
};

}  // namespace c3sim::sim
