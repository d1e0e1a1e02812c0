// What is counted by Scripts/instructions begins and ends where these two are called: the tool that
// counts knows them by their names. They do nothing.
void measured_region_begins(void);
void measured_region_ends(void);
