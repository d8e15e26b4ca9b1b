/* SPDX-License-Identifier: MIT */
/* frozen.c - start a child under the agent, wait for it to stop, copy it. */
#include "frozen.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "snapshot/base/cleanup.h"

bool hsnap_image_add_module(struct hsnap_target *target, const struct hsnap_target_module *module);

enum { NOBODY_ELSE = 64321, CANNOT_READ = 125 };

/* From here on nobody's rights, if root starts it: false, where such a one could not read the program or the agent. */
static bool be_plain(const char *program)
{
	const char *agent = getenv("HSNAP_TEST_AGENT");
	if (!geteuid() && (setgroups(0, NULL) || setresgid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE) ||
			   setresuid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE)))
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* which went with the rights */
	return !access(program, X_OK) && (!agent || !access(agent, R_OK));
}

struct victim victim_start(const char *agent, const char *const *argv, const char *extra)
{
	int ends[2];
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = fork();
	cr_assert(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody behind */
		dup2(ends[1], STDOUT_FILENO);
		/* What the test runner sets for its own sake would change what is tested. */
		unsetenv("MALLOC_PERTURB_");
		if (agent)
			setenv("LD_PRELOAD", agent, 1);
		if (extra)
			putenv((char *)extra);
		if (extra && !strcmp(extra, PLAIN) && !be_plain(argv[0]))
			_exit(CANNOT_READ);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(ends[1]);
	int status;
	cr_assert_eq(waitpid(pid, &status, WUNTRACED), pid);
	if (extra && !strcmp(extra, PLAIN) && WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_READ)
		cr_skip("a plain user cannot read %s", argv[0]);
	cr_assert(WIFSTOPPED(status), "%s %s ended (status %x) instead of stopping", argv[0], argv[1] ? argv[1] : "", status);
	/* All is in the pipe: do not wait for an end of file that the stopped child keeps from us. */
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return (struct victim){ .pid = pid, .said = fdopen(ends[0], "r") };
}

void victim_end(struct victim *victim)
{
	kill(victim->pid, SIGKILL);
	waitpid(victim->pid, NULL, 0);
	fclose(victim->said);
}

/* The module whose file begins at `start`, by the program headers in its memory. */
static void add_module(struct hsnap_target *target, uint64_t start, const char *path)
{
	Elf64_Ehdr head;
	if (hsnap_target_read(target, start, &head, sizeof(head), NULL) || memcmp(head.e_ident, ELFMAG, SELFMAG))
		return;
	struct hsnap_target_module module = { .start = start, .main = target->modules.num == 1 };
	bool first = true;
	for (unsigned i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr ph;
		if (hsnap_target_read(target, start + head.e_phoff + i * sizeof(ph), &ph, sizeof(ph), NULL))
			return;
		if (ph.p_type == PT_LOAD) {
			if (first)
				module.bias = start - ph.p_vaddr;
			first = false;
			module.end = module.bias + ph.p_vaddr + ph.p_memsz;
		} else if (ph.p_type == PT_DYNAMIC) {
			module.dynamic = ph.p_vaddr;
		} else if (ph.p_type == PT_GNU_EH_FRAME) {
			module.eh_frame_hdr = ph.p_vaddr;
			module.eh_frame_hdr_size = ph.p_memsz;
		}
	}
	module.path = hsnap_strings_add(&target->strings, path);
	module.dynamic += module.bias;
	module.eh_frame_hdr += module.bias;
	cr_assert(hsnap_image_add_module(target, &module));
}

struct hsnap_target *victim_freeze(pid_t pid)
{
	char path[64], line[4096];
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "r");
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	int mem = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(maps && mem >= 0);
	struct hsnap_target *target = hsnap_image_create();
	cr_assert(target);
	target->pid = (uint64_t)pid;
	while (fgets(line, sizeof(line), maps)) {
		uint64_t start, end, offset;
		char rights[8];
		int name = 0;
		cr_assert(sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &start, &end, rights, &offset,
				 &name) == 4);
		line[strcspn(line, "\n")] = '\0';
		const char *file = line + name;
		if (rights[0] != 'r' || !strcmp(file, "[vvar]") || !strcmp(file, "[vsyscall]"))
			continue;
		unsigned prot = HSNAP_PROT_READ | (rights[1] == 'w' ? HSNAP_PROT_WRITE : 0u) |
				(rights[2] == 'x' ? HSNAP_PROT_EXEC : 0u);
		size_t size = (size_t)(end - start);
		hsnap_auto(hsnap_freep) uint8_t *bytes = malloc(size);
		cr_assert(bytes);
		if (pread(mem, bytes, size, (off_t)start) != (ssize_t)size)
			continue;
		cr_assert(hsnap_image_add(target, start, bytes, size, prot, file));
		if (!offset && (file[0] == '/' || !strcmp(file, "[vdso]")))
			add_module(target, start, file);
	}
	fclose(maps);
	close(mem);
	return target;
}
