/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Passive signals: what packets count of a backend's flows, and what it may be ejected for. */
#ifndef POISE_SIGNALS_H
#define POISE_SIGNALS_H

/* Only flows that are recorded are counted. */
enum poise_signal {
	POISE_BEGUN = 0, /* with a SYN; where both directions are seen, UDP flows too */
	POISE_ANSWERED,	 /* of these, the client went on; or the backend was heard */
	POISE_FINISHED,	 /* by FIN or RST of the client */
	POISE_REFUSED,	 /* by the backend's reset: where both directions are seen */
	POISE_SIGNALS,
};

enum poise_fault {
	POISE_FAULT_NONE = 0,
	POISE_FAULT_UNANSWERED, /* flows begin, and nobody answers */
	POISE_FAULT_UNFINISHED, /* they are answered, and then neither go on nor end */
	POISE_FAULT_REFUSED,	/* they are answered, and then reset */
	POISE_FAULTS,
};

#endif
