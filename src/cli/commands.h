// What the program does. Each returns the exit status: 0, or 1 if files differ. Errors are thrown.
#pragma once

#include <string>
#include <vector>

namespace capstan::cli {

struct InspectOptions {
  std::vector<std::string> files = {};
  bool statistics = false;
};
int inspect(const InspectOptions& options);

struct ConvertOptions {
  std::string from = {}, to = {};
  std::string format = {};  // by name; from the end of the path unless given
};
int convert(const ConvertOptions& options);

struct DiffOptions {
  std::string first = {}, second = {};
  double tolerance = 0;
};
int diff(const DiffOptions& options);

struct RunOptions {
  std::string model = {};
  std::vector<std::string> inputs = {};  // FILE, or NAME=FILE
  std::string output = {};               // a .npy or .npz file, or a directory; empty: nothing is written
};
int run_model(const RunOptions& options);

}  // namespace capstan::cli
