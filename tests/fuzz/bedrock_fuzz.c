/* bedrock_fuzz.c - any stream is a reply that can be sent back, or none. */
/* SPDX-License-Identifier: MIT */
#include "model_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Events come as lines here: frames have checksums, and a fuzzer of their own
 * (event_stream_fuzz.c). */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wire lines;

	if (!lines.name) {
		ids_init();
		lines = wire_bedrock;
		lines.aws = false;
	}
	return fuzz_stream(&lines, data, size);
}
