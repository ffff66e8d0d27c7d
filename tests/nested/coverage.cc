#include "tests/nested/coverage.h"

#include "tests/nested/check.h"
#include "tests/nested/generate.h"

namespace capstan::nested {

std::vector<Program> all_programs() {
  std::vector<Program> programs;
  for (unsigned number = 0; number < kPrograms; ++number) programs.push_back(generate_suitable(number));
  return programs;
}

Pairs pairs_of(const std::vector<Program>& programs) {
  Pairs pairs = {};
  for (const Program& program : programs) {
    for_each_pair(program.root, [&](Op inside, Op around) {
      ++pairs[static_cast<std::size_t>(transform_number(inside))][static_cast<std::size_t>(transform_number(around))];
    });
  }
  return pairs;
}

std::string coverage_page(const std::vector<Program>& programs) {
  std::string page =
      "# Programs that nest transforms\n\n"
      "Written by `build/release/tests/nested_coverage_check docs/nested-coverage.md`; a test compares it.\n\n";
  page +=
      "`tests/nested` makes programs in which transforms are nested in each other, two and three deep, and compares "
      "what "
      "Capstan computes of\neach with the same mathematics without Capstan: the value, and first and second "
      "derivatives, "
      "which a reference computes exactly.\n\n";
  Counts counts;
  for (const Program& program : programs) {
    ++counts.programs;
    for (const Mode& mode : all_modes()) counts.add(program, mode);
  }
  page += "`make test` runs " + std::to_string(counts.programs) + " programs and compares " +
          std::to_string(counts.all_comparisons()) +
          " numbers. Where the tapes and accumulators of the outermost level are:\n\n";
  page += "| what | no function | inside of one | around one |\n|---|---|---|---|\n";
  for (int quantity = 0; quantity < kQuantities; ++quantity) {
    page += "| " + std::string(name_of(static_cast<Quantity>(quantity))) + " |";
    for (const std::int64_t count : counts.comparisons[static_cast<std::size_t>(quantity)]) {
      page += " " + (count == 0 ? "" : std::to_string(count)) + " |";
    }
    page += "\n";
  }
  page += "\nHow often the transform of the row is inside of the one of the column, with no third between them:\n\n| |";
  for (int around = 0; around < kTransforms; ++around) page += " " + std::to_string(around + 1) + " |";
  page += "\n|---|";
  for (int around = 0; around < kTransforms; ++around) page += "---|";
  page += "\n";
  const Pairs pairs = pairs_of(programs);
  for (int inside = 0; inside < kTransforms; ++inside) {
    page += "| " + std::to_string(inside + 1) + " `" + name_of(transform(inside)) + "` |";
    for (const int count : pairs[static_cast<std::size_t>(inside)]) page += " " + std::to_string(count) + " |";
    page += "\n";
  }
  return page;
}

std::string coverage_page_path() { return std::string(CAPSTAN_SOURCE_DIR) + "/docs/nested-coverage.md"; }

}  // namespace capstan::nested
