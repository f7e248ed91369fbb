// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The model of source ranges; see ranges.h. */
#include "ranges.h"
#include "maps/text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool holds(const struct poise_range *r, const union poise_addr *a)
{
	for (int bit = 0; bit < r->length; bit++)
		if ((r->addr.b[bit / 8] ^ a->b[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	return true;
}

/* Prefixes of the address's own family only. */
bool range_model_denies(const struct poise_range *range, size_t n, const union poise_addr *a)
{
	bool denied = false;
	int longest = -1;

	for (size_t r = 0; r < n; r++)
		denied |= !range[r].deny;
	for (size_t r = 0; r < n; r++)
		if (poise_addr_is4(&range[r].addr) == poise_addr_is4(a) && holds(&range[r], a) &&
		    range[r].length > longest) {
			longest = range[r].length;
			denied = range[r].deny;
		}
	return denied;
}

/* The next address, or the one before; around the end. */
static union poise_addr step(union poise_addr a, int by)
{
	for (int byte = 15; byte >= 0; byte--) {
		__u8 was = a.b[byte];

		a.b[byte] = (__u8)(was + by);
		if (by > 0 ? was != 0xff : was != 0)
			break;
	}
	return a;
}

size_t range_model_probes(const struct poise_range *range, size_t n, union poise_addr *out)
{
	size_t probes = 0;

	for (size_t r = 0; r <= n; r++) {
		union poise_addr ends[2] = {{.b = {[10] = 0xff, [11] = 0xff}}};
		int length = RANGE_BITS_IPV4;

		if (r < n) {
			ends[0] = range[r].addr;
			length = range[r].length;
		}
		ends[1] = ends[0];
		for (int bit = length; bit < RANGE_BITS; bit++)
			ends[1].b[bit / 8] |= (__u8)(0x80 >> bit % 8);
		for (int e = 0; e < 2; e++) {
			out[probes++] = step(ends[e], -1);
			out[probes++] = ends[e];
			out[probes++] = step(ends[e], 1);
		}
	}
	return probes;
}

__u32 range_model_number(__u32 below)
{
	static __u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (__u32)(state >> 20) % below;
}

/* Few values for each byte. */
static struct poise_range draw_one(void)
{
	static const __u8 values[] = {0, 1, 0x7f, 0x80, 0xff};
	bool four = range_model_number(2);
	struct poise_range r = {.deny = (__u8)range_model_number(2)};

	r.length = (__u8)(four ? RANGE_BITS_IPV4 + range_model_number(33)
			       : range_model_number(RANGE_BITS + 1));
	if (four)
		r.addr.b[10] = r.addr.b[11] = 0xff;
	for (int byte = four ? 12 : 0; byte < 16; byte++)
		r.addr.b[byte] = values[range_model_number(COUNT(values))];
	for (int bit = r.length; bit < RANGE_BITS; bit++)
		r.addr.b[bit / 8] &= (__u8) ~(0x80 >> bit % 8);
	return r;
}

static bool has(const struct poise_range *range, size_t n, const struct poise_range *r)
{
	for (size_t k = 0; k < n; k++)
		if (!range_cmp(&range[k], r))
			return true;
	return false;
}

void range_model_draw(struct poise_range *range, size_t n)
{
	for (size_t k = 0; k < n;) {
		range[k] = draw_one();
		if (!has(range, k, &range[k]))
			k++;
	}
}
