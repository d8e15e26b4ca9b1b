/* SPDX-License-Identifier: MIT */
/* patient.h - the program that checks itself, started by the tests of freezing: see patient.c. */
#ifndef HSNAP_TESTS_CAPTURE_FREEZE_PATIENT_H
#define HSNAP_TESTS_CAPTURE_FREEZE_PATIENT_H

#include "tests/capture/support/child.h"

#define start_patient(mode, value) child_start_ready(PATIENT, (const char *const[]){ (mode), (value), NULL })

#endif
