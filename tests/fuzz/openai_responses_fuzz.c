/* openai_responses_fuzz.c - any stream is a reply that can be sent back, or
 * none. */
/* SPDX-License-Identifier: MIT */
#include "model_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool begun;

	if (!begun)
		ids_init();
	begun = true;
	return fuzz_stream(&wire_openai_responses, data, size);
}
