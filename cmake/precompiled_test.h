#pragma once
#include <gtest/gtest.h>

#include "cmake/precompiled_program.h"
