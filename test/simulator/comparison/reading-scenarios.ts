import { valueAt } from "../../fleet/json-record.ts";
import {
  codeOf,
  map,
  mapsOf,
  merge,
  metadataListType,
  metadataType,
  namesIn,
  thing,
  thingsOf,
  versionOf,
  type Scenario,
} from "./requests.ts";

const firstList =
  "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

const watchSelectors = [
  "",
  ...["seen=yes", "seen", "seen in (yes,maybe)"].map(
    (selector) => `&labelSelector=${encodeURIComponent(selector)}`,
  ),
  "&fieldSelector=metadata.name%3Dother",
];

/** How objects are found and watched. */
export const readingScenarios: readonly Scenario[] = [
  {
    name: "selects by labels and by name",
    play: async (talk, namespace) => {
      const path = mapsOf(namespace);
      const things = thingsOf(namespace);
      for (const name of ["one", "two", "three"]) {
        const labels = { name, ...(name === "one" ? {} : { more: "yes" }) };
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await talk.ask({ method: "POST", path, body: map({ name, labels }) });
      }
      for (const selector of [
        "name=one",
        "name in (one,two)",
        "name,name notin (one)",
        "name,!more",
        "more=yes,name!=two",
      ]) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await talk.ask({ path: `${path}?labelSelector=${encodeURIComponent(selector)}` });
      }
      await talk.ask({ path: `${path}?fieldSelector=metadata.name%3Dtwo&limit=500` });
      // oxlint-disable no-await-in-loop -- one after the other
      for (const accept of ["application/json", metadataListType]) {
        for (const selector of ["name=one", "more=yes,name", "name"]) {
          const labels = `labelSelector=${encodeURIComponent(selector)}`;
          await talk.ask({ path: `${path}?${labels}&limit=500`, accept });
        }
        await talk.ask({ path: `${things}?limit=500`, accept });
      }
      for (const metadata of [{ name: "one", labels: { more: "yes" } }, { name: "two" }]) {
        await talk.ask({ method: "POST", path: things, body: thing(metadata) });
      }
      for (const accept of ["application/json", metadataListType]) {
        await talk.ask({
          path: `${things}?labelSelector=${encodeURIComponent("!more")}&limit=500`,
          accept,
        });
      }
      // oxlint-enable no-await-in-loop
      const more = `${path}?labelSelector=${encodeURIComponent("more=yes")}`;
      const { body } = await talk.ask({ path: more });
      const late = map({ name: "late", labels: { more: "yes" } });
      await talk.ask({ method: "POST", path, body: late });
      const version = String(valueAt(body, "metadata", "resourceVersion"));
      await talk.ask({ path: `${more}&resourceVersion=${version}&resourceVersionMatch=Exact` });
      await talk.ask({ path: `${path}?labelSelector=name`, accept: metadataListType });
      await talk.ask({
        path: `/api/v1/configmaps?labelSelector=${encodeURIComponent("more=yes")}&limit=500`,
      });
    },
  },
  {
    name: "finds the Events of an object",
    play: async (talk, namespace) => {
      const path = `/api/v1/namespaces/${namespace}/events`;
      for (const name of ["one", "two"]) {
        const metadata = { name: `${name}.1` };
        const involvedObject = { kind: "ConfigMap", namespace, name };
        const body = { apiVersion: "v1", kind: "Event", metadata, involvedObject, reason: "Seen" };
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await talk.look({ method: "POST", path, body }, () => true, codeOf);
      }
      const about = "involvedObject.kind=ConfigMap,involvedObject.name=two";
      for (const more of ["", ",involvedObject.uid=,reason=", ",involvedObject.uid=,reason=Seen"]) {
        const query = `fieldSelector=${encodeURIComponent(`${about}${more}`)}&limit=500`;
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await talk.look({ path: `${path}?${query}` }, () => true, namesIn);
      }
    },
  },
  {
    name: "tells a watch what happens",
    play: async (talk, namespace) => {
      const path = thingsOf(namespace);
      const first = { name: "first", labels: { seen: "yes" } };
      await talk.ask({ method: "POST", path, body: thing(first) });
      await talk.ask({ method: "POST", path, body: thing({ name: "other" }) });
      for (const selector of watchSelectors) {
        for (const accept of [undefined, metadataType]) {
          talk.watch(`${path}?${firstList}&timeoutSeconds=3${selector}`, accept);
        }
      }
      await new Promise((resolve) => void setTimeout(resolve, 500));
      await talk.ask({
        method: "POST",
        path,
        body: thing({ name: "late", labels: { seen: "yes" } }),
      });
      await talk.ask(merge(`${path}/late`, { spec: { size: 2 } }));
      await talk.ask(merge(`${path}/other`, { metadata: { labels: { seen: "yes" } } }));
      await talk.ask(merge(`${path}/first`, { metadata: { labels: { seen: "no" } } }));
      await talk.ask(merge(`${path}/first`, { spec: { size: 3 } }));
      await talk.ask({ method: "DELETE", path: `${path}/late` });
      await talk.ask(merge(`${path}/other`, { metadata: { finalizers: ["compared.test/wait"] } }));
      await talk.ask({ method: "DELETE", path: `${path}/other` });
      await talk.ask(merge(`${path}/other`, { metadata: { finalizers: null } }));
    },
  },
  {
    name: "goes on with a watch from a version",
    play: async (talk, namespace) => {
      const path = thingsOf(namespace);
      const body = thing({ name: "other", labels: { seen: "yes" } });
      const first = await talk.ask({ method: "POST", path, body });
      await talk.ask(merge(`${path}/other`, { spec: { size: 2 } }));
      await talk.ask({ method: "DELETE", path: `${path}/other` });
      const from = `resourceVersion=${versionOf(first)}&timeoutSeconds=2`;
      for (const selector of watchSelectors) {
        for (const accept of [undefined, metadataType]) {
          talk.watch(`${path}?watch=true&allowWatchBookmarks=true&${from}${selector}`, accept);
        }
      }
    },
  },
];
