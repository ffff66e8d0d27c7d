#include "src/io/npy.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/io/file_samples.h"
#include "tests/support/temporary_directory.h"

namespace capstan::io {
namespace {

RawArray parse(const std::string& bytes) {
  return read_npy(*open_memory("read_npy", "memory", std::as_bytes(std::span(bytes))));
}

template <class T>
std::vector<T> values(const RawArray& array) {
  return {array.values<T>().begin(), array.values<T>().end()};
}

void expect_refused(const std::string& bytes, std::initializer_list<std::string_view> parts) {
  expect_io_error([&] { parse(bytes); }, parts);
}

TEST(ReadNpy, ReadsEveryElementType) {
  EXPECT_EQ(values<uint8_t>(parse(npy_bytes("|u1", "(3,)", "\x01\x02\xff"))), (std::vector<uint8_t>{1, 2, 255}));
  EXPECT_EQ(values<int32_t>(parse(npy_bytes("<i4", "(2,)", bytes_of<int32_t>({-1, 70000})))),
            (std::vector<int32_t>{-1, 70000}));
  EXPECT_EQ(values<int64_t>(parse(npy_bytes("<i8", "(1,)", bytes_of<int64_t>({-5'000'000'000})))),
            (std::vector<int64_t>{-5'000'000'000}));
  EXPECT_EQ(values<float>(parse(npy_bytes("<f4", "(2,)", bytes_of<float>({1.5f, -0.25f})))),
            (std::vector<float>{1.5f, -0.25f}));
  EXPECT_EQ(values<double>(parse(npy_bytes("<f8", "(1,)", bytes_of<double>({0.1})))), (std::vector<double>{0.1}));
  const RawArray flags = parse(npy_bytes("|b1", "(3,)", std::string("\x01\x00\x01", 3)));
  EXPECT_EQ(flags.type, ElementType::kBool);
  EXPECT_EQ(values<uint8_t>(flags), (std::vector<uint8_t>{1, 0, 1}));
}

TEST(ReadNpy, MakesEveryBoolZeroOrOne) {
  EXPECT_EQ(values<uint8_t>(parse(npy_bytes("|b1", "(2,)", "\x02\xff"))), (std::vector<uint8_t>{1, 1}));
}

TEST(ReadNpy, ReadsScalarsAndEmptyArrays) {
  const RawArray scalar = parse(npy_bytes("<f4", "()", bytes_of<float>({3.0f})));
  EXPECT_EQ(scalar.description(), "float32[]");
  EXPECT_EQ(scalar.count(), 1);
  const RawArray empty = parse(npy_bytes("<f8", "(2, 0, 3)", ""));
  EXPECT_EQ(empty.description(), "float64[2, 0, 3]");
  EXPECT_EQ(empty.count(), 0);
}

TEST(ReadNpy, ReadsAllThreeVersions) {
  for (int version : {1, 2, 3}) {
    const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1), }            ";
    EXPECT_EQ(parse(npy_with_header(header, "ab", version)).description(), "uint8[2, 1]");
  }
}

TEST(ReadNpy, AcceptsKeysInAnyOrderAndEitherQuote) {
  EXPECT_EQ(parse(npy_with_header("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"|u1\"}", "ab")).description(),
            "uint8[2]");
}

TEST(ReadNpy, PutsFortranOrderIntoRowMajorOrder) {
  const RawArray array = parse(npy_bytes("<i4", "(2, 3)", bytes_of<int32_t>({1, 4, 2, 5, 3, 6}), true));
  EXPECT_EQ(array.description(), "int32[2, 3]");
  EXPECT_EQ(values<int32_t>(array), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));

  // Element [i, j, k] of a [2, 3, 2] array holds 100 i + 10 j + k.
  std::string elements;
  std::vector<uint8_t> expected;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) elements += static_cast<char>(100 * i + 10 * j + k);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 2; ++k) expected.push_back(static_cast<uint8_t>(100 * i + 10 * j + k));
  EXPECT_EQ(values<uint8_t>(parse(npy_bytes("|u1", "(2, 3, 2)", elements, true))), expected);
}

TEST(ReadNpy, ReadsAFile) {
  TemporaryDirectory directory;
  EXPECT_EQ(read_npy(directory.write("a.npy", npy_bytes("|u1", "(2,)", "ab"))).description(), "uint8[2]");
}

TEST(ReadNpy, NamesTheFileInErrors) {
  TemporaryDirectory directory;
  const std::string path = directory.write("a.npy", "this is text");
  expect_io_error([&] { read_npy(path); }, {"load_npy: not an .npy array", "\n  file: " + path, "\n  help: "});
  expect_io_error([] { read_npy("/nowhere/a.npy"); }, {"cannot open the file", "/nowhere/a.npy"});
}

TEST(ReadNpy, RefusesOtherVersions) {
  std::string bytes = npy_bytes("|u1", "(1,)", "a");
  bytes[6] = 4;
  expect_refused(bytes, {"version 4.0 of the .npy format is not supported, expected 1.0, 2.0 or 3.0"});
}

TEST(ReadNpy, RefusesOtherDtypes) {
  for (const char* descr : {">f4", "<f2", "<c8", "|O", "<U4", "<i2", "<u4", "f4", ""}) {
    expect_refused(npy_bytes(descr, "(1,)", "abcdefgh"),
                   {"dtype \"" + std::string(descr) + "\" is not supported", "astype"});
  }
  expect_refused(npy_with_header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd"),
                 {"structured arrays are not supported"});
}

TEST(ReadNpy, RefusesHeadersOutsideTheGrammar) {
  const std::string descr = "'descr': '|u1', ", order = "'fortran_order': False, ", shape = "'shape': (1,), ";
  for (const std::string& header : {std::string(""),
                                    std::string("{}"),
                                    "{" + descr + order + "}",
                                    "{" + descr + shape + "}",
                                    "{" + order + shape + "}",
                                    "{" + descr + descr + order + shape + "}",
                                    "{" + descr + order + shape + "'more': 1}",
                                    "{" + descr + order + shape + "} x",
                                    "{" + descr + order + shape,
                                    descr + order + shape + "}",
                                    "{" + descr + order + "'shape': (1)}",
                                    "{" + descr + order + "'shape': (-1,)}",
                                    "{" + descr + order + "'shape': (1 1)}",
                                    "{" + descr + order + "'shape': (,)}",
                                    "{" + descr + order + "'shape': 1}",
                                    "{" + descr + order + "'shape': (1,}",
                                    "{" + descr + order + "'shape': (1.0,)}",
                                    "{" + descr + "'fortran_order': 0, " + shape + "}",
                                    "{'descr: |u1, " + order + shape + "}",
                                    "{" + descr + order + "'shape': (1,1,1,1,1,1,1,1,1)}",
                                    "{" + descr + order + "'shape': (99999999999999999999,)}"}) {
    expect_refused(npy_with_header(header, "a"), {"the header is not that of an .npy file"});
  }
}

TEST(ReadNpy, RefusesAHeaderThatIsTooLong) {
  expect_refused(npy_with_header(std::string(10'001, ' '), "a"),
                 {"the header is 10002 bytes long, expected at most 10000"});
}

TEST(ReadNpy, ShowsUnprintableTextAsQuestionMarksAndNotAllOfIt) {
  const std::string text = io_error_of([] { parse(npy_bytes("\x01\x1b[31m" + std::string(200, 'x'), "(1,)", "a")); });
  EXPECT_NE(text.find("\"??[31mxxx"), std::string::npos) << text;
  EXPECT_LT(text.size(), 250u);
}

TEST(ReadNpy, RefusesTooFewAndTooManyElements) {
  expect_refused(npy_bytes("<f4", "(2,)", "abcdefg"), {"data should be 8 bytes, but the file ends after 7"});
  expect_refused(npy_bytes("<f4", "(2,)", "abcdefghi"), {"goes on after the last element"});
}

TEST(ReadNpy, RefusesShapesThatTheFileCannotHold) {
  expect_refused(npy_bytes("<f8", "(1000000000000,)", "abcdefgh"),
                 {"the header announces float64[1000000000000], but the file cannot hold more than"});
  expect_refused(npy_bytes("<f8", "(4611686018427387904, 4)", "abcdefgh"), {"cannot hold more than"});
  expect_refused(npy_bytes("<f8", "(0, 4611686018427387904, 4)", ""), {"cannot hold more than"});
  expect_refused(npy_bytes("<f8", "(0, 4294967295, 4294967295, 1)", ""), {"cannot hold more than"});
}

TEST(ReadNpy, RefusesAnArrayThatIsCutOffAnywhere) {
  const std::string bytes = npy_bytes("<f4", "(2,)", "abcdefgh");
  for (size_t size = 0; size < bytes.size(); ++size) expect_refused(bytes.substr(0, size), {"read_npy: "});
}

TEST(ReadNpy, GivesAnArrayOrAnIoErrorForDamagedArrays) {
  for (bool fortran_order : {false, true}) {
    const std::string content = npy_bytes("<f4", "(2, 3)", std::string(24, '\1'), fortran_order);
    Mutator mutator(3);
    int arrays = 0, errors = 0;
    for (int i = 0; i < 20'000; ++i) {
      try {
        const RawArray array = parse(mutator.damaged(content));
        ASSERT_EQ(array.data.size(), static_cast<size_t>(array.count()) * element_size(array.type));
        ++arrays;
      } catch (const IoError&) {
        ++errors;
      }
    }
    EXPECT_GT(arrays, 1000);
    EXPECT_GT(errors, 1000);
  }
}

}  // namespace
}  // namespace capstan::io
