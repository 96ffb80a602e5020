#include "calibrate/replay/experiment_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include "sim/config/config_error.h"
#include "study/run/busy_times.h"

namespace c3sim::calibrate {

namespace {

using std::chrono::microseconds;

// Shorter ones are part of the delay: a GEMM has at least one step of its depth.
constexpr sim::Time shortest_gemm = microseconds(100);
constexpr std::int64_t depth_step = 64;
constexpr sim::Time shortest_kernel = microseconds(5);

class Writer {
 public:
  Writer(const Profile& profile, const Run& run, Contention& machine, models::Backend backend)
      : profile_(profile), run_(run), machine_(machine), backend_(backend), streams_(profile.streams.size()) {}

  std::string write() {
    find_awaited();
    find_beside();
    find_pace();
    for (std::size_t i = 0; i < run_.pieces.size(); ++i) {
      if (run_.pieces[i].work) add(i);
    }
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) flush(stream);
    return text_;
  }

 private:
  struct Stream {
    sim::Time idle{0}, matrix{0}, memory{0};  // not yet written
    sim::Time longest{0};                     // product of these
    std::set<std::string> after;              // of what is written next
    std::optional<sim::Time> end;             // traced, of the last piece
    std::string last;                         // operation written
    bool is_beside = false;                   // it computes beside another: what it does is a delay
  };

  std::size_t stream_of(std::size_t piece) const { return profile_.work[*run_.pieces[piece].work].stream; }
  bool is_of_other(const After& after, std::size_t piece) const {
    return !after.of_begin && run_.pieces[after.node].work && stream_of(after.node) != stream_of(piece);
  }
  void find_awaited() {
    awaited_.resize(run_.pieces.size());
    ended_by_.resize(run_.pieces.size());
    for (std::size_t i = 0; i < run_.pieces.size(); ++i) {
      if (!run_.pieces[i].work) continue;
      for (const After& after : run_.after[i]) {
        if (is_of_other(after, i)) awaited_[after.node] = true;
      }
    }
  }

  // Streams that compute for most of their time while those that compute more do. What both cost each other is part of
  // their traced times, and would be simulated once more.
  void find_beside() {
    struct Computing {
      std::size_t stream;
      study::BusyTimes busy;
    };
    std::vector<Computing> streams;
    for (std::size_t i = 0; i < streams_.size(); ++i) streams.push_back({i, {}});
    for (std::size_t i = 0; i < run_.pieces.size(); ++i) {
      const Piece& piece = run_.pieces[i];
      if (piece.computes()) study::add_busy(streams[stream_of(i)].busy, piece.begin, piece.end);
    }
    std::ranges::stable_sort(streams, std::ranges::greater(),
                             [](const Computing& one) { return study::length_of(one.busy); });
    study::BusyTimes busy;
    for (const Computing& one : streams) {
      streams_[one.stream].is_beside = 2 * study::length_of(one.busy & busy) > study::length_of(one.busy);
      if (!streams_[one.stream].is_beside) busy += one.busy;
    }
  }

  // Among all that a stream does the clock is another than where a product has the node to itself all the time.
  void find_pace() {
    sim::Time matrix{0}, memory{0};
    for (std::size_t i = 0; i < run_.pieces.size(); ++i) {
      const Piece& piece = run_.pieces[i];
      if (!piece.computes() || streams_[stream_of(i)].is_beside) continue;
      (piece.kind == PieceKind::matrix ? matrix : memory) += piece.alone;
    }
    const sim::Time idle = profile_.end() - profile_.begin() - matrix - memory;
    if (matrix >= shortest_gemm) pace_ = machine_.pace(std::max(sim::Time(0), idle), matrix, memory);
  }

  void add(std::size_t i) {
    const Piece& piece = run_.pieces[i];
    Stream& stream = streams_[stream_of(i)];
    sim::Time free = stream.end.value_or(profile_.begin());
    const bool waits = std::ranges::any_of(run_.after[i], [&](const After& after) { return is_of_other(after, i); });
    if (waits) flush(stream_of(i));
    for (const After& after : run_.after[i]) {
      if (!is_of_other(after, i) || ended_by_[after.node].empty()) continue;
      stream.after.insert(ended_by_[after.node]);
      free = std::max(free, run_.pieces[after.node].end);
    }
    stream.idle += std::max(sim::Time(0), piece.begin - free);
    stream.end = piece.end;
    if (piece.kind == PieceKind::matrix) stream.longest = std::max(stream.longest, piece.alone);
    if (piece.kind == PieceKind::moving) {
      flush(stream_of(i));
      const models::CollectiveSpec& spec = run_.collectives[*piece.collective];
      const models::Backend backend = machine_.can(spec, backend_) ? backend_ : models::Backend::rccl;
      write(stream_of(i), "collective",
            fmt::format(
                "collective: {{kind: {}, bytes: {}, gpus: {}, backend: {}{}}}", models::to_string(spec.kind),
                sim::to_string(spec.bytes), spec.gpus, models::to_string(backend),
                spec.channels && models::by_kernels(backend) ? fmt::format(", channels: {}", *spec.channels) : ""));
    } else {
      (!piece.computes() || stream.is_beside ? stream.idle
       : piece.kind == PieceKind::matrix     ? stream.matrix
                                             : stream.memory) += piece.alone;
    }
    if (!awaited_[i]) return;
    flush(stream_of(i));
    ended_by_[i] = stream.last;
  }

  void flush(std::size_t place) {
    Stream& stream = streams_[place];
    if (stream.matrix < shortest_gemm) {
      stream.memory += stream.matrix;
      stream.matrix = sim::Time(0);
    }
    if (stream.memory < shortest_kernel) {
      stream.idle += stream.memory;
      stream.memory = sim::Time(0);
    }
    if (stream.idle > sim::Time(0)) {
      write(place, "idle", fmt::format("delay: {:.3f}us", sim::to_microseconds(stream.idle)));
    }
    if (stream.matrix > sim::Time(0)) {
      write_products(place);
    }
    if (stream.memory > sim::Time(0)) {
      write_kernels(place);
    }
    stream.idle = stream.matrix = stream.memory = stream.longest = sim::Time(0);
  }

  // A kernel goes through its arrays once, and these fit a GPU: what takes longer is several of them.
  void write_kernels(std::size_t place) {
    const auto whole = std::get<models::ElementwiseSpec>(machine_.company(Beside::memory, streams_[place].memory));
    const double count =
        std::ceil(whole.read / std::min(machine_.platform().gpu.memory.hbm_capacity, study::largest_array));
    const std::string bytes = sim::to_string(sim::Bytes(std::floor(whole.read.value() / count)));
    for (double i = 0.0; i < count; i += 1.0) {
      write(place, "kernels", fmt::format("kernel: {{read: {0}, write: {0}}}", bytes));
    }
  }

  // As many as the longest of those traced allows, where collectives might find no room while one runs.
  void write_products(std::size_t place) {
    const Stream& stream = streams_[place];
    const std::int64_t most = stream.matrix / std::max(shortest_gemm, stream.longest);
    const std::int64_t count = run_.collectives.empty() ? 1 : std::max<std::int64_t>(1, most);
    const sim::Time length = sim::to_time(pace_ * sim::to_seconds(stream.matrix));
    auto gemm = std::get<models::GemmShape>(machine_.company(Beside::matrix, length / count));
    models::GemmShape deeper = gemm;
    deeper.k += depth_step;
    // Depths have steps: some are deeper, so that all of them are as long together. None is where a deeper one takes no
    // longer.
    const sim::Time lacks = length - count * machine_.alone(gemm);
    const sim::Time step = machine_.alone(deeper) - machine_.alone(gemm);
    const std::int64_t deep = step > sim::Time(0) ? std::clamp<std::int64_t>(lacks / step, 0, count) : 0;
    for (std::int64_t i = 0; i < count; ++i) {
      write(place, "products", "gemm: " + models::to_string(i < deep ? deeper : gemm));
    }
  }

  void write(std::size_t place, std::string_view kind, const std::string& work) {
    Stream& stream = streams_[place];
    stream.last = fmt::format("{}_{}", kind, ++written_);
    text_ += fmt::format("  - {{name: {}, stream: s{}, {}", stream.last, profile_.streams[place].stream, work);
    if (!stream.after.empty()) text_ += fmt::format(", after: [{}]", fmt::join(stream.after, ", "));
    text_ += "}\n";
    stream.after.clear();
  }

  const Profile& profile_;
  const Run& run_;
  Contention& machine_;
  models::Backend backend_;
  std::vector<Stream> streams_;
  double pace_ = 1.0;                  // how much longer a product by itself takes than the same among the others
  std::vector<bool> awaited_;          // by piece: another stream waits for its end
  std::vector<std::string> ended_by_;  // by piece that is awaited: the operation that it ends with
  std::size_t written_ = 0;
  std::string text_;
};

}  // namespace

std::string experiment_text(const Profile& profile, const Run& run, Contention& machine, models::Backend backend) {
  for (const ProfiledStream& stream : profile.streams) {
    if (stream.device == profile.streams.front().device) continue;
    throw sim::ConfigError({{profile.file, "", "of several GPUs: an experiment is written of a trace of one"}});
  }
  std::string text = fmt::format(
      "# {} as traced: what computes between two waits is one GEMM and one kernel of the same length.\n"
      "name: replay\nplatform: {}\nset: [gpus={}]\noperations:\n",
      profile.file, machine.platform().name, machine.platform().gpus);
  return text + Writer(profile, run, machine, backend).write();
}

}  // namespace c3sim::calibrate
