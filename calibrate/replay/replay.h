// Replays a profiled run. The cost of concurrent collectives, by the model, is taken out of traced times of computation
// and replaced by that of what runs concurrently in the replay. A collective first waits, as long as it did, then moves
// data, which is simulated. Everything begins when what it waits for has ended, as promptly as in the trace.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/readers/profile.h"
#include "calibrate/replay/dependencies.h"
#include "study/play/queue_time.h"

namespace c3sim::calibrate {

// The types down to Contention hold what a model says of the collectives of a trace: the time of each alone, and how
// much a collective and concurrent computation slow each other down.

// ByWhat says how collectives are carried out.
struct ByWhat {
  models::Backend backend = models::Backend::rccl;
  std::optional<int> channels{};
  bool channels_as_traced = true;  // if `channels` is not set; false: the library chooses the number
};

// The neighbours of a collective are matrix products and kernels that stream through memory.
using Beside = study::Neighbour;
inline constexpr std::size_t besides = 2;

struct Tenant {
  std::optional<sim::Time> alone{};  // time of the collective alone; nothing if it cannot be simulated
  std::string why_not{};             // why it cannot
  std::array<double, besides> slows{1.0,
                                    1.0};  // for each Neighbour, its time beside the collective over its time alone
  std::array<double, besides> slowed{1.0, 1.0};  // time of the collective beside each Neighbour over its time alone
};

// A Contention asks a testbed about collectives, each question once. It simulates slowdowns for a pair of equal length:
// a kernel, and the collective at the next power of two of bytes, at least 64 MiB, so that launches matter little.
class Contention {
 public:
  Contention(study::Testbed& testbed, ByWhat by_what) : testbed_(testbed), by_what_(by_what) {}

  const Tenant& tenant(const models::CollectiveSpec& collective);
  const models::PlatformSpec& platform() const { return testbed_.platform(); }
  // Returns why collectives are carried out by the library's kernels and not as requested, with their number.
  const std::map<std::string, std::size_t>& by_library() const { return by_library_; }

 private:
  // Returns the collective as it is carried out, or nothing and the reason.
  std::optional<models::CollectiveSpec> carried_out(const models::CollectiveSpec& collective, std::string& why_not);
  sim::Time alone_on_queue(const models::CollectiveSpec& collective) {
    return study::alone_on_queue(testbed_, study::operation_of(collective), false, study::Between::communication);
  }
  void add_slowdowns(const models::CollectiveSpec& collective, Tenant& tenant);

  study::Testbed& testbed_;
  ByWhat by_what_;
  std::map<models::CollectiveSpec, Tenant> tenants_;
  std::map<models::CollectiveSpec, Tenant> pairs_;  // by the collective of the simulated pair
  std::map<std::string, std::size_t> by_library_;
};

// A Piece is a part of a run: computation, a collective's wait for other GPUs, its data transfer, a whole collective
// about which too little is known, or anything else, such as the return of a call.
enum class PieceKind : std::uint8_t { matrix, memory, other, waiting, moving, unknown };
struct Piece {
  sim::Time begin{0}, end{0};  // as traced
  sim::Time alone{0};          // time with nothing concurrent
  std::int64_t device = 0;     // the GPU
  Place work{};                // in Profile::work
  Place collective{};          // of `moving`: in Run::collectives
  PieceKind kind = PieceKind::other;
  bool beside_compute = false;  // of `moving`: computation ran beside it in the trace
  bool computes() const { return kind == PieceKind::matrix || kind == PieceKind::memory; }
  bool communicates() const {
    return kind == PieceKind::waiting || kind == PieceKind::moving || kind == PieceKind::unknown;
  }
};

// A Run is the traced run, split into pieces by a model of the machine on which it ran.
struct Run {
  std::vector<Piece> pieces;
  study::WaitLists after;                              // for each piece, the pieces for which it waits
  std::vector<models::CollectiveSpec> collectives;     // no duplicates
  std::map<std::string, CountedEvents> not_simulated;  // collectives that the machine cannot run, by reason
  sim::Time unexplained{0};  // total time of collectives that is waiting for other GPUs, or unknown to the model
  sim::Time beyond{0};       // total time of collectives in the model beyond their traced times
};
Run take_apart(const Profile& profile, const Dependencies& dependencies, Contention& traced);

// Returns the run at a finer grain: each collective, the computation just before it that has no waits of its own, and
// the computation after it are cut into `count` parts. Each part waits for the part of the same number before it. Parts
// of computation take equal shares of its time.
Run split(const Run& run, int count);

struct Without {
  bool communication = false;  // collectives take no time
  bool waits = false;          // collectives do not wait for other GPUs, and the model is right
};
// Returns when each piece runs.
std::vector<study::Stay> play(const Run& run, Contention& contention, Without without = {});

}  // namespace c3sim::calibrate
