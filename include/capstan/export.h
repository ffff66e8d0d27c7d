#pragma once

/// Marks what the shared library exports; everything else is hidden.
#define CAPSTAN_EXPORT __attribute__((visibility("default")))
