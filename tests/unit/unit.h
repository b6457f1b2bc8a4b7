/* unit.h - cmocka with what it needs in front of it, in its order. */
/* SPDX-License-Identifier: MIT */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
/* clang-format on */

#endif
