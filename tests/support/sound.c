// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Checksums as a receiver looks at them (frame.h), by code that built none of them.
 */
#include <netinet/in.h>

#include "frame.h"

static unsigned int sum(const __u8 *b, size_t n, unsigned int start)
{
	for (size_t k = 0; k < n; k++)
		start += k & 1 ? b[k] : (unsigned int)b[k] << 8;
	return start;
}

static bool all_ones(unsigned int value)
{
	while (value >> 16)
		value = (value & 0xffff) + (value >> 16);
	return value == 0xffff;
}

bool frame_sound(const struct frame *f)
{
	const __u8 *ip = f->byte + 14;
	size_t header = *ip >> 4 == 4 ? 20 : 40, rest = f->length - 14 - header;
	unsigned int proto = *ip >> 4 == 4 ? ip[9] : ip[6], pseudo = 0;

	if (header == 20 && !all_ones(sum(ip, header, 0)))
		return false;
	if (proto == IPPROTO_TCP)
		pseudo = sum(ip + (header == 20 ? 12 : 8), header == 20 ? 8 : 32, 6 + 20);
	if (proto == IPPROTO_ICMPV6)
		pseudo = sum(ip + 8, 32, 58 + (unsigned int)rest);
	return all_ones(sum(ip + header, rest, pseudo));
}
