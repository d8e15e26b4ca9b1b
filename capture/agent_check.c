/* SPDX-License-Identifier: MIT */
/*
 * agent_check.c - could the agent live in this program?  Asked before it is started.
 *
 * The loader ignores LD_PRELOAD where it cannot or must not follow it, and says nothing:
 * a program that ran unrecorded for a day is worse than one that did not start.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "capture/capture.h"
#include "snapshot/base/cleanup.h"

#define MAX_SCRIPTS 5 /* interpreters of interpreters, as the kernel allows */
#define MAX_HEADERS 256u
#define MAX_DYNAMIC 4096u
#define MAX_STRINGS ((size_t)64 << 20)

static enum hsnap_code refuse(struct hsnap_error *err, const char *path, const char *why, const char *hint)
{
	hsnap_fail(err, HSNAP_REFUSED, 0, "cannot run '%s': %s", path, why);
	return hsnap_hint(err, HSNAP_REFUSED, "%s", hint);
}

/* ---- which file ---- */

/* As execvp does: the first of that name in PATH that can be executed. */
static enum hsnap_code resolve(const char *command, char *path, size_t size, struct hsnap_error *err)
{
	bool forbidden = false;
	const char *list = strchr(command, '/') ? NULL : getenv("PATH");
	if (!list && !strchr(command, '/'))
		list = "/bin:/usr/bin";
	do {
		size_t len = list ? strcspn(list, ":") : 0;
		int wrote = !list ? snprintf(path, size, "%s", command)
				  : snprintf(path, size, "%.*s%s%s", (int)len, list, len ? "/" : "./", command);
		struct stat st;
		if (*command && wrote > 0 && (size_t)wrote < size && !stat(path, &st)) {
			if (S_ISREG(st.st_mode) && !access(path, X_OK))
				return HSNAP_OK;
			forbidden |= !list || S_ISREG(st.st_mode);
		} else {
			forbidden |= errno == EACCES;
		}
		list = list && list[len] ? list + len + 1 : NULL;
	} while (list);
	errno = EACCES;
	if (forbidden)
		return hsnap_fail(err, HSNAP_IO, 0, "cannot run '%s': it is not an executable file", command);
	return hsnap_fail(err, HSNAP_NOT_FOUND, 0, "cannot run '%s': no such command", command);
}

/* ---- one ELF file ---- */

struct elf {
	int fd;
	const char *path;
	Elf64_Ehdr head;
	Elf64_Phdr headers[MAX_HEADERS];
	unsigned num_headers;
};

static bool read_at(const struct elf *elf, uint64_t offset, void *to, size_t len)
{
	return offset <= INT64_MAX && pread(elf->fd, to, len, (off_t)offset) == (ssize_t)len;
}

/* Offset in the file of an address in the program; UINT64_MAX: it is in none. */
static uint64_t file_offset(const struct elf *elf, uint64_t address)
{
	for (unsigned i = 0; i < elf->num_headers; i++) {
		const Elf64_Phdr *ph = &elf->headers[i];
		if (ph->p_type == PT_LOAD && address >= ph->p_vaddr && address - ph->p_vaddr < ph->p_filesz)
			return ph->p_offset + (address - ph->p_vaddr);
	}
	return UINT64_MAX;
}

static const Elf64_Phdr *find_header(const struct elf *elf, uint32_t type)
{
	for (unsigned i = 0; i < elf->num_headers; i++)
		if (elf->headers[i].p_type == type)
			return &elf->headers[i];
	return NULL;
}

/* A run-time library of a compiler that has a malloc of its own. */
static const char *sanitizer_of(const char *strings, size_t size)
{
	static const struct {
		const char *symbol, *name;
	} known[] = {
		{ "__asan_init", "AddressSanitizer" },   { "__tsan_init", "ThreadSanitizer" },
		{ "__msan_init", "MemorySanitizer" },    { "__lsan_init", "LeakSanitizer" },
		{ "__hwasan_init", "HWAddressSanitizer" },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (memmem(strings, size, known[i].symbol, strlen(known[i].symbol) + 1))
			return known[i].name;
	return NULL;
}

static enum hsnap_code check_dynamic(const struct elf *elf, struct hsnap_error *err)
{
	const Elf64_Phdr *dynamic = find_header(elf, PT_DYNAMIC);
	uint64_t strings = 0, size = 0;
	for (unsigned i = 0; dynamic && i < MAX_DYNAMIC && i < dynamic->p_filesz / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn entry;
		if (!read_at(elf, dynamic->p_offset + i * sizeof(entry), &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_STRTAB)
			strings = entry.d_un.d_ptr;
		else if (entry.d_tag == DT_STRSZ)
			size = entry.d_un.d_val;
	}
	uint64_t offset = file_offset(elf, strings);
	if (!strings || !size || size > MAX_STRINGS || offset == UINT64_MAX)
		return HSNAP_OK; /* the loader will say what it thinks of this */
	hsnap_auto(hsnap_freep) char *text = malloc((size_t)size);
	if (!text)
		return hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory");
	const char *sanitizer = read_at(elf, offset, text, (size_t)size) ? sanitizer_of(text, (size_t)size) : NULL;
	if (!sanitizer)
		return HSNAP_OK;
	char why[96];
	snprintf(why, sizeof(why), "it is built with %s, which has an allocator of its own", sanitizer);
	return refuse(err, elf->path, why, "use a build without sanitizers");
}

/* Do the kernel and the loader distrust the environment for this file? */
static bool is_privileged(const struct elf *elf)
{
	struct stat st;
	struct statvfs fs;
	if (fstat(elf->fd, &st))
		return false;
	/* Nor does the kernel then give what the file has. */
	if ((!fstatvfs(elf->fd, &fs) && fs.f_flag & ST_NOSUID) || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return true;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getegid())
		return true;
	return geteuid() != 0 && fgetxattr(elf->fd, "security.capability", NULL, 0) > 0;
}

static enum hsnap_code check_elf(struct elf *elf, struct hsnap_error *err)
{
	const Elf64_Ehdr *head = &elf->head;
	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB || head->e_machine != EM_X86_64)
		return refuse(err, elf->path, "it is not a 64-bit x86 program", "use a build for x86-64");
	if (is_privileged(elf))
		return refuse(err, elf->path, "it is setuid, setgid or has capabilities, so the loader ignores the agent",
			      "run it as the user that it would become, from a copy without those rights");
	if (head->e_phentsize != sizeof(Elf64_Phdr))
		return HSNAP_OK;
	elf->num_headers = head->e_phnum < MAX_HEADERS ? head->e_phnum : MAX_HEADERS;
	if (!read_at(elf, head->e_phoff, elf->headers, elf->num_headers * sizeof(Elf64_Phdr)))
		return HSNAP_OK;
	const Elf64_Phdr *interpreter = find_header(elf, PT_INTERP);
	if (!interpreter)
		return refuse(err, elf->path, "it is statically linked, so nothing can be loaded into it",
			      "link it dynamically");
	char loader[PATH_MAX] = "";
	size_t len = interpreter->p_filesz < sizeof(loader) ? (size_t)interpreter->p_filesz : sizeof(loader) - 1;
	if (!read_at(elf, interpreter->p_offset, loader, len))
		return HSNAP_OK;
	const char *name = strrchr(loader, '/');
	if (strcmp(name ? name + 1 : loader, "ld-linux-x86-64.so.2")) {
		char why[96];
		snprintf(why, sizeof(why), "its C library is not glibc (loader %.40s)", loader);
		return refuse(err, elf->path, why, "use a build against glibc");
	}
	return check_dynamic(elf, err);
}

/* ---- scripts ---- */

static enum hsnap_code check_file(const char *path, unsigned depth, struct hsnap_error *err);

/* A word of env's arguments after which the agent would be lost. */
static bool drops_agent(const char *word, size_t len, const char *next)
{
	static const char *const words[] = { "-", "-i", "--ignore-environment", "-uLD_PRELOAD", "--unset=LD_PRELOAD" };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (len == strlen(words[i]) && !memcmp(word, words[i], len))
			return true;
	return (len == 2 && !memcmp(word, "-u", 2) && !strncmp(next, "LD_PRELOAD", 10) && strchr(" \t", next[10])) ||
	       !strncmp(word, "LD_PRELOAD=", 11);
}

/* "#!/usr/bin/env NAME" or "-S" with options, VARIABLE=VALUE and more words: env only hands on, NAME is the
 * program.  The kernel makes one argument of the line, which env divides only after -S.  Quotes are left to it. */
static enum hsnap_code check_env(const char *script, const char *argument, unsigned depth, struct hsnap_error *err)
{
	char path[PATH_MAX], name[256];
	const char *blanks = "";
	if (!strncmp(argument, "-S", 2) || !strncmp(argument, "-vS", 3)) {
		blanks = " \t";
		argument = strchr(argument, 'S') + 1;
	}
	for (size_t len, skip;; argument += len + skip) {
		argument += strspn(argument, blanks);
		len = strcspn(argument, blanks);
		skip = strspn(argument + len, blanks);
		const char *next = argument + len + skip;
		if (!len || len >= sizeof(name) || strcspn(argument, "\\\"'$") < len)
			return HSNAP_OK;
		if (drops_agent(argument, len, next))
			return refuse(err, script, "its first line has env take LD_PRELOAD away, which the agent needs",
				      "name its interpreter: heapsnap run -- INTERPRETER SCRIPT");
		if (len == 2 && (argument[1] == 'u' || argument[1] == 'C') && *argument == '-')
			len += skip + strcspn(next, blanks), skip = 0; /* with a word of its own */
		else if (*argument != '-' && !memchr(argument, '=', len))
			break;
	}
	size_t len = strcspn(argument, blanks);
	memcpy(name, argument, len);
	name[len] = '\0';
	enum hsnap_code code = resolve(name, path, sizeof(path), err);
	return code ? code : check_file(path, depth + 1, err);
}

/* line: what follows "#!", up to its end. */
static enum hsnap_code check_script(const char *script, char *line, unsigned depth, struct hsnap_error *err)
{
	line[strcspn(line, "\n")] = '\0';
	for (size_t end = strlen(line); end && strchr(" \t", line[end - 1]);)
		line[--end] = '\0';
	line += strspn(line, " \t");
	size_t len = strcspn(line, " \t");
	char *argument = line + len + strspn(line + len, " \t");
	line[len] = '\0';
	if (!len)
		return HSNAP_OK;
	enum hsnap_code code = check_file(line, depth + 1, err);
	const char *base = strrchr(line, '/');
	if (!code && !strcmp(base ? base + 1 : line, "env"))
		code = check_env(script, argument, depth, err);
	return code;
}

static enum hsnap_code check_file(const char *path, unsigned depth, struct hsnap_error *err)
{
	if (depth > MAX_SCRIPTS)
		return refuse(err, path, "its interpreters lead to one another", "name the program itself");
	hsnap_auto(hsnap_closefdp) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return hsnap_fail(err, HSNAP_NOT_FOUND, 0, "cannot run '%s': %s", path, strerror(errno));
	if (fd < 0) /* executable and not readable: the kernel can run it, we cannot look */
		return HSNAP_OK;
	char start[256] = "";
	ssize_t got = pread(fd, start, sizeof(start) - 1, 0);
	if (got < 0)
		return hsnap_fail(err, HSNAP_IO, 0, "cannot run '%s': %s", path, strerror(errno));
	if (got >= 2 && !memcmp(start, "#!", 2))
		return check_script(path, start + 2, depth, err);
	struct elf elf = { .fd = fd, .path = path };
	if ((size_t)got < sizeof(elf.head) || memcmp(start, ELFMAG, SELFMAG)) {
		/* execvp hands a text to the shell; a binary of another kind is none of ours. */
		if (memchr(start, '\0', (size_t)got))
			return hsnap_fail(err, HSNAP_IO, 0, "cannot run '%s': it is no program", path);
		return depth ? HSNAP_OK : check_file("/bin/sh", depth + 1, err);
	}
	memcpy(&elf.head, start, sizeof(elf.head));
	return check_elf(&elf, err);
}

enum hsnap_code hsnap_agent_check(const char *command, struct hsnap_error *err)
{
	char path[PATH_MAX];
	enum hsnap_code code = resolve(command, path, sizeof(path), err);
	return code ? code : check_file(path, 0, err);
}
