/* SPDX-License-Identifier: MIT */
/*
 * backing.c - the files that the process had mapped, and whether what lies there now is them.
 *
 * The core shows a build id where the page with the ELF header was dumped (coredump_filter bit 4,
 * which is on by itself).  Where it shows none, the dynamic section tells: it was written to by the
 * loader, so it was dumped, and it holds addresses and sizes of all that was linked.  Such a file
 * must besides be no younger than the core.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "capture/core/image.h"
#include "capture/target/elf_image.h"
#include "capture/target/files.h"
#include "snapshot/base/cleanup.h"

#define MAX_FILES 4096    /* tried */
#define MAX_DYNAMIC 256
#define MIN_DYNAMIC 8     /* entries that must agree; the smallest library has twenty */
#define HSNAP_DT_RELR 36  /* elf.h of glibc 2.36 */

struct looking {
	struct hsnap_core_image *core;
	struct hsnap_files root; /* opens below our own root */
	const char *exe;
	size_t tried;
};

/* The beginning of a module as the core shows it. */
struct shown {
	const struct hsnap_core_image *core;
	uint64_t base;
};

static size_t read_shown(void *context, uint64_t offset, void *to, size_t len)
{
	const struct shown *shown = context;
	return hsnap_core_read_dumped(shown->core, shown->base + offset, to, len);
}

static size_t read_file(void *context, uint64_t offset, void *to, size_t len)
{
	ssize_t n = offset > INT64_MAX ? -1 : pread(*(int *)context, to, len, (off_t)offset);
	return n < 0 ? 0 : (size_t)n;
}

static bool is_older(const struct hsnap_core_image *core, int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return false;
	return st.st_mtim.tv_sec < core->written.tv_sec ||
	       (st.st_mtim.tv_sec == core->written.tv_sec && st.st_mtim.tv_nsec <= core->written.tv_nsec);
}

static bool is_address_tag(int64_t tag)
{
	static const int64_t tags[] = { DT_PLTGOT, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_JMPREL, DT_GNU_HASH,
					DT_VERSYM, HSNAP_DT_RELR };
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++)
		if (tags[i] == tag)
			return true;
	return false;
}

/* The loader adds where it lies to some addresses, and notes itself in DT_DEBUG. */
static bool agree(const Elf64_Dyn *file, const Elf64_Dyn *memory, uint64_t bias)
{
	uint64_t value = file->d_un.d_val;
	return file->d_tag == memory->d_tag &&
	       (file->d_tag == DT_DEBUG || memory->d_un.d_val == value ||
		(is_address_tag(file->d_tag) && memory->d_un.d_val == value + bias));
}

static bool same_dynamic(const struct hsnap_core_image *core, int fd, const struct hsnap_elf *elf, uint64_t bias)
{
	const Elf64_Phdr *segment = hsnap_elf_segment(elf, PT_DYNAMIC);
	for (unsigned i = 0; segment && i < MAX_DYNAMIC; i++) {
		Elf64_Dyn file, memory;
		uint64_t at = i * sizeof(file);
		if (at + sizeof(file) > segment->p_filesz ||
		    read_file(&fd, segment->p_offset + at, &file, sizeof(file)) < sizeof(file) ||
		    hsnap_core_read_dumped(core, segment->p_vaddr + bias + at, &memory, sizeof(memory)) < sizeof(memory) ||
		    !agree(&file, &memory, bias))
			return false;
		if (file.d_tag == DT_NULL)
			return i >= MIN_DYNAMIC;
	}
	return false;
}

static bool same_headers(const struct hsnap_elf *a, const struct hsnap_elf *b)
{
	return a->type == b->type && a->num_segments == b->num_segments &&
	       !memcmp(a->segments, b->segments, a->num_segments * sizeof(*a->segments));
}

/* What an open file is to the one whose first byte was mapped at `base`. */
static enum hsnap_core_file_state judge(const struct hsnap_core_image *core, int fd, uint64_t base)
{
	struct shown shown = { core, base };
	struct hsnap_elf memory, file;
	if (!hsnap_elf_read(read_file, &fd, &file) || (file.type != ET_EXEC && file.type != ET_DYN))
		return HSNAP_CORE_FILE_UNKNOWN;
	uint64_t bias = base - file.first;
	if (!hsnap_elf_read(read_shown, &shown, &memory))
		return same_dynamic(core, fd, &file, bias) && is_older(core, fd) ? HSNAP_CORE_FILE_ALIKE
										  : HSNAP_CORE_FILE_OTHER;
	bool shows_id = hsnap_elf_build_id(read_shown, &shown, true, &memory);
	if (hsnap_elf_build_id(read_file, &fd, false, &file) && shows_id)
		return file.build_id_size == memory.build_id_size &&
				       !memcmp(file.build_id, memory.build_id, file.build_id_size)
			       ? HSNAP_CORE_FILE_SAME
			       : HSNAP_CORE_FILE_OTHER;
	if (shows_id || !same_headers(&memory, &file) || !is_older(core, fd))
		return HSNAP_CORE_FILE_OTHER;
	return !hsnap_elf_segment(&file, PT_DYNAMIC) || same_dynamic(core, fd, &file, bias) ? HSNAP_CORE_FILE_ALIKE
											    : HSNAP_CORE_FILE_OTHER;
}

/* Take the descriptor if the file is the one; else what it is stays noted. */
static bool consider(const struct hsnap_core_image *core, struct hsnap_core_file *file, int fd, uint64_t base)
{
	enum hsnap_core_file_state state = judge(core, fd, base);
	if (state == HSNAP_CORE_FILE_SAME || state == HSNAP_CORE_FILE_ALIKE) {
		file->state = state;
		file->fd = fd;
		return true;
	}
	close(fd);
	file->state = state;
	return false;
}

/* Where distributions keep links to programs by build id. */
static void look_by_build_id(const struct looking *looking, struct hsnap_core_file *file, uint64_t base)
{
	struct shown shown = { looking->core, base };
	struct hsnap_elf memory;
	char path[128] = "/usr/lib/.build-id/";
	if (!hsnap_elf_read(read_shown, &shown, &memory) || !hsnap_elf_build_id(read_shown, &shown, true, &memory) ||
	    memory.build_id_size < 2)
		return;
	size_t at = strlen(path);
	for (size_t i = 0; i < memory.build_id_size; i++)
		at += (size_t)snprintf(path + at, sizeof(path) - at, i == 1 ? "/%02x" : "%02x", memory.build_id[i]);
	enum hsnap_core_file_state before = file->state;
	int fd = hsnap_files_open_path(&looking->root, path);
	if (fd >= 0 && !consider(looking->core, file, fd, base))
		file->state = before;
}

static void look(struct looking *looking, const struct hsnap_core_range *range)
{
	struct hsnap_core_file *file = &looking->core->files.items[range->file];
	const char *path = hsnap_str(&looking->core->target->strings, file->path);
	if (file->fd >= 0 || file->state || path[0] != '/' || looking->tried++ >= MAX_FILES)
		return;
	int fd = hsnap_files_open_path(&looking->root, path);
	if (fd < 0)
		file->state = HSNAP_CORE_FILE_MISSING;
	if (fd < 0 || !consider(looking->core, file, fd, range->start))
		look_by_build_id(looking, file, range->start);
}

/* The file that the user says is the executable: believed where nothing speaks against it. */
static enum hsnap_code take_exe(struct looking *looking, const struct hsnap_core_range *range, struct hsnap_error *err)
{
	struct hsnap_core_file *file = &looking->core->files.items[range->file];
	hsnap_auto(hsnap_closefdp) int handle = open(looking->exe, O_PATH | O_CLOEXEC);
	if (handle < 0)
		return hsnap_fail(err, HSNAP_IO, 0, "cannot open '%s': %s", looking->exe, strerror(errno));
	struct stat st;
	int fd = !fstat(handle, &st) && S_ISREG(st.st_mode) ? hsnap_files_reopen(handle) : -1;
	if (fd < 0)
		return hsnap_fail(err, HSNAP_IO, 0, "cannot open '%s': %s", looking->exe,
				  S_ISREG(st.st_mode) ? strerror(errno) : "no regular file");
	if (consider(looking->core, file, fd, range->start))
		return HSNAP_OK;
	hsnap_fail(err, HSNAP_REFUSED, 0, "'%s' is not the executable that the core is of", looking->exe);
	return hsnap_hint(err, HSNAP_REFUSED, "the core was made by %s; without --exe its types are unnamed",
			  hsnap_str(&looking->core->target->strings, file->path));
}

/* A descriptor for each library; the soft limit is often 1024. */
static void raise_limit(void)
{
	struct rlimit limit;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}

enum hsnap_code hsnap_core_find_files(struct hsnap_core_image *core, const char *exe, struct hsnap_error *err)
{
	struct looking looking = { .core = core, .exe = exe, .root.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	enum hsnap_code code = HSNAP_OK;
	raise_limit();
	for (size_t i = 0; i < core->ranges.num && !code; i++) {
		const struct hsnap_core_range *range = &core->ranges.items[i];
		if (range->offset)
			continue;
		if (exe && range->file == core->exe && core->files.items[range->file].fd < 0)
			code = take_exe(&looking, range, err);
		else
			look(&looking, range);
	}
	hsnap_files_deinit(&looking.root);
	return code;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void tell_state(const struct hsnap_core_image *core, enum hsnap_core_file_state state, const char *one,
		       const char *many, struct hsnap_core_facts *facts)
{
	char text[120];
	size_t used = 0, num = 0, left_out = 0;
	for (size_t i = 1; i < core->files.num; i++) {
		const struct hsnap_core_file *file = &core->files.items[i];
		if (file->state != state || !file->code || !file->dumped)
			continue;
		const char *name = base_name(hsnap_str(&core->target->strings, file->path));
		size_t room = sizeof(text) - used;
		int len = snprintf(text + used, room, "%s%s", num ? ", " : "", name);
		num++;
		if (len < 0 || (size_t)len >= room)
			left_out++;
		else
			used += (size_t)len;
	}
	text[used] = '\0';
	if (left_out && num > left_out)
		hsnap_core_tell(facts, "%s and %zu more %s", text, left_out, many);
	else if (num)
		hsnap_core_tell(facts, "%s %s", left_out ? "some files" : text, num > 1 ? many : one);
}

void hsnap_core_tell_files(const struct hsnap_core_image *core, struct hsnap_core_facts *facts)
{
	tell_state(core, HSNAP_CORE_FILE_OTHER, "differs from the one in the core", "differ from those in the core", facts);
	tell_state(core, HSNAP_CORE_FILE_MISSING, "is not here", "are not here", facts);
	tell_state(core, HSNAP_CORE_FILE_ALIKE, "was matched without a build id", "were matched without build ids", facts);
}
