// Trains with a backup in a directory, and writes what it ends with to a file: interrupted_training_check DIR FILE
// FREQ, where FREQ is "epoch" or a number of batches. Tests kill it on the way.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/checkpoint/resume_training.h"

int main(int count, char** arguments) {
  if (count != 4) return 2;
  using namespace capstan;
  capstan::testing::Resumable training = capstan::testing::make_resumable();
  const std::string frequency = arguments[3];
  capstan::testing::train_with_backup(
      training, arguments[1], frequency == "epoch" ? SaveFrequency("epoch") : SaveFrequency(std::atoi(arguments[3])));
  io::save_text(arguments[2], capstan::testing::state_text(training));
  return 0;
}
