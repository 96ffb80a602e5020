// Plays a profiled run again. What computes keeps the time that it would take alone: what collectives beside it cost
// it, by the model, is taken out of its traced time and put back by what runs beside it now. A collective is waiting,
// which stays, and then moving data, which is simulated. Everything begins when what it waits for has ended, as
// promptly as it did in the trace.
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

// What a model of a machine says of the collectives of a trace: how long each takes alone, and by how much it and the
// computation beside it slow each other down.

// How collectives are to be carried out.
struct ByWhat {
  models::Backend backend = models::Backend::rccl;
  std::optional<int> channels{};
  bool channels_as_traced = true;  // where none are asked for; else as the library has it
};

// Beside matrix products, and beside kernels that stream through memory.
using Beside = study::Neighbour;
inline constexpr std::size_t besides = 2;

struct Tenant {
  std::optional<sim::Time> alone{};              // of the collective; nothing where it cannot be simulated
  std::string why_not{};                         // there
  std::array<double, besides> slows{1.0, 1.0};   // the time of such kernels beside it over that alone
  std::array<double, besides> slowed{1.0, 1.0};  // its own beside such kernels
};

// Answers each question once. Slowdowns are those of a pair of equal length: the collective, of the next power of two
// of bytes from 64 MiB up, where times are long against launches, and one kernel beside it.
class Contention {
 public:
  Contention(study::Testbed& testbed, ByWhat by_what) : testbed_(testbed), by_what_(by_what) {}

  const Tenant& tenant(const models::CollectiveSpec& collective);
  const models::PlatformSpec& platform() const { return testbed_.platform(); }
  // Collectives that are not carried out as asked for, but by the library's kernels, and why.
  const std::map<std::string, std::size_t>& by_library() const { return by_library_; }

 private:
  // As it is carried out; nothing where it cannot be, and why.
  std::optional<models::CollectiveSpec> carried_out(const models::CollectiveSpec& collective, std::string& why_not);
  sim::Time alone_on_queue(const models::CollectiveSpec& collective) {
    return study::alone_on_queue(testbed_, study::operation_of(collective), false, study::Between::communication);
  }
  void add_slowdowns(const models::CollectiveSpec& collective, Tenant& tenant);

  study::Testbed& testbed_;
  ByWhat by_what_;
  std::map<models::CollectiveSpec, Tenant> tenants_;
  std::map<models::CollectiveSpec, Tenant> pairs_;  // by the collective of the pair
  std::map<std::string, std::size_t> by_library_;
};

// A piece of a run: computation, a collective's wait for other GPUs, its data on the move, a whole collective of which
// too little is known, or anything else, such as the return of a call.
enum class PieceKind : std::uint8_t { matrix, memory, other, waiting, moving, unknown };
struct Piece {
  sim::Time begin{0}, end{0};  // as traced
  sim::Time alone{0};          // what it would take with nothing beside it
  std::int64_t device = 0;     // on which it is
  Place work{};                // in Profile::work
  Place collective{};          // of `moving`: in Run::collectives
  PieceKind kind = PieceKind::other;
  bool beside_compute = false;  // of `moving`, as traced
  bool computes() const { return kind == PieceKind::matrix || kind == PieceKind::memory; }
  bool communicates() const {
    return kind == PieceKind::waiting || kind == PieceKind::moving || kind == PieceKind::unknown;
  }
};

// The run as traced, taken apart by what a model says of the machine that it ran on.
struct Run {
  std::vector<Piece> pieces;
  Waits after;                                         // of each piece, places of pieces
  std::vector<models::CollectiveSpec> collectives;     // each once
  std::map<std::string, CountedEvents> not_simulated;  // collectives that the machine cannot have, by the reason
  sim::Time unexplained{0};  // of collectives, in all: waits for other GPUs, and what the model does not know
  sim::Time beyond{0};       // in all: what the model gives collectives beyond their traced times
};
Run take_apart(const Profile& profile, const Dependencies& dependencies, Contention& traced);

// The same at a finer grain: each collective, what computes just before it and waits for nothing of its own, and what
// computes behind it are cut into so many parts, each of which waits for the part of the same number before it. Parts
// of computation take their share of its time.
Run split(const Run& run, int count);

struct Without {
  bool communication = false;  // collectives take no time
  bool waits = false;          // they do not wait for other GPUs, and the model is right
};
struct Played {
  sim::Time begin{0}, end{0};
};
// By piece. The order of events follows from times, and among equals from the order of pieces.
std::vector<Played> play(const Run& run, Contention& contention, Without without = {});

}  // namespace c3sim::calibrate
