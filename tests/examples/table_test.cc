// The tables that examples read.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "capstan/ops/reduce.h"
#include "examples/support/csv.h"

namespace examples {
namespace {

// A file with this text, until the end of the test.
class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_((std::filesystem::temp_directory_path() / "capstan_table_test.csv").string()) {
    std::ofstream(path_) << text;
  }
  ~TextFile() { std::remove(path_.c_str()); }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Table, HasColumnsOfTextsAndNumbers) {
  const TextFile file("a,name,b\r\n1,x,-2.5\n3,y y,4e1\n");
  const Table table = Table::read(file.path());
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.column("name"), (std::vector<std::string>{"x", "y y"}));
  EXPECT_TRUE(capstan::equal_tensors(table.numbers({"b", "a"}), capstan::constant({{-2.5, 1.0}, {40.0, 3.0}})));
}

TEST(Table, LeavesOutRowsWithoutAValue) {
  const TextFile file("a,b\n1,\n,2\n3,4\n");
  const Table table = Table::read(file.path()).without_missing("a");
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.column("b"), (std::vector<std::string>{"", "4"}));
  EXPECT_EQ(table.without_missing("b").rows(), 1u);
}

TEST(Table, RefusesWhatItCannotRead) {
  EXPECT_THROW(Table::read("no/such/file.csv"), capstan::IoError);
  const TextFile file("a,b\n1,2\n3\n");
  EXPECT_THROW(Table::read(file.path()), capstan::IoError);
  const TextFile text("a,b\n1,x\n,2\n");
  const Table table = Table::read(text.path());
  EXPECT_THROW(table.column("c"), capstan::IndexError);
  EXPECT_THROW(table.without_missing("c"), capstan::IndexError);
  EXPECT_THROW(table.numbers({"a"}), capstan::ValueError);
  EXPECT_THROW(table.numbers({"b"}), capstan::ValueError);
}

}  // namespace
}  // namespace examples
