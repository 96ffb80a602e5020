// GoogleTest, and the matchers that most tests use by their plain names.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace c3sim {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

}  // namespace c3sim
