// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//
// A foreign client for the conformance tests: npm's @kubernetes/client-node, which lies in the directory
// NODE_CLIENT. Arguments and what it prints: clients/README.md.
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const find = createRequire(`${process.env.NODE_CLIENT}/`);
const k8s = await import(pathToFileURL(find.resolve("@kubernetes/client-node")));

function config(context) {
	const kc = new k8s.KubeConfig();
	kc.loadFromFile(process.env.KUBECONFIG);
	kc.setCurrentContext(context);
	return kc;
}

const admin = config("admin");
const core = admin.makeApiClient(k8s.CoreV1Api);
const slices = admin.makeApiClient(k8s.DiscoveryV1Api);
// Of a kubeconfig's tokenFile it knows nothing.
const poise = config("poise-token").makeApiClient(k8s.CoreV1Api);
const merge = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.MergePatch);

async function list() {
	return {
		services: (await core.listServiceForAllNamespaces()).items,
		endpointslices: (await slices.listEndpointSliceForAllNamespaces()).items,
		nodes: (await core.listNode()).items,
	};
}

async function pages(size) {
	const items = [];
	let more;
	do {
		const page = await slices.listEndpointSliceForAllNamespaces({ limit: Number(size), _continue: more });
		items.push(...page.items);
		more = page.metadata._continue;
	} while (more);
	return items;
}

async function watch() {
	const state = await core.listServiceForAllNamespaces();
	const seen = state.items.map((object) => ({ type: "ADDED", object }));
	const query = { resourceVersion: state.metadata.resourceVersion, timeoutSeconds: 60 };
	await new Promise((resolve, reject) => {
		new k8s.Watch(admin).watch("/api/v1/services", query,
			(type, object) => seen.push({ type, object }),
			(error) => (error ? reject(error) : resolve()));
	});
	return seen;
}

// Lists and watches, and lists again when it must; prints all it has when the line "stop" comes.
async function informer() {
	const has = k8s.makeInformer(admin, "/api/v1/services", () => core.listServiceForAllNamespaces());
	has.on("error", () => setTimeout(() => has.start(), 100));
	await has.start();
	await new Promise((resolve) => { stop = resolve; });
	await has.stop();
	return has.list();
}
let stop = () => {};

const verbs = {
	version: async () => `@kubernetes/client-node ${find("@kubernetes/client-node/package.json").version}`,
	list, pages, watch, informer,
	get: (namespace, name) => core.readNamespacedService({ namespace, name }),
	patch: (namespace, name, body) =>
		core.patchNamespacedService({ namespace, name, body: JSON.parse(body) }, merge),
	status: (namespace, name, body) =>
		poise.patchNamespacedServiceStatus({ namespace, name, body: JSON.parse(body) }, merge),
	forbidden: (namespace, name, body) =>
		poise.patchNamespacedService({ namespace, name, body: JSON.parse(body) }, merge),
};

async function answer(line) {
	const [verb, namespace, name, ...rest] = line.split(" ");
	try {
		return await verbs[verb](namespace, name, rest.join(" "));
	} catch (error) {
		if (!(error instanceof k8s.ApiException))
			throw error;
		return { code: error.code, reason: JSON.parse(error.body).reason };
	}
}

for await (const line of createInterface({ input: process.stdin })) {
	if (line === "stop")
		stop();
	else
		answer(line).then((said) => console.log(JSON.stringify(said)), (error) => {
			console.error(error);
			process.exit(1);
		});
}
process.exit(0);
