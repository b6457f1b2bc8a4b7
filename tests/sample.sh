#!/bin/sh
# sample.sh SEED N - prints about one in N of its input lines; SEED selects
# which.
# SPDX-License-Identifier: MIT
set -eu
seed=$1
n=$2
while read -r line; do
	sum=$(echo "$seed $line" | cksum)
	[ $((${sum%% *} % n)) -ne 0 ] || echo "$line"
done
