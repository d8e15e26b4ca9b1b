/* SPDX-License-Identifier: MIT */
/* agent_path.c - where the agent's file is, by a path that LD_PRELOAD can carry. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/agent_inside.h"
#include "capture/capture.h"
#include "capture/own_folder.h"
#include "capture/wire.h"

#ifndef HSNAP_AGENT_FOLDER
#define HSNAP_AGENT_FOLDER "/usr/local/lib/heapsnap"
#endif

static bool is_readable(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, R_OK);
}

/* Beside the program, in the build tree, under the prefix. */
static bool find(char *path, size_t size)
{
	static const char *const places[] = {
		"%s/" HSNAP_WIRE_SONAME,
		"%s/../capture/agent/" HSNAP_WIRE_SONAME,
		"%s/../lib/heapsnap/" HSNAP_WIRE_SONAME,
		"%s/../lib64/heapsnap/" HSNAP_WIRE_SONAME,
		"%s/../lib/x86_64-linux-gnu/heapsnap/" HSNAP_WIRE_SONAME,
	};
	char folder[PATH_MAX], candidate[PATH_MAX + 64], whole[PATH_MAX];
	bool known = hsnap_own_folder(folder, sizeof(folder));
	for (size_t i = 0; i <= sizeof(places) / sizeof(*places); i++) {
		if (i == sizeof(places) / sizeof(*places))
			snprintf(candidate, sizeof(candidate), "%s", HSNAP_AGENT_FOLDER "/" HSNAP_WIRE_SONAME);
		else if (!known)
			continue;
		else
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(candidate, sizeof(candidate), places[i], folder);
#pragma GCC diagnostic pop
		if (is_readable(candidate) && realpath(candidate, whole) && strlen(whole) < size) {
			memcpy(path, whole, strlen(whole) + 1);
			return true;
		}
	}
	return false;
}

/* Replace the path by that of a link to it.  One name a target, so that links do not pile up. */
static enum hsnap_code make_link(char *path, size_t size, struct hsnap_error *err)
{
	char folder[PATH_MAX], link[PATH_MAX], old[PATH_MAX];
	uint64_t hash = 14695981039346656037ull;
	for (const char *c = path; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211ull;
	if (!hsnap_private_folder("/tmp", folder, sizeof(folder))) {
		snprintf(folder, sizeof(folder), "/tmp/heapsnap-XXXXXX"); /* somebody took its name: the next best */
		if (!mkdtemp(folder))
			return hsnap_fail(err, HSNAP_IO, 0, "cannot make a private folder in /tmp: %s", strerror(errno));
	}
	int len = snprintf(link, sizeof(link), "%s/%016llx-" HSNAP_WIRE_SONAME, folder, (unsigned long long)hash);
	if (len < 0 || (size_t)len >= size)
		return hsnap_fail(err, HSNAP_IO, 0, "cannot use the agent '%s': its path is too long", path);
	ssize_t there = readlink(link, old, sizeof(old) - 1);
	if (there < 0 || (size_t)there != strlen(path) || memcmp(old, path, (size_t)there)) {
		unlink(link);
		if (symlink(path, link))
			return hsnap_fail(err, HSNAP_IO, 0, "cannot link '%s' to '%s': %s", link, path, strerror(errno));
	}
	memcpy(path, link, (size_t)len + 1);
	return HSNAP_OK;
}

/* The first is the user's own and gone after a restart; containers have often but one of the others. */
static enum hsnap_code unpack(char *path, size_t size, struct hsnap_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *places[] = { runtime && *runtime ? runtime : "/tmp", "/tmp", "/var/tmp", "/dev/shm", NULL };
	return hsnap_agent_unpack(hsnap_agent_inside, hsnap_agent_inside_size, places, path, size, err);
}

enum hsnap_code hsnap_agent_path(char *path, size_t size, struct hsnap_error *err)
{
	const char *wanted = getenv("HEAPSNAP_AGENT");
	if (wanted && *wanted) {
		char whole[PATH_MAX];
		if (!is_readable(wanted) || !realpath(wanted, whole) || strlen(whole) >= size) {
			hsnap_fail(err, HSNAP_NOT_FOUND, 0, "cannot use the agent '%s' that HEAPSNAP_AGENT names: %s", wanted,
				   strerror(errno ? errno : EINVAL));
			return hsnap_hint(err, HSNAP_NOT_FOUND, "unset HEAPSNAP_AGENT, or let it name " HSNAP_WIRE_SONAME);
		}
		if (strncmp(strrchr(whole, '/') + 1, HSNAP_WIRE_NAME, strlen(HSNAP_WIRE_NAME))) {
			hsnap_fail(err, HSNAP_NOT_FOUND, 0, "cannot use the agent '%s' that HEAPSNAP_AGENT names: take would not know it again", whole);
			return hsnap_hint(err, HSNAP_NOT_FOUND, "let its file be called " HSNAP_WIRE_SONAME);
		}
		memcpy(path, whole, strlen(whole) + 1);
	} else if (hsnap_agent_inside_size) {
		return unpack(path, size, err); /* and none that lies about: they must be of one build */
	} else if (!find(path, size)) {
		hsnap_fail(err, HSNAP_NOT_FOUND, 0, "cannot find the agent, " HSNAP_WIRE_SONAME);
		return hsnap_hint(err, HSNAP_NOT_FOUND, "HEAPSNAP_AGENT=/path/to/" HSNAP_WIRE_SONAME " heapsnap run ...");
	}
	return hsnap_can_be_carried(path) ? HSNAP_OK : make_link(path, size, err);
}

enum hsnap_code hsnap_agent_environment(const char *path, const char *stacks, const char *children,
					struct hsnap_error *err)
{
	const char *others = getenv("LD_PRELOAD");
	char *list = NULL;
	bool bad = others && *others && asprintf(&list, "%s:%s", path, others) < 0;
	if (bad)
		list = NULL; /* asprintf leaves it undefined */
	bad = bad || setenv("LD_PRELOAD", list ? list : path, 1) || (stacks && setenv(HSNAP_WIRE_ENV_STACKS, stacks, 1)) ||
	      (children && setenv(HSNAP_WIRE_ENV_CHILDREN, children, 1));
	free(list);
	return bad ? hsnap_fail(err, HSNAP_NO_MEMORY, 0, "out of memory") : HSNAP_OK;
}
