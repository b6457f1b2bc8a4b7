/* raw_reader.c - the least that a program at a terminal does. */
/* SPDX-License-Identifier: MIT */
/*
 * raw_reader            writes each byte back, until Ctrl-D
 * raw_reader BYTES      reads so many, then writes "done" and a line end
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char chunk[1 << 16];
	size_t left = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	char *kept = left ? malloc(left) : chunk;
	struct termios mode;
	ssize_t n;

	if (!kept || tcgetattr(0, &mode) < 0)
		return 1;
	cfmakeraw(&mode);
	(void)tcsetattr(0, TCSANOW, &mode);
	(void)!write(1, "ready", 5);
	if (!left) {
		while ((n = read(0, chunk, sizeof(chunk))) > 0 && *chunk != 4)
			(void)!write(1, chunk, (size_t)n);
		return 0;
	}
	for (size_t at = 0; left; at += (size_t)n, left -= (size_t)n) {
		n = read(0, chunk, left < sizeof(chunk) ? left : sizeof(chunk));
		if (n <= 0)
			return 1;
		memcpy(kept + at, chunk, (size_t)n);
	}
	(void)!write(1, "done", 4);
	free(kept);
	return 0;
}
