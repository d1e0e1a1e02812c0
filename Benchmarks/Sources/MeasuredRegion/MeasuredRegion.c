#include "MeasuredRegion.h"

// In C, so that the names are not mangled and the calls are not removed.
__attribute__((noinline)) void measured_region_begins(void) { __asm__ volatile("# begins"); }
__attribute__((noinline)) void measured_region_ends(void) { __asm__ volatile("# ends"); }
