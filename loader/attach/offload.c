// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Offloads that spoil what the program sees: receive VLAN offload takes the tags out of the frame
 * before it, LRO merges segments into what no backend should get. Attach turns both off and
 * remembers which; detach restores them.
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

static const struct {
	unsigned int bit; /* of struct attach_pin.offloads */
	__u32 flag;	  /* of ETHTOOL_GFLAGS */
	const char *word; /* of ethtool -K */
	const char *harm;
} offloads[] = {
	{ATTACH_OFFLOAD_RXVLAN, ETH_FLAG_RXVLAN, "rxvlan",
	 "VLAN tags are taken off before the program sees them"},
	{ATTACH_OFFLOAD_LRO, ETH_FLAG_LRO, "lro",
	 "segments are merged before the program sees them"},
};

#define OFFLOADS (sizeof(offloads) / sizeof(offloads[0]))

static int ethtool(const char *device, void *command)
{
	struct ifreq request = {.ifr_data = command};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -1;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	rc = ioctl(fd, SIOCETHTOOL, &request);
	close(fd);
	return rc;
}

/* A device without ethtool has none of these offloads either. */
static __u32 get_flags(const char *device)
{
	struct ethtool_value value = {.cmd = ETHTOOL_GFLAGS};

	return ethtool(device, &value) ? 0 : value.data;
}

/* One flag at a time: one that is fixed must not keep the other from being set. */
static bool set_flag(const char *device, __u32 flag, bool on)
{
	struct ethtool_value value = {.cmd = ETHTOOL_SFLAGS};

	value.data = get_flags(device);
	value.data = on ? value.data | flag : value.data & ~flag;
	return !ethtool(device, &value);
}

unsigned int attach_offload_off(const char *device)
{
	__u32 flags = get_flags(device);
	unsigned int off = 0;

	for (size_t k = 0; k < OFFLOADS; k++)
		if (flags & offloads[k].flag && set_flag(device, offloads[k].flag, false))
			off |= offloads[k].bit;
	return off;
}

void attach_offload_restore(const char *device, unsigned int off)
{
	for (size_t k = 0; k < OFFLOADS; k++)
		if (off & offloads[k].bit)
			set_flag(device, offloads[k].flag, true);
}

bool attach_offload_warn(const char *device, char *buf, size_t size)
{
	__u32 flags = get_flags(device);

	for (size_t k = 0; k < OFFLOADS; k++) {
		if (!(flags & offloads[k].flag))
			continue;
		snprintf(buf, size, "%s: turn it off with ethtool -K %s %s off", offloads[k].harm,
			 device, offloads[k].word);
		return true;
	}
	return false;
}

char *attach_driver(const char *device, char *buf, size_t size)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	snprintf(buf, size, "%s", ethtool(device, &info) ? "" : info.driver);
	return buf;
}

unsigned int attach_mtu(const char *device)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned int mtu = 0;

	if (fd < 0)
		return 0;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	if (!ioctl(fd, SIOCGIFMTU, &request))
		mtu = (unsigned int)request.ifr_mtu;
	close(fd);
	return mtu;
}
