// What a thread cleans up when it ends.
//
// Thread-local variables on hot paths have no destructor, so that an access is one instruction; they say here what is
// to be done instead.
#pragma once

namespace capstan {

// Runs `action` on this thread when it ends, once however often it is asked for; what was asked for last is run first.
// Costs a search among a few addresses. Nothing is asked for any more by a thread that has ended its actions: then it
// does nothing.
void at_thread_end(void (*action)()) noexcept;

}  // namespace capstan
