import type { ServerResponse } from "node:http";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { collectionAt, startStubHub, type Answer, type StubHub } from "./stub-hub.ts";

/** A hub or spoke whose objects come and go while it is watched, with what their containers log. */
export interface ChangingCluster extends StubHub {
  /** Makes objects, or replaces those of the same kind and name. */
  put(...objects: readonly KubeObject[]): void;
  remove(object: KubeObject): void;
  /** Writes a line into the log of every container of a pod. */
  say(pod: string, line: string): void;
  /** Whether it answers nothing but 503. Watches that are open stay. */
  setAway(isAway: boolean): void;
  /** Ends the watches that are open. */
  endWatches(): void;
  /** How many logs are followed. */
  readonly followers: number;
  /** How many watches are open. */
  readonly watches: number;
}

/** Starts one; what is not there is answered with 404. */
export async function startChangingCluster(
  ...first: readonly KubeObject[]
): Promise<ChangingCluster> {
  const objects = [...first];
  const logs = new Map<string, string[]>();
  const watches = new Map<ServerResponse, string>();
  const followers = new Map<ServerResponse, string>();
  let version = 10;
  let isGone = false;
  const answer: Answer = ({ path, query }) => {
    if (isGone) return { status: 503, body: { kind: "Status", apiVersion: "v1", code: 503 } };
    const [, pod] = /\/pods\/([^/]+)\/log$/.exec(path) ?? [];
    if (pod !== undefined) return logAnswer(pod, query);
    if (query?.get("watch") !== "true") return undefined;
    return {
      stream(response) {
        watches.set(response, path);
        response.on("close", () => watches.delete(response));
        for (const object of collectionAt(path, objects)) write(response, "ADDED", object);
        write(response, "BOOKMARK", bookmark(version));
      },
    };
  };
  const logAnswer = (pod: string, query: URLSearchParams | undefined): ReturnType<Answer> => {
    if (!objects.some(({ kind, metadata }) => kind === "Pod" && metadata.name === pod)) {
      const message = `pods "${pod}" not found`;
      return { status: 404, body: { kind: "Status", apiVersion: "v1", code: 404, message } };
    }
    const lines = logs.get(pod) ?? [];
    const text = lines.map((line) => `${line}\n`).join("");
    if (query?.get("follow") !== "true") return { body: text };
    return {
      stream(response) {
        followers.set(response, pod);
        response.on("close", () => followers.delete(response));
        response.write(text);
      },
    };
  };
  const tell = (type: string, object: KubeObject): void => {
    version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: `${version}` } };
    for (const [response, path] of watches) {
      if (collectionAt(path, [stored]).length > 0) write(response, type, stored);
    }
  };
  const take = (object: KubeObject): boolean => {
    const at = objects.findIndex((one) => idOf(one) === idOf(object));
    if (at >= 0) objects.splice(at, 1);
    return at >= 0;
  };
  const hub = await startStubHub(objects, answer);
  return {
    ...hub,
    put(...news) {
      for (const object of news) {
        const type = take(object) ? "MODIFIED" : "ADDED";
        objects.push(object);
        tell(type, object);
      }
    },
    remove(object) {
      if (take(object)) tell("DELETED", object);
      for (const [response, pod] of followers) if (pod === object.metadata.name) response.end();
    },
    setAway(isAway) {
      isGone = isAway;
    },
    endWatches() {
      for (const response of watches.keys()) response.end();
    },
    say(pod, line) {
      const timed = `${new Date().toISOString()} ${line}`;
      logs.set(pod, [...(logs.get(pod) ?? []), timed]);
      for (const [response, of] of followers) if (of === pod) response.write(`${timed}\n`);
    },
    get followers() {
      return followers.size;
    },
    get watches() {
      return watches.size;
    },
  };
}

function write(response: ServerResponse, type: string, object: unknown): void {
  response.write(`${JSON.stringify({ type, object })}\n`);
}

function bookmark(version: number): unknown {
  const annotations = { "k8s.io/initial-events-end": "true" };
  return {
    kind: "List",
    apiVersion: "v1",
    metadata: { resourceVersion: `${version}`, annotations },
  };
}

function idOf({ apiVersion, kind, metadata: { namespace = "", name } }: KubeObject): string {
  return [apiVersion, kind, namespace, name].join("/");
}
