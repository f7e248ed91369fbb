/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * pick KEY[.KEY]... <JSON: values out of an object, for scripts, on one line; - where there is
 * none.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static struct json_object *find(struct json_object *at, char *path)
{
	for (char *key = strtok(path, "."); key; key = strtok(NULL, "."))
		if (!json_object_object_get_ex(at, key, &at))
			return NULL;
	return at;
}

static void put(struct json_object *value)
{
	if (!value)
		printf("-");
	else if (json_object_is_type(value, json_type_double))
		printf("%g", json_object_get_double(value));
	else
		printf("%s", json_object_get_string(value));
}

int main(int argc, char **argv)
{
	struct json_object *root = json_object_from_fd(0);

	if (!root || argc < 2) {
		fprintf(stderr, "usage: pick KEY[.KEY]... <JSON\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		put(find(root, argv[i]));
		printf("%s", i < argc - 1 ? " " : "\n");
	}
	json_object_put(root);
	return 0;
}
