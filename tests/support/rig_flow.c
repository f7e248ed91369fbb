// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Flow words as a rig's packets would write them. */
#include <criterion/criterion.h>

#include "rig.h"

__u64 rig_word_as(__u64 old, __u16 member, enum poise_flow_state state, __u32 stamp)
{
	return (old >> POISE_WORD_TAG_SHIFT << POISE_WORD_TAG_SHIFT) |
	       (__u64)member << POISE_WORD_MEMBER_SHIFT | (__u64)state << POISE_WORD_STATE_SHIFT |
	       (stamp & POISE_WORD_STAMP);
}

__u32 rig_second(struct rig *r, const char *syn)
{
	__u64 *word;
	__u32 second;

	rig_forget(r);
	rig_send(r, syn, NULL);
	word = rig_word(r);
	cr_assert(word, "a SYN was not recorded");
	second = (__u32)*word & POISE_WORD_STAMP;
	rig_forget(r);
	return second;
}
