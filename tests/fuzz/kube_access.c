// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as a kubeconfig: either an error with a place and a reason, or an access that can be
 * used as it is.
 */
#include <string.h>

#include "loader/kube/access.h"
#include "tests/support/fuzz.h"

#define NAME "/nonexistent/config" /* so that no file that it names is there */

static void check_pem(const struct kube_pem *p)
{
	fuzz_require(!p->file || !p->data);
	fuzz_require(!p->data || strstr(p->data, "-----BEGIN "));
}

static void check(const struct kube_access *a)
{
	fuzz_require(!strncmp(a->server, "http://", 7) || !strncmp(a->server, "https://", 8));
	fuzz_require(!a->server[strcspn(a->server, " \r\n\t?#@")]);
	fuzz_require(a->name_space);
	check_pem(&a->ca);
	check_pem(&a->cert);
	check_pem(&a->key);
	fuzz_require(!a->token || (a->token[0] && !a->token[strcspn(a->token, " \r\n\t")]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct poise_error err = {0};
	char *text = malloc(size + 1);
	struct kube_access *a;

	memcpy(text, data, size);
	text[size] = '\0';
	a = kube_access_parse(NAME, text, size, &err);
	if (a) {
		fuzz_require(err.code == POISE_E_NONE);
		check(a);
	} else {
		fuzz_require(err.code != POISE_E_NONE && err.message[0]);
		fuzz_require(!strcmp(err.file, NAME) && err.line > 0);
	}
	kube_access_free(a);
	free(text);
	return 0;
}

FUZZ_TARGET(kube_access)
