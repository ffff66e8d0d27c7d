// capstan: looks into files of weights and data, converts and compares them, and runs models.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "src/cli/commands.h"
#include "src/cli/formats.h"

namespace capstan::cli {
namespace {

std::string list_of_formats() {
  std::string text = "Formats:\n";
  for (const Format& format : formats()) {
    std::string line = "  " + std::string(format.name);
    line.resize(16, ' ');
    text += line + std::string(format.description) + (format.write == nullptr ? " (read only)" : "") + "\n";
  }
  return text;
}

int run(int argc, char** argv) {
  CLI::App app("Looks into files of weights and data, converts and compares them, and runs models.", "capstan");
  app.footer(list_of_formats() + "Exit status: 0; 1 if diff finds a difference; 2 for an error.");
  app.require_subcommand(1);
  app.set_version_flag("--version", "capstan " CAPSTAN_VERSION);

  InspectOptions inspected;
  CLI::App* const inspect_command = app.add_subcommand("inspect", "Show what files hold, and whether they are damaged");
  inspect_command->add_option("FILE", inspected.files, "Files, or prefixes of checkpoints")->required();
  inspect_command->add_flag("--statistics", inspected.statistics,
                            "Also the least, the greatest and the mean element, and how many are not finite");

  ConvertOptions converted;
  CLI::App* const convert_command = app.add_subcommand("convert", "Write the tensors of a file in another format");
  convert_command->add_option("FROM", converted.from, "The file that is read")->required();
  convert_command->add_option("TO", converted.to, "The file that is written")->required();
  convert_command->add_option("--to", converted.format, "Its format, unless the end of its name says it");

  DiffOptions compared;
  CLI::App* const diff_command = app.add_subcommand("diff", "Compare the tensors of two files, of any formats");
  diff_command->add_option("FIRST", compared.first, "A file")->required();
  diff_command->add_option("SECOND", compared.second, "Another file")->required();
  diff_command->add_option("--tolerance", compared.tolerance, "How far elements may be apart (0)")
      ->check(CLI::NonNegativeNumber);

  RunOptions runs;
  CLI::App* const run_command = app.add_subcommand("run", "Run an ONNX model on arrays");
  run_command->add_option("MODEL", runs.model, "An .onnx file")->required();
  run_command->add_option("--input", runs.inputs,
                          "An .npy file for the next input, NAME=FILE for that of a name, or an .npz file with arrays "
                          "under the names of inputs");
  run_command->add_option("--output", runs.output, "An .npy or .npz file, or a directory, for the outputs");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (inspect_command->parsed()) return inspect(inspected);
  if (convert_command->parsed()) return convert(converted);
  if (run_command->parsed()) return run_model(runs);
  return diff(compared);
}

}  // namespace
}  // namespace capstan::cli

int main(int argc, char** argv) {
  try {
    return capstan::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
