// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4) of configuration records. A load checks every record,
 * 14 MB with 4,096 services of 4 backends, so the processor's own instruction is used where there
 * is one; elsewhere a table of the polynomial, a byte at a time.
 */
#include <string.h>

#include "store.h"

#define CRC_POLYNOMIAL 0x82f63b78u /* reflected */

static __u32 crc_table[256];

__attribute__((constructor)) static void fill_table(void)
{
	for (__u32 n = 0; n < 256; n++) {
		__u32 crc = n;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
		crc_table[n] = crc;
	}
}

static __u32 crc_by_table(__u32 crc, const unsigned char *data, size_t bytes)
{
	while (bytes--)
		crc = crc >> 8 ^ crc_table[(crc ^ *data++) & 0xff];
	return crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static __u32 crc_by_cpu(__u32 crc, const unsigned char *data,
							  size_t bytes)
{
	__u64 wide = crc, word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), data += sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		wide = __builtin_ia32_crc32di(wide, word);
	}
	return crc_by_table((__u32)wide, data, bytes);
}

__u32 store_crc(__u32 crc, const void *data, size_t bytes)
{
	static int fast = -1;

	if (fast < 0)
		fast = __builtin_cpu_supports("sse4.2") ? 1 : 0;
	return ~(fast ? crc_by_cpu(~crc, data, bytes) : crc_by_table(~crc, data, bytes));
}
#else
__u32 store_crc(__u32 crc, const void *data, size_t bytes)
{
	return ~crc_by_table(~crc, data, bytes);
}
#endif
