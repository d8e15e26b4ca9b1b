/* SPDX-License-Identifier: MIT */
/* own_folder.h - where the running program lies: what comes with it is looked for from there. */
#ifndef HSNAP_CAPTURE_OWN_FOLDER_H
#define HSNAP_CAPTURE_OWN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* The folder of the running program, without a slash at its end; false: cannot be told. */
bool hsnap_own_folder(char *folder, size_t size);

#endif
