// Declarations that the code for Apple platforms uses and that the C library of this system lacks, with
// the types of Apple's headers: mach-o/loader.h, mach-o/dyld.h, mach/vm_prot.h, sys/signal.h.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <stdint.h>

#define SIGINFO 29

typedef int vm_prot_t;
typedef int32_t cpu_type_t;
typedef int32_t cpu_subtype_t;

#define VM_PROT_WRITE ((vm_prot_t)0x02)

struct mach_header {
  uint32_t magic;
  cpu_type_t cputype;
  cpu_subtype_t cpusubtype;
  uint32_t filetype, ncmds, sizeofcmds, flags;
};

struct mach_header_64 {
  uint32_t magic;
  cpu_type_t cputype;
  cpu_subtype_t cpusubtype;
  uint32_t filetype, ncmds, sizeofcmds, flags, reserved;
};

struct load_command {
  uint32_t cmd, cmdsize;
};

struct segment_command_64 {
  uint32_t cmd, cmdsize;
  char segname[16];
  uint64_t vmaddr, vmsize, fileoff, filesize;
  vm_prot_t maxprot, initprot;
  uint32_t nsects, flags;
};

uint32_t _dyld_image_count(void);
const char *_dyld_get_image_name(uint32_t image_index);
const struct mach_header *_dyld_get_image_header(uint32_t image_index);
intptr_t _dyld_get_image_vmaddr_slide(uint32_t image_index);
