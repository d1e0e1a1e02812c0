// The functions of standard C that the package uses, for the stand-ins of C libraries, which declare `FILE`.
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
