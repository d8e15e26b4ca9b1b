/* SPDX-License-Identifier: MIT */
/* own_folder.c - where the running program lies. */
#include "capture/own_folder.h"

#include <string.h>
#include <unistd.h>

bool hsnap_own_folder(char *folder, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", folder, size - 1);
	if (len <= 0)
		return false;
	folder[len] = '\0';
	char *slash = strrchr(folder, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}
