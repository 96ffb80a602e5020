// The processes of one run on several machines, as mpirun or srun starts them: who this one is, and messages. Open MPI
// does the work, from a library of its own (mpi/), which is loaded only where a launcher has started this process.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace c3sim::study {

class Ranks {
 public:
  Ranks() = default;
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  virtual int rank() const = 0;  // 0 keeps the results
  virtual int size() const = 0;
  struct Message {
    int from = 0;
    std::string bytes;
  };
  // Waits for nobody. What is sent goes its way while this rank looks for messages, and in its last call.
  virtual void send(int to, const std::string& bytes) = 0;
  // A message that has arrived, if any has.
  virtual std::optional<Message> receive() = 0;
  // The last call. With `everyone`, waits for the last calls of all others; without, as where one is dead, for nobody.
  virtual void leave(bool everyone) = 0;
};

// The processes that this one was started with; null where it was started alone. Throws sim::ConfigError where a
// launcher started several and this c3sim was built without Open MPI.
std::unique_ptr<Ranks> join_ranks();

}  // namespace c3sim::study
