#include "study/ask/figure.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "sim/config/quantity_text.h"

namespace c3sim::study {
namespace {

TEST(Figure, HasAKeyOfItsOwn) {
  std::set<std::string_view> keys;
  for (const FigureForm& form : all_figures()) {
    EXPECT_TRUE(keys.insert(form.key).second) << form.key;
    EXPECT_FALSE(form.heading.empty()) << form.key;
  }
}

TEST(Figure, IsFoundByItself) {
  for (const FigureForm& form : all_figures()) EXPECT_EQ(&form_of(form.figure), &form);
  EXPECT_EQ(form_of(Figure::time).key, "time");
  EXPECT_EQ(form_of(Figure::energy).key, "energy");
}

// "1us" read as a time is per_unit in base units, and so on: what people read and what files say cannot drift apart.
TEST(Figure, HasAUnitOfItsDimension) {
  for (const FigureForm& form : all_figures()) {
    if (form.dimension == sim::Dimension::number) continue;
    const sim::ParsedQuantity one = sim::parse_quantity("1" + std::string(form.unit), form.dimension);
    EXPECT_TRUE(one.ok()) << form.key << ": " << one.error;
    EXPECT_DOUBLE_EQ(one.value, form.per_unit) << form.key;
  }
}

TEST(Figure, WithoutADimensionIsARatioOrAPercentage) {
  for (const FigureForm& form : all_figures()) {
    if (form.dimension != sim::Dimension::number) continue;
    EXPECT_TRUE(form.unit.empty() || form.unit == "%") << form.key;
    EXPECT_EQ(form.per_unit, form.unit.empty() ? 1.0 : 0.01) << form.key;
  }
}

// A fit divides by what was measured: but for shares, which are compared in points, zero is out of bounds.
TEST(Figure, CanBeDividedByUnlessItIsCountedInPoints) {
  for (const FigureForm& form : all_figures()) {
    EXPECT_LT(form.low, form.high) << form.key;
    const bool in_points = form.error == ErrorKind::points;
    EXPECT_EQ(form.low > 0.0, !in_points) << form.key;
    if (in_points) {
      EXPECT_EQ(form.high, 1.0) << form.key;
    }
  }
}

}  // namespace
}  // namespace c3sim::study
