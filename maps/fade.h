/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fade-in: a member that becomes choosable while others are takes a growing part of the new flows
 * that would be its, f = max(floor, (age / duration)^exponent).
 *
 * Packets ask one number of it (struct poise_member.fade), which is f and, where load decides, the
 * cap: who has the least load would get every flow, so it is admitted to as many that twice its
 * fair share comes of it, min(1, 2 x fair / q), q being the chance that the policy looks at it. The
 * cap outlasts the fade until the member's load first reaches the weighted mean of the pool
 * ("catching up"). Over is over: then packets see a member like any other. Latency-aware draws, and
 * who was never timed counts as the fastest, not as faster: that needs no cap.
 *
 * A commit says who begins (poise_member_conf.fades) and derives the first share, so that no packet
 * finds the member without; poised moves the share on (instance_fade). What it does not keep up, a
 * packet no longer heeds two seconds later: then the cap alone counts, until poised is back. It
 * takes nothing from a member that has caught up meanwhile, since twice its part is more than load
 * gives it.
 */
#ifndef POISE_FADE_H
#define POISE_FADE_H

#include "config.h"
#include "instance.h"

#define FADE_KEPT 2 /* seconds of the stamps' clock that a share is good for */

/* f, of a member that has been choosable for so long. */
double fade_ratio(const struct poise_service_conf *conf, __u64 age_ns);
/* What packets are told of a member with f = ratio that has `weight` of the `weights` of all who
 * may be chosen; in 65536ths, at least 1 and at most 65535. */
__u16 fade_share(const struct poise_service_rec *rec, double ratio, __u32 weight, __u64 weights);
/* What they are told for the time when nobody tells them more: the cap, 0 where there is none. */
__u16 fade_cap(const struct poise_service_rec *rec, __u32 weight, __u64 weights);

#endif
