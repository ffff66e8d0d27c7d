// What fresh memory holds, for tests: an element that nobody writes shows as a difference between two runs.
#pragma once

namespace capstan::testing {

// Fills what the next small and middling tensors and kernels of this thread will be given with a byte. 0xff gives NaN
// and -1, 0x5a numbers.
void fill_free_memory(int byte);

}  // namespace capstan::testing
