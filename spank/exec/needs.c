/* SPDX-License-Identifier: MIT */
/*
 * Reads the dynamic section of an ELF file (elf(5)) of this machine's own class. A file
 * is anybody's: every offset is checked against its size.
 */
#include "spank/exec/needs.h"

#include "spank/exec/become.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any linker makes. */
#define SEGMENTS_MAX 256

struct image {
	const unsigned char *bytes;
	size_t size;
	const ElfW(Phdr) * segments;
	size_t count;
};

/* LENGTH bytes at OFFSET, where the type of what they are read as can stand; or NULL. */
static const void *part(const struct image *image, uint64_t offset, uint64_t length)
{
	if (offset > image->size || length > image->size - offset ||
	    offset % sizeof(ElfW(Addr)))
		return NULL;
	return image->bytes + offset;
}

static bool read_head(struct image *image)
{
	const ElfW(Ehdr) *head = part(image, 0, sizeof(*head));
	const unsigned char class = sizeof(ElfW(Addr)) == 8 ? ELFCLASS64 : ELFCLASS32;

	if (!head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != class ||
	    head->e_phentsize != sizeof(*image->segments) || head->e_phnum > SEGMENTS_MAX)
		return false;
	image->count = head->e_phnum;
	image->segments =
		part(image, head->e_phoff, image->count * sizeof(*image->segments));
	return image->segments;
}

static const ElfW(Phdr) * find(const struct image *image, uint32_t type)
{
	for (size_t i = 0; i < image->count; i++) {
		if (image->segments[i].p_type == type)
			return &image->segments[i];
	}
	return NULL;
}

/* Where in the file the byte is that has ADDRESS in memory; the file's size: nowhere. */
static uint64_t offset_of(const struct image *image, uint64_t address)
{
	for (size_t i = 0; i < image->count; i++) {
		const ElfW(Phdr) *segment = &image->segments[i];

		if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
		    address - segment->p_vaddr < segment->p_filesz &&
		    segment->p_offset < image->size)
			return segment->p_offset + (address - segment->p_vaddr);
	}
	return image->size;
}

static bool is_mpi(const char *library)
{
	static const char *const prefixes[] = {"libmpi.so", "libmpi_", "libmpich",
					       "liboshmem.so", "libpmix.so"};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		if (strncmp(library, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	}
	return false;
}

static bool search(const struct image *image, char *library, size_t size)
{
	const ElfW(Phdr) *dynamic = find(image, PT_DYNAMIC);
	const ElfW(Dyn) * entries;
	uint64_t strings = image->size;
	size_t count;

	if (!dynamic)
		return false;
	entries = part(image, dynamic->p_offset, dynamic->p_filesz);
	count = entries ? dynamic->p_filesz / sizeof(*entries) : 0;
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		if (entries[i].d_tag == DT_STRTAB)
			strings = offset_of(image, entries[i].d_un.d_ptr);
	}
	for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
		uint64_t at = entries[i].d_un.d_val;
		const char *name;

		if (entries[i].d_tag != DT_NEEDED || strings >= image->size ||
		    at >= image->size - strings)
			continue;
		name = (const char *)image->bytes + strings + at;
		if (memchr(name, 0, image->size - strings - at) && is_mpi(name)) {
			snprintf(library, size, "%s", name);
			return true;
		}
	}
	return false;
}

static bool search_file(const char *path, char *library, size_t size)
{
	struct image image = {0};
	struct stat status;
	void *bytes;
	bool found;
	/* A pipe would wait for its other end. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size <= 0) {
		close(fd);
		return false;
	}
	image.size = status.st_size;
	bytes = mmap(NULL, image.size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		return false;
	image.bytes = bytes;
	found = read_head(&image) && search(&image, library, size);
	munmap(bytes, image.size);
	return found;
}

bool exec_needs_mpi(const char *program, char *library, size_t size)
{
	char path[PATH_MAX];

	return exec_find_program(program, path, sizeof(path)) &&
	       search_file(path, library, size);
}
