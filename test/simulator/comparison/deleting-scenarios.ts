import { valueAt } from "../../fleet/json-record.ts";
import type { Ask } from "./conversation.ts";
import {
  isGone,
  map,
  mapsOf,
  merge,
  metadataListType,
  thing,
  thingsOf,
  uidOf,
  versionOf,
  ownersIn,
  type Scenario,
} from "./requests.ts";

/** How objects go, and what goes with them. */
export const deletingScenarios: readonly Scenario[] = [
  {
    name: "deletes an object at once, and makes another one in its place",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      await talk.ask({ method: "POST", path, body: map({ name: "one" }) });
      await talk.ask({ method: "DELETE", path: `${path}/one` });
      await talk.ask({ path: `${path}/one` });
      await talk.ask({ method: "DELETE", path: `${path}/one` });
      await talk.ask({ method: "POST", path, body: map({ name: "one" }) });
    },
  },
  {
    name: "waits for finalizers",
    play: async (talk, namespace) => {
      const path = thingsOf(namespace);
      const one = `${path}/one`;
      const finalizers = ["compared.test/a", "compared.test/b"];
      await talk.ask({ method: "POST", path, body: thing({ name: "one", finalizers }) });
      await talk.ask({ method: "DELETE", path: one });
      await talk.ask({ method: "DELETE", path: one });
      await talk.ask({ path: one });
      await talk.ask(merge(one, { metadata: { finalizers: ["compared.test/b"] } }));
      await talk.ask(
        merge(one, { metadata: { finalizers: ["compared.test/b", "compared.test/c"] } }),
      );
      await talk.ask(merge(one, { metadata: { finalizers: [] } }));
      await talk.ask({ path: one });
    },
  },
  {
    name: "deletes only what it is told to",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      const one = `${path}/one`;
      const first = await talk.ask({ method: "POST", path, body: map({ name: "one" }) });
      const remove = (preconditions: object): Ask => {
        const body = { kind: "DeleteOptions", apiVersion: "v1", preconditions };
        return { method: "DELETE", path: one, body };
      };
      await talk.ask(remove({ uid: "11111111-2222-3333-4444-555555555555" }));
      await talk.ask(merge(one, { data: { a: "2" } }));
      await talk.ask(remove({ uid: uidOf(first), resourceVersion: versionOf(first) }));
      await talk.ask(remove({ uid: uidOf(first) }));
    },
  },
  {
    name: "deletes many at once",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      for (const name of ["one", "two", "three"]) {
        const labels = { some: name === "three" ? "no" : "yes" };
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await talk.ask({ method: "POST", path, body: map({ name, labels }) });
      }
      const some = `${path}?labelSelector=some%3Dyes`;
      const butOne = encodeURIComponent("metadata.name!=one,metadata.name!=other");
      const accept = metadataListType;
      await talk.ask({ method: "DELETE", path: `${some}&fieldSelector=${butOne}`, accept });
      await talk.ask({ method: "DELETE", path: some, accept });
      await talk.ask({ path: `${path}?labelSelector=some` });
    },
  },
  {
    name: "collects what a deleted object owned",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      const owner = await talk.ask({ method: "POST", path, body: map({ name: "owner" }) });
      const ownerReferences = [
        { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: uidOf(owner) },
      ];
      await talk.ask({ method: "POST", path, body: map({ name: "owned", ownerReferences }) });
      const holds = { ownerReferences, finalizers: ["compared.test/wait"] };
      await talk.ask({ method: "POST", path, body: map({ name: "held", ...holds }) });
      await talk.ask({
        method: "DELETE",
        path: `${path}/owner`,
        body: { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy: "Background" },
      });
      await talk.askUntil({ path: `${path}/owned` }, isGone);
      const held = `${path}/held`;
      await talk.askUntil(
        { path: held },
        ({ body }) => valueAt(body, "metadata", "deletionTimestamp") !== undefined,
      );
      await talk.ask(merge(held, { metadata: { finalizers: null } }));
      await talk.ask({ path: held });
    },
  },
  {
    name: "keeps what has another owner",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      const owners = [
        await talk.ask({ method: "POST", path, body: map({ name: "first" }) }),
        await talk.ask({ method: "POST", path, body: map({ name: "second" }) }),
      ];
      const ownerReferences = owners.map((owner, at) => {
        return {
          apiVersion: "v1",
          kind: "ConfigMap",
          name: at === 0 ? "first" : "second",
          uid: uidOf(owner),
        };
      });
      const owned = `${path}/owned`;
      await talk.ask({ method: "POST", path, body: map({ name: "owned", ownerReferences }) });
      await talk.ask({ method: "DELETE", path: `${path}/first` });
      await talk.look({ path: owned }, (reply) => ownersIn(reply) === 1, ownersIn);
      await talk.ask({ method: "DELETE", path: `${path}/second` });
      await talk.askUntil({ path: owned }, isGone);
    },
  },
  {
    name: "collects what has an owner that is not there",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      const uid = "11111111-2222-3333-4444-555555555555";
      const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid }];
      await talk.ask({ method: "POST", path, body: map({ name: "orphan", ownerReferences }) });
      await talk.askUntil({ path: `${path}/orphan` }, isGone);
    },
  },
];
