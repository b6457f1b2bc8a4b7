/* bedrock_clock.h - AWS's time, where this machine's clock is wrong. */
/* SPDX-License-Identifier: MIT */
#ifndef MODEL_BEDROCK_CLOCK_H
#define MODEL_BEDROCK_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Unix seconds to sign with: this machine's time, corrected. Any thread. */
int64_t bedrock_clock_now(void);
/*
 * What came with a refusal: x-amzn-errortype, Date ("" each where there was
 * none) and the body. True when it was for the time of the signature, and names
 * a time that is minutes from ours: from now on, until the process ends, all
 * signatures have that time. A time that is more than a day away is not
 * believed: a server could otherwise collect signatures that are good later.
 */
bool bedrock_clock_correct(const char *error_type, const char *date,
			   struct str body);

#endif
