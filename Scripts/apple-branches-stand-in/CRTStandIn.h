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

FILE *fopen(const char *path, const char *mode);
int fclose(FILE *file);
int fflush(FILE *file);
size_t fread(void *buffer, size_t size, size_t count, FILE *file);
size_t fwrite(const void *buffer, size_t size, size_t count, FILE *file);
int remove(const char *path);
int rename(const char *from, const char *to);
char *strerror(int number);
int memcmp(const void *one, const void *other, size_t count);
int strcmp(const char *one, const char *other);
int strncmp(const char *one, const char *other, size_t count);
size_t strlen(const char *text);
char *strstr(const char *text, const char *part);
void free(void *memory);
char *getenv(const char *name);
int atexit(void (*function)(void));
_Noreturn void exit(int code);
_Noreturn void _exit(int code);

int _isatty(int file);
int _mkdir(const char *path);
int _write(int file, const void *buffer, unsigned int count);
