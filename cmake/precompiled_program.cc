#include "cmake/precompiled_program.h"
