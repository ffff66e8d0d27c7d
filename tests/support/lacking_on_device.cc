// The tests that do not run on a device: see guarded_device.h.
#include "tests/support/guarded_device.h"

namespace capstan::testing {

namespace {

constexpr LackingOnDevice kLacking[] = {
    // What counts bytes of the host's allocator.
    {"ThrowingRule.UsesUpASingleUseTapeAndFreesWhatItHeld", "memory_stats()"},
    {"Memory.ASingleUseTapeHoldsNothingAfterItsGradient", "memory_stats()"},
    {"Memory.APersistentTapeFreesWhenItDiesOrIsReset", "memory_stats()"},
    {"MemoryBudget.HoldsForGradientsOfCalls", "memory_stats()"},
    {"RecomputeGrad.NeedsLessThanAThirdOfTheMemory", "memory_stats()"},
    // What compares addresses as those of numbers.
    {"Index.SharesStorageWhereElementsLieSideBySide", "data<T>()"},
    {"Unstack.AndSplitShareStorageAlongTheFirstAxis", "data<T>()"},
    // Parts of the processor alone.
    {"AssignSlice.WritesIntoTheVariable",
     "a variable of a device is replaced, not written in place, outside of functions"},
    {"Repeated.*", "iterations that follow each other within the host's memory"},
    {"Dynamic.AShortCallIsOneThatWaitsForNothing", "a call on a device is never short"},
    {"StepLoop.HasTheBitsOfTheFormulaOpByOp", "the loop of an optimizer over the host's memory"},
    // Passes by themselves: read_numbers has not run before them.
    {"Known.CapturesAreArgumentsWithTheOpsOnThem", "a number of the device shows as \"constant\" in graph text"},
    {"Rows.OneNodeWhateverTheirNumber", "a number of the device shows as \"constant\" in graph text"},
    {"MergeDuplicates.EqualNumbersBecomeOne", "the pass looks at numbers"},
    {"Simplify.NeutralNumbers", "the pass looks at numbers"},
    {"Simplify.AnOperandThatIsStretchedIsNotTheResult", "the pass looks at numbers"},
    {"Simplify.ChoicesThatAreNone", "the pass looks at numbers"},
};

}  // namespace

std::span<const LackingOnDevice> lacking_on_device() { return kLacking; }

}  // namespace capstan::testing
