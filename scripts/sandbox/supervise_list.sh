#!/bin/sh
# supervise_list.sh - how jobs are that outlive who began them.
# SPDX-License-Identifier: MIT
#
# Given: s_jobs, and s_o: from where the output of the last one is wanted; -1:
# none of it is. A line for each in s_text: "JOB WORD CODE TOTAL FIRST FROM
# SECONDS": bytes so far, the first that is kept, where the output that follows
# the lines begins, and for how long it has run.
# shellcheck disable=SC2034,SC2154

# For how long it has run, by the date: s_age.
s_lasted() {
	s_born=
	s_when=
	{
		read -r s_ s_born <"$s_dir/born"
		read -r s_ s_ s_ s_when <"$s_dir/done"
	} 2>/dev/null
	[ -n "$s_when" ] || s_when=$(date +%s)
	s_age=$((s_when - ${s_born:-$s_when}))
	[ $s_age -ge 0 ] || s_age=0
}

s_list() {
	s_want=$s_o
	s_o=0
	s_more=0
	s_nl='
'
	for s_job in $s_jobs; do
		if ! s_search; then
			s_text="$s_text$s_job gone -1 0 0 0 0$s_nl"
			continue
		fi
		s_orphan
		s_news
		s_find o 9000000000000000
		[ "$s_first" -ge 0 ] || s_first=$s_no
		s_lasted
		if [ "$s_want" -ge 0 ]; then
			s_o=$s_want
			[ "$s_o" -ge "$s_first" ] || s_o=$s_first
			[ "$s_o" -le "$s_no" ] || s_o=$s_no
			s_more=$((s_no - s_o))
		fi
		s_text="$s_text$s_job $s_word $s_code $s_no $s_first $s_o"
		s_text="$s_text $s_age$s_nl"
	done
	[ $((s_more + ${#s_text})) -le "$s_raw" ] ||
		s_more=$((s_raw - ${#s_text}))
	s_word=end
	s_code=0
	s_e=0
}
