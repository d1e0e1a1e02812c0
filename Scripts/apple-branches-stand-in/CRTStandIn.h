// The part of Microsoft's C library that the package uses, with the types of its headers: stdio.h, stdlib.h, string.h, time.h,
// io.h, direct.h, process.h. Nothing of POSIX is declared, so that code which needs it does not type-check.
// The runtime on this system knows one `struct timespec`, so there can be no other.
#include <bits/types/struct_timespec.h>
#include <bits/types/time_t.h>
#include <stddef.h>

#define EEXIST 17
#define EINTR 4
#define EISDIR 21
#define EXIT_FAILURE 1

#define TIME_UTC 1

time_t time(time_t *result);
int timespec_get(struct timespec *reading, int base);

typedef struct _iobuf {
  void *_Placeholder;
} FILE;

#include "StandardC.h"

int _isatty(int file);
int _mkdir(const char *path);
int _write(int file, const void *buffer, unsigned int count);
