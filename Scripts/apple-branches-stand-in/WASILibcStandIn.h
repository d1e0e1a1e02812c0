// The part of WebAssembly's C library that the package uses, with the types of its headers: stdio.h, stdlib.h, string.h, time.h,
// sys/stat.h, unistd.h. It has no threads, no signals and no dynamic linker. Swift cannot import its clocks and
// its flags for `open`, because they are macros with casts and addresses.
// The runtime on this system knows one `struct timespec`, so there can be no other.
#include <bits/types/struct_timespec.h>
#include <bits/types/time_t.h>
#include <stddef.h>

#define EEXIST 20
#define EINTR 27
#define EISDIR 31
#define EXIT_FAILURE 1
#define STDERR_FILENO 2

#define TIME_UTC 1

time_t time(time_t *result);
int timespec_get(struct timespec *reading, int base);

typedef struct _IO_FILE FILE;

#include "StandardC.h"

int isatty(int file);
int mkdir(const char *path, unsigned int mode);
long write(int file, const void *buffer, size_t count);
