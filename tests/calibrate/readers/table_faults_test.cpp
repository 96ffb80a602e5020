// Rows that cannot be read: where, what is wrong, what would be accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/calibrate/readers/read_table.h"

namespace c3sim::calibrate {
namespace {

// A row that no entry knows: the column that keeps it from the entry that comes nearest, and what is known there.

const std::string kinds =
    "rows:\n"
    "  - {where: {kind: gemm, collective: '-'}, trial: rest, see: {power: 5W}}\n"
    "  - {where: {kind: [coll, drift], how: nccl}, trial: rest, see: {power: 5W}}\n"
    "  - {where: {kind: coll, how: 'copy_*'}, trial: rest, see: {power: 5W}}\n"
    "  - {where: {kind: coll, how: tree, bytes: '<8'}, trial: rest, see: {power: 5W}}\n";

std::string fault_of_row(const std::string& row) {
  return faults_of(kinds, "kind,collective,how,bytes\n" + row + "\n");
}

TEST(UnknownRows, NameTheWordThatWasMeant) {
  EXPECT_EQ(fault_of_row("gem,-,nccl,8"), "runs/f.csv:2:1: kind: 'gem' is not known; did you mean 'gemm'?");
  EXPECT_EQ(fault_of_row("coll,-,nkcl,8"),
            "runs/f.csv:2:8: how: 'nkcl' is not known beside kind 'coll'; did you mean 'nccl'?");
}

TEST(UnknownRows, NameAllWordsWhereNoneIsNear) {
  EXPECT_EQ(fault_of_row("p2p,-,nccl,8"), "runs/f.csv:2:1: kind: 'p2p' is not known; known are: gemm, coll, drift");
  EXPECT_EQ(fault_of_row("coll,-,ring,8"),
            "runs/f.csv:2:8: how: 'ring' is not known beside kind 'coll'; known are: nccl, copy_*, tree");
}

TEST(UnknownRows, NameTheColumnThatIsOddBesideTheOthers) {
  // Every word of these is known somewhere; together they are not.
  EXPECT_EQ(fault_of_row("gemm,all_gather,nccl,8"),
            "runs/f.csv:2:6: collective: 'all_gather' is not known beside kind 'gemm'; known are: -");
  EXPECT_EQ(fault_of_row("drift,-,tree,8"),
            "runs/f.csv:2:9: how: 'tree' is not known beside kind 'drift'; known are: nccl");
  EXPECT_EQ(fault_of_row("coll,-,tree,8"),
            "runs/f.csv:2:13: bytes: '8' is not known beside kind 'coll', how 'tree'; known are: <8");
}

TEST(UnknownRows, QuoteNoMoreOfAWordThanOneReads) {
  const std::string fault = fault_of_row(std::string(1000, 'x') + ",-,nccl,8");
  EXPECT_LT(fault.size(), 200u) << fault;
}

// Faults of a trial's fields.

const std::string copies =
    "rows: [{trial: collective, with: {collective: '{coll}', bytes: '{bytes}B', gpus: '{n}'}, see: {time: "
    "'{us}us'}}]\n";

TEST(FaultsOfARow, AreAllToldWithTheirCells) {
  EXPECT_EQ(faults_of(copies, "coll,bytes,n,us\ngather,0,one,x\n"),
            "runs/f.csv:2:1: coll: 'gather' is not known; known are: all_gather, all_to_all, all_reduce, "
            "reduce_scatter, broadcast\n"
            "runs/f.csv:2:8: bytes: '0B' is out of bounds: 1B to 1TiB are accepted\n"
            "runs/f.csv:2:10: n: 'one': a whole number from 2 to 4096 is accepted\n"
            "runs/f.csv:2:14: us: 'xus' is not a time: write 2.2us, 450ns or 1ms");
}

TEST(FaultsOfARow, NameTheFieldThatIsMissing) {
  EXPECT_EQ(
      faults_of(copies, "coll,bytes,n,us\n-,,2,5\n"),
      "runs/f.csv:2:1: coll: is missing; known are: all_gather, all_to_all, all_reduce, reduce_scatter, broadcast\n"
      "runs/f.csv:2:3: bytes: is missing: 1B to 1TiB are accepted");
  EXPECT_EQ(faults_of("rows: [{trial: copy, with: {from: gpu0, to: gpu1}, see: {time: '{us}us'}}]\n", "us\n5\n"),
            "runs/f.csv:2:1: bytes of the trial 'copy' is missing: 1B to 1TiB are accepted");
  EXPECT_EQ(faults_of("rows: [{trial: gemm, with: {gemm: '{g}'}, see: {time: '{us}us'}}]\n", "us,g\n5,-\n"),
            "runs/f.csv:2:3: g: is missing: MxNxK such as 8192x57344x8192 is accepted, or cb1 to cb5, mb1, mb2 of "
            "ConCCL's Table I");
}

TEST(FaultsOfARow, LeaveTheOthersReadable) {
  const Reading reading = read(grouped("{a}"), "a,b\n1\n2,x\n3,y,z\n4,x\n");
  ASSERT_EQ(reading.measurements.size(), 2u);
  EXPECT_EQ(reading.measurements[0].where(), "f.csv:3");
  ASSERT_EQ(reading.faults.size(), 2u);
  EXPECT_EQ(reading.faults[0].where, "runs/f.csv:2:1");
  EXPECT_EQ(reading.faults[0].what, "1 cells where the columns are 2");
  EXPECT_EQ(reading.faults[1].where, "runs/f.csv:4:1");
}

TEST(FaultsOfARow, OfAColumnNamedTwiceAreTold) {
  EXPECT_EQ(faults_of(grouped("{a}"), "a,a\n1,2\n"), "runs/f.csv:1:3: a: this column is named twice");
}

}  // namespace
}  // namespace c3sim::calibrate
