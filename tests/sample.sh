#!/bin/sh
# sample.sh SEED N - of the lines it reads, about one of N; another part for
# another SEED, and the same for the same.
# SPDX-License-Identifier: MIT
set -eu
seed=$1
n=$2
while read -r line; do
	sum=$(echo "$seed $line" | cksum)
	[ $((${sum%% *} % n)) -ne 0 ] || echo "$line"
done
