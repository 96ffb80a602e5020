// Open MPI behind study/sweep/ranks.h, as a library that c3sim loads where a launcher started it.
#include "study/sweep/ranks.h"

#include <mpi.h>

#include <list>

namespace c3sim {

namespace {

class OpenMpiRanks final : public study::Ranks {
 public:
  OpenMpiRanks() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);  // one thread talks, others work
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);      // a message to a dead process is no reason to die
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  // A send that waits for its receiver would wait for a dead one for ever.
  void send(int to, const std::string& bytes) override {
    Sending& sending = under_way_.emplace_back(Sending{bytes, MPI_REQUEST_NULL});
    MPI_Isend(sending.bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD, &sending.request);
  }

  std::optional<Message> receive() override {
    under_way_.remove_if([](Sending& sending) {
      int done = 0;
      MPI_Test(&sending.request, &done, MPI_STATUS_IGNORE);
      return done != 0;
    });
    int there = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status) != MPI_SUCCESS || there == 0) return {};
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    Message message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(length), '\0')};
    const int result =
        MPI_Recv(message.bytes.data(), length, MPI_BYTE, message.from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (result != MPI_SUCCESS) return {};
    return message;
  }

  void leave(bool everyone) override {
    if (!everyone) return;
    for (Sending& sending : under_way_) MPI_Wait(&sending.request, MPI_STATUS_IGNORE);
    MPI_Finalize();
  }

 private:
  struct Sending {
    std::string bytes;
    MPI_Request request;
  };

  std::list<Sending> under_way_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

}  // namespace c3sim

extern "C" c3sim::study::Ranks* c3sim_join_ranks() { return new c3sim::OpenMpiRanks; }
