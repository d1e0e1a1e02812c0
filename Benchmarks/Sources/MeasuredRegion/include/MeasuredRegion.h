// Mark the region that Scripts/instructions counts. callgrind finds these functions by name; they do
// nothing.
void measured_region_begins(void);
void measured_region_ends(void);
