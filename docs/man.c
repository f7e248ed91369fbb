// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* man OUT-DIRECTORY TEMPLATE...: writes the manual pages of poise; see cli/manual.h. */
#include <stdio.h>

#include "../cli/manual.h"

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: man OUT-DIRECTORY TEMPLATE...\n", stderr);
		return 2;
	}
	for (int i = 2; i < argc; i++)
		manual_template(argv[1], argv[i]);
	manual_groups(argv[1]);
	return 0;
}
