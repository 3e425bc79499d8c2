import { valueAt } from "../../fleet/json-record.ts";
import type { Ask, Reply } from "./conversation.ts";
import {
  apply,
  changed,
  jsonPatchType,
  map,
  mapsOf,
  merge,
  metadataType,
  thing,
  thingsOf,
  uidOf,
  versionOf,
  type Scenario,
} from "./requests.ts";

/** How objects are made, replaced and patched. */
export const writingScenarios: readonly Scenario[] = [
  {
    name: "creates an object once",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      await talk.ask({ method: "POST", path, body: map({ name: "one", labels: { x: "y" } }) });
      await talk.ask({ method: "POST", path, body: map({ name: "one" }) });
      await talk.ask({ path: `${path}/one` });
      await talk.ask({ path: `${path}/one`, accept: metadataType });
    },
  },
  {
    name: "says what is not there",
    play: async (talk, namespace) => {
      await talk.ask({ path: `${mapsOf(namespace)}/none` });
      await talk.ask({ path: `${mapsOf("no-namespace")}/none` });
      await talk.ask({ path: `/apis/compared.test/v1/namespaces/${namespace}/nothings` });
      await talk.ask({ path: `/apis/compared.test/v2/namespaces/${namespace}/things/none` });
      await talk.ask({ method: "POST", path: mapsOf("no-namespace"), body: map({ name: "one" }) });
      await talk.ask(apply(`${mapsOf("no-namespace")}/one`, map({ name: "one" })));
      await talk.ask(merge(`${mapsOf(namespace)}/none`, { data: { a: "2" } }));
      await talk.ask({ method: "DELETE", path: `${mapsOf(namespace)}/none` });
      const body = map({ name: "none", namespace });
      await talk.ask({
        method: "PUT",
        path: `${thingsOf(namespace)}/none`,
        body: thing({ name: "none", namespace, resourceVersion: "1" }),
      });
      await talk.ask({ path: mapsOf("no-namespace") });
      await talk.ask({
        method: "PATCH",
        path: `${mapsOf(namespace)}/none`,
        body: [{ op: "test", path: "/data", value: body }],
        type: jsonPatchType,
      });
    },
  },
  {
    name: "replaces an object by its version",
    play: async (talk, namespace) => {
      const path = thingsOf(namespace);
      const one = `${path}/one`;
      const first = await talk.ask({ method: "POST", path, body: thing({ name: "one" }) });
      const put = (reply: Reply, change: object): Ask => {
        return { method: "PUT", path: one, body: changed(reply, change) };
      };
      const second = await talk.ask(put(first, { spec: { size: 2 } }));
      await talk.ask(put(first, { spec: { size: 3 } }));
      await talk.ask(put(second, {}));
      const uid = "11111111-2222-3333-4444-555555555555";
      await talk.ask(put(second, { metadata: { name: "one", uid } }));
      await talk.ask({ path: one });
    },
  },
  {
    name: "replaces an object whatever its version is",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      await talk.ask({ method: "POST", path, body: map({ name: "one" }) });
      const body = map({ name: "one" }, { a: "2" });
      await talk.ask({ method: "PUT", path: `${path}/one`, body });
      const things = thingsOf(namespace);
      await talk.ask({ method: "POST", path: things, body: thing({ name: "one" }) });
      await talk.ask({ method: "PUT", path: `${things}/one`, body: thing({ name: "one" }) });
    },
  },
  {
    name: "merges a patch",
    play: async (talk, namespace) => {
      const path = thingsOf(namespace);
      const one = `${path}/one`;
      const body = thing(
        { name: "one", annotations: { a: "1", b: "1" } },
        { size: 1, color: "red" },
      );
      const first = await talk.ask({ method: "POST", path, body });
      await talk.ask(merge(one, { spec: { size: 2 } }));
      await talk.ask(merge(one, { spec: { size: 2 } }));
      await talk.ask(merge(one, { spec: { color: null }, metadata: { annotations: { a: null } } }));
      const resourceVersion = versionOf(first);
      await talk.ask(merge(one, { metadata: { resourceVersion, labels: { late: "yes" } } }));
      await talk.ask(merge(one, { metadata: { uid: "11111111-2222-3333-4444-555555555555" } }));
      await talk.ask(merge(one, { metadata: { uid: uidOf(first), labels: { own: "yes" } } }));
    },
  },
  {
    name: "patches by operations",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      await talk.ask({ method: "POST", path, body: map({ name: "one" }) });
      const patch = (...body: readonly object[]): Ask => {
        return { method: "PATCH", path: `${path}/one`, body, type: jsonPatchType };
      };
      await talk.ask(patch({ op: "replace", path: "/data/a", value: "2" }));
      await talk.ask(patch({ op: "add", path: "/data/b", value: "2" }));
      await talk.ask(patch({ op: "test", path: "/data/b", value: "other" }));
      await talk.ask(patch({ op: "remove", path: "/data/a" }));
    },
  },
  {
    name: "writes what is still the same",
    play: async (talk, namespace) => {
      const one = `${thingsOf(namespace)}/one`;
      const query = "fieldManager=one&force=true";
      const first = await talk.ask(apply(one, thing({ name: "one" }), "fieldManager=one"));
      const { uid, resourceVersion } = { uid: uidOf(first), resourceVersion: versionOf(first) };
      const other = "11111111-2222-3333-4444-555555555555";
      await talk.ask(apply(one, thing({ name: "one", uid, resourceVersion }, { size: 2 }), query));
      await talk.ask(apply(one, thing({ name: "one", uid, resourceVersion }, { size: 3 }), query));
      await talk.ask(merge(one, { metadata: { uid, resourceVersion }, spec: { size: 4 } }));
      const accept = metadataType;
      for (const metadata of [{ uid }, { uid: other }]) {
        const label = { ...metadata, labels: { a: uid === metadata.uid ? "1" : "2" } };
        const { path, ...rest } = merge(`${one}?fieldManager=two`, { metadata: label });
        // oxlint-disable no-await-in-loop -- one after the other
        await talk.ask({ path, ...rest });
        await talk.ask({ path, ...rest, accept });
        await talk.ask({ ...apply(one, thing({ name: "one", ...metadata }), query), accept });
        // oxlint-enable no-await-in-loop
      }
      await talk.ask({ ...apply(one, thing({ name: "one" }), query), accept });
      const test = { op: "test", path: "/metadata/uid", value: uid };
      const change = { op: "add", path: "/metadata/annotations", value: { a: "1" } };
      const path = `${one}?fieldManager=two`;
      await talk.ask({ method: "PATCH", path, type: jsonPatchType, accept, body: [test, change] });
      await talk.ask({ method: "DELETE", path: one, body: { preconditions: { resourceVersion } } });
      const last = await talk.ask({ path: one });
      const preconditions = { resourceVersion: versionOf(last) };
      await talk.ask({ method: "DELETE", path: one, body: { preconditions } });
      const two = thing({ name: "two" });
      await talk.ask({
        method: "POST",
        path: `${thingsOf(namespace)}?fieldManager=two`,
        body: two,
      });
    },
  },
  {
    name: "keeps spec and status apart",
    play: async (talk, namespace) => {
      const path = thingsOf(namespace);
      const one = `${path}/one`;
      const body = { ...thing({ name: "one" }), status: { phase: "Early" } };
      const first = await talk.ask({ method: "POST", path, body });
      const status = { phase: "Ready", conditions: [{ type: "Ready", status: "True" }] };
      const second = await talk.ask({
        method: "PUT",
        path: `${one}/status`,
        body: changed(first, { spec: { size: 9 }, status }),
      });
      await talk.ask({ method: "PUT", path: `${one}/status`, body: changed(second, { status }) });
      await talk.ask({
        method: "PUT",
        path: `${one}/status`,
        body: changed(first, { status: {} }),
      });
      await talk.ask({
        method: "PUT",
        path: one,
        body: changed(second, { spec: { size: 2 }, status: {} }),
      });
      await talk.ask(merge(one, { status: { phase: "Late" } }));
      await talk.ask(merge(`${one}/status`, { spec: { size: 4 }, status: { phase: "Late" } }));
    },
  },
  {
    name: "counts generations by the spec",
    play: async (talk, namespace) => {
      const one = `${thingsOf(namespace)}/one`;
      await talk.ask(apply(one, thing({ name: "one" }, { size: 1 })));
      await talk.ask(
        merge(one, { metadata: { labels: { a: "1" }, finalizers: ["compared.test/wait"] } }),
      );
      await talk.ask(merge(one, { spec: { size: 2 } }));
      await talk.ask({ method: "DELETE", path: one });
      await talk.ask(merge(one, { metadata: { finalizers: null } }));
    },
  },
  {
    name: "tries a write without storing it",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      const { status } = await talk.look(
        { method: "POST", path: `${path}?dryRun=All`, body: map({ name: "one" }) },
        () => true,
        (reply) => [reply.status, ["", "undefined"].includes(versionOf(reply))],
      );
      if (status !== 201) throw new Error("A dry run was refused");
      await talk.ask({ path: `${path}/one` });
      await talk.ask(apply(`${path}/two`, map({ name: "two" })));
      const query = "fieldManager=one&force=true&dryRun=All";
      await talk.look(
        apply(`${path}/two`, map({ name: "two" }, { a: "2" }), query),
        () => true,
        ({ status: code, body }) => [code, valueAt(body, "data")],
      );
      await talk.ask({ method: "DELETE", path: `${path}/two?dryRun=All` });
      await talk.ask({ path: `${path}/two` });
    },
  },
];
