#include "MeasuredRegion.h"

// In C, for a name that nothing changes and a call that is always made.
__attribute__((noinline)) void measured_region_begins(void) { __asm__ volatile("# begins"); }
__attribute__((noinline)) void measured_region_ends(void) { __asm__ volatile("# ends"); }
