/* SPDX-License-Identifier: MIT */
/* sound.h - what of a file's debug info libdwarf can be trusted with; private to dies.c. */
#ifndef HSNAP_CAPTURE_SYMBOLS_SOUND_H
#define HSNAP_CAPTURE_SYMBOLS_SOUND_H

#include "capture/symbols/elf_file.h"

/*
 * Which kinds of units there are.  Of a unit in two halves, and of a type unit, libdwarf searches for
 * more where there is a supplementary file, and that search need not end where bytes are broken.
 */
struct hsnap_unit_kinds {
	bool skeletons, types;
	bool halves; /* what belongs into a .dwo */
};
struct hsnap_unit_kinds hsnap_sound_unit_kinds(struct hsnap_elf *elf);

#endif
