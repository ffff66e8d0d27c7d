#pragma once

// Every header includes this one. An #error alone would be followed by hundreds; a file that is missing ends it.
#if __cplusplus <= 201703L
#error "Capstan needs C++20: compile with -std=c++20"
#include "Capstan needs C++20: compile with -std=c++20"
#endif

/// Marks what the shared library exports; everything else is hidden.
#define CAPSTAN_EXPORT __attribute__((visibility("default")))
