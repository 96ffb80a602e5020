// These tests check when turns of pipeline stages run, and how much longer they take beside others.
#include "study/step/turn_times.h"

#include <gtest/gtest.h>

#include <chrono>

#include "study/program/pipeline.h"

namespace c3sim::study {
namespace {

sim::Time of_us(int time) { return std::chrono::microseconds(time); }

// Returns stages whose turns take `forward` and `backward` and whose sends take `send`. Hosts are never late.
TimedStages alike_stages(int stages, int micro, bool trains, int forward, int backward, int send = 0) {
  TimedStages timed(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    for (const Turn& turn : turns_of(stage, stages, micro, trains)) {
      const sim::Time time = of_us(turn.forward ? forward : backward);
      TimedTurn one{.turn = turn, .pace = {time, sim::Time(0), time}};
      one.waits = turn.forward ? stage > 0 : stage < stages - 1;
      one.sends = turn.forward ? stage < stages - 1 : stage > 0;
      one.send = of_us(send);
      timed[static_cast<std::size_t>(stage)].push_back(one);
    }
  }
  return timed;
}

// 1F1B: the first micro-batch passes p - 1 stages before the last stage has work. That stage then has m forward passes
// and gradients without a gap, and the last gradient passes p - 1 stages: (m + p - 1) (f + b).
TEST(TurnTimes, OfAlikeStagesFillAndEmptyThePipeline) {
  for (const int stages : {1, 2, 4, 8}) {
    for (const int micro : {1, 3, 8, 32}) {
      for (const bool trains : {true, false}) {
        TimedStages timed = alike_stages(stages, micro, trains, 10, 20);
        EXPECT_EQ(place(timed), of_us((micro + stages - 1) * (trains ? 30 : 10))) << stages << " stages, " << micro;
      }
    }
  }
}

// In forward passes, sends that are shorter than turns overlap with them: the last micro-batch is sent p - 1 times.
// Sends of 25 after turns of 10 follow each other on their stream. The last of six ends at 10 + 6 * 25, and its turn
// follows.
TEST(TurnTimes, OfForwardPassesHideShortSendsAndFollowLongOnes) {
  TimedStages timed = alike_stages(4, 6, false, 10, 0, 3);
  EXPECT_EQ(place(timed), of_us((6 + 3) * 10 + 3 * 3));
  timed = alike_stages(2, 6, false, 10, 0, 25);
  EXPECT_EQ(place(timed), of_us(10 + 6 * 25 + 10));
}

// Sends take 25 between two stages. A stage has at most two micro-batches in flight, so that sends there and back hold
// up the first stage. The last stage runs f0 b0 f1 b1 ...; f0 arrives at 10 + 25, and its gradient is back at 35 + 10 +
// 20 + 25 = 90 and ends at 110. f2 follows, ends at 120 and arrives at 145, where b1 ended at 95: every two
// micro-batches take 110.
TEST(TurnTimes, WaitForWhatIsUnderWay) {
  const auto end_of = [](int micro) {
    TimedStages timed = alike_stages(2, micro, true, 10, 20, 25);
    return place(timed);
  };
  EXPECT_EQ(end_of(7) - end_of(5), of_us(110));
  EXPECT_EQ(end_of(8) - end_of(6), of_us(110));
}

// After turns of 10 each stage has an update of 7. The gradient of the first stage ends last.
TEST(TurnTimes, EndWithTheUpdateOfTheLastStageToBeDone) {
  TimedStages timed = alike_stages(2, 3, true, 10, 10);
  for (std::vector<TimedTurn>& turns : timed) turns.push_back({.pace = {of_us(7), sim::Time(0), of_us(7)}});
  EXPECT_EQ(place(timed), of_us((3 + 1) * 20 + 7));
  EXPECT_EQ(timed[1].back().at.end, of_us(10 + 3 * 20 + 7));
}

// Three kernels of 5 take 15 when they were launched long before; if the host, at 2 each, starts with them they begin 2
// later. Kernels of 1 wait for their launches, of which the last ends at 6.
TEST(Pace, IsThatOfTheHostWhereItIsSlower) {
  const Pace slow = Pace{of_us(5), of_us(2), of_us(7)}.repeated(3);
  EXPECT_EQ(slow.gpu, of_us(15));
  EXPECT_EQ(slow.host, of_us(6));
  EXPECT_EQ(slow.both, of_us(17));
  const Pace fast = Pace{of_us(1), of_us(2), of_us(3)}.repeated(3);
  EXPECT_EQ(fast.both, of_us(7));
  // After the slow kernels, launched from 2 on, the fast ones were launched long ago. After the fast kernels the first
  // slow one is launched at 8.
  EXPECT_EQ(slow.then(fast).both, of_us(2 + 15 + 3));
  EXPECT_EQ(fast.then(slow).both, of_us(8 + 15));
}

// A stage follows a host that takes 30 for each turn of 10. The host launches ahead while its stage waits for others:
// the second stage has launched its turn before the first one's activations arrive, at 32 + 5.
TEST(TurnTimes, FollowTheHost) {
  TimedStages timed = alike_stages(2, 4, false, 10, 0, 5);
  for (std::vector<TimedTurn>& turns : timed) {
    for (TimedTurn& turn : turns) turn.pace = {of_us(10), of_us(30), of_us(32)};
  }
  EXPECT_EQ(place(timed), of_us(3 * 30 + 32 + 5 + 10));
  EXPECT_EQ(timed[1].front().at.begin, of_us(37));
  EXPECT_EQ(timed[1].front().at.end, of_us(47));
}

TEST(TurnTimes, TellWhatRunsBesideThem) {
  TimedStages timed = alike_stages(2, 2, false, 10, 0, 4);
  place(timed);
  // Sends take 10 to 14 and 20 to 24; the second stage runs from 14 to 24 and from 24 to 34.
  EXPECT_EQ(beside(timed[0][1].at, sends_of(timed, 0)), of_us(4));
  EXPECT_EQ(beside(timed[1][0].at, sends_of(timed, 1)), of_us(4));
  EXPECT_EQ(beside(timed[1][1].at, sends_of(timed, 1)), of_us(0));
  EXPECT_EQ(beside(timed[0][0].sent, turns_of(timed, 0)), of_us(4));
  EXPECT_EQ(beside(timed[0][1].sent, turns_of(timed, 1)), of_us(4));
}

// Turns take 100 alone and lose a tenth of the time during which others run. Some are three times as long. As a share
// of the lengthened turn, the loss is up to 4 % smaller.
TEST(Slope, IsWhatIsLostToOthers) {
  Slope slope;
  EXPECT_EQ(slope.value(), 0.0);
  slope.add({{100.0, 0.0}, {104.0, 40.0}, {102.0, 20.0}});
  EXPECT_NEAR(slope.value(), 0.1, 4e-3);
  slope.add({{300.0, 0.0}, {312.0, 120.0}});
  EXPECT_NEAR(slope.value(), 0.1, 4e-3);
}

TEST(Slope, IsNoneWhereAllHaveAsManyBesideThemOrOthersHelp) {
  Slope slope;
  slope.add({{100.0, 50.0}, {100.0, 50.0}});
  EXPECT_EQ(slope.value(), 0.0);
  slope.add({{100.0, 0.0}, {90.0, 50.0}});
  EXPECT_EQ(slope.value(), 0.0);
}

}  // namespace
}  // namespace c3sim::study
