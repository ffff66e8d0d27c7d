#include "benchmarks/protocol/protocol.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <sstream>

namespace capstan::benchmarks {

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void run(const Arguments& arguments, const Library& library, const Workloads& workloads, const std::string& name) {
  const auto fail = [&](const std::string& reason) {
    std::printf("{\"workload\": \"%s\", \"implementation\": \"%s\", \"threads\": %d, \"failed\": \"%s\"}\n",
                name.c_str(), arguments.implementation.c_str(), arguments.threads, reason.c_str());
  };
  if (std::find(library.modes.begin(), library.modes.end(), arguments.mode) == library.modes.end()) {
    return fail("there is no mode " + arguments.mode);
  }
  for (const auto& [known, workload] : workloads) {
    if (known != name) continue;
    try {
      workload(arguments, name);
    } catch (const std::exception& error) {
      std::string text = error.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::replace(text.begin(), text.end(), '"', '\'');
      std::replace(text.begin(), text.end(), '\\', '/');
      fail(text.substr(0, 160));
    }
    return;
  }
  fail("there is no such workload");
}

}  // namespace

std::vector<float> fill_values(std::int64_t count, int seed, double scale) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double z = 43758.5453 * std::sin(12.9898 * static_cast<double>(i) + 78.233 * seed);
    values[i] = static_cast<float>(scale * (2 * (z - std::floor(z)) - 1));
  }
  return values;
}

void measure(const Arguments& arguments, const std::string& workload, const std::function<void()>& step,
             const Measurement& m) {
  const double seconds = std::max(arguments.seconds, m.seconds);
  double begin = now();
  step();
  const double first = now() - begin;
  for (int i = 0; i < 3; ++i) step();
  begin = now();
  step();
  const int inner = std::max(1, static_cast<int>(0.004 / std::max(now() - begin, 1e-9)));
  std::vector<double> samples;
  const double cpu_before = cpu_seconds();
  long calls = 0;
  const double start = now();
  while (samples.size() < 5 || (now() - start < seconds && samples.size() < 400)) {
    begin = now();
    for (int i = 0; i < inner; ++i) step();
    samples.push_back((now() - begin) / inner);
    calls += inner;
  }
  const double cpu = (cpu_seconds() - cpu_before) / static_cast<double>(calls);
  std::sort(samples.begin(), samples.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::ostringstream check;
  check.precision(9);
  if (m.check.empty()) check << "null";
  if (m.check.size() == 1) check << m.check[0];
  if (m.check.size() > 1) {
    for (std::size_t i = 0; i < m.check.size(); ++i) check << (i == 0 ? "[" : ", ") << m.check[i];
    check << "]";
  }
  const double unit = 1e6 / m.per;
  std::printf(
      "{\"workload\": \"%s\", \"implementation\": \"%s\", \"threads\": %d, \"min_us\": %.4f, \"median_us\": "
      "%.4f, "
      "\"cpu_us\": %.4f, \"first_call_us\": %.1f, \"peak_rss_mib\": %.1f, \"check\": %s, \"note\": null}\n",
      workload.c_str(), arguments.implementation.c_str(), arguments.threads, samples.front() * unit,
      samples[samples.size() / 2] * unit, cpu * unit, first * 1e6, static_cast<double>(usage.ru_maxrss) / 1024,
      check.str().c_str());
  std::fflush(stdout);
}

int run_workloads(int argc, char** argv, const Library& library, const Workloads& workloads) {
  Arguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string key = argv[i];
    if (key == "--workload") arguments.workload = argv[i + 1];
    if (key == "--mode") arguments.mode = argv[i + 1];
    if (key == "--threads") arguments.threads = std::max(1, std::atoi(argv[i + 1]));
    if (key == "--seconds") arguments.seconds = std::atof(argv[i + 1]);
  }
  if (arguments.workload.empty()) {
    std::string modes;
    for (const std::string& mode : library.modes) modes += (modes.empty() ? "" : "|") + mode;
    std::fprintf(stderr, "usage: %s --workload NAME[,NAME...]|all|list [--mode %s] [--threads N] [--seconds S]\n",
                 argv[0], modes.c_str());
    return 2;
  }
  arguments.implementation = library.name + " " + arguments.mode;
  library.set_threads(arguments.threads);
  std::istringstream names(arguments.workload);
  std::string name;
  if (arguments.workload == "list") {
    for (const auto& [known, workload] : workloads) std::printf("%s\n", known.c_str());
  } else if (arguments.workload == "all") {
    for (const auto& [known, workload] : workloads) run(arguments, library, workloads, known);
  } else {
    while (std::getline(names, name, ',')) run(arguments, library, workloads, name);
  }
  return 0;
}

}  // namespace capstan::benchmarks
