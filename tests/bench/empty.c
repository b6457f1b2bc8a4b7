/* empty.c - what a process costs before it does anything. */
/* SPDX-License-Identifier: MIT */

int main(void)
{
	return 0;
}
