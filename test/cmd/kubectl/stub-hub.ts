import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { tableResource } from "../../../api/resources.ts";
import { portOf } from "../../fleet/ports.ts";

/** Answers a request, or undefined to leave it to the recorded objects. */
export type Answer = (request: {
  readonly method: string;
  readonly path: string;
  readonly accept: string;
  readonly body: unknown;
  readonly query?: URLSearchParams;
  /** Whom the request impersonates; empty: nobody. */
  readonly actor?: string;
}) => { readonly status?: number; readonly body: unknown } | Streamed | undefined;

/** An answer that goes on after it has begun. */
interface Streamed {
  readonly stream: (response: ServerResponse) => void;
  readonly body?: undefined;
}

/** The answer to a caller without the right. */
export function forbidden(message = "no") {
  const body = { kind: "Status", apiVersion: "v1", code: 403, reason: "Forbidden", message };
  return { status: 403, body };
}

/** A hub that serves recorded objects over plain HTTP, for golden files and for answers that no real hub gives. */
export interface StubHub extends AsyncDisposable {
  readonly url: string;
  readonly kubeconfig: string;
  readonly env: Readonly<Record<string, string>>;
  /** `METHOD path` of every request, without queries. */
  readonly requests: readonly string[];
  /** The ports of the connections that were accepted so far. */
  readonly connections: readonly unknown[];
}

/** Serves these objects. `wait` is awaited before each answer. */
export async function startStubHub(
  objects: readonly KubeObject[],
  answer: Answer = () => undefined,
  wait?: () => Promise<void>,
): Promise<StubHub> {
  const requests: string[] = [];
  const connections: unknown[] = [];
  const server = createServer((request, response) => {
    const { method = "GET", url = "/", headers } = request;
    const { pathname: path, searchParams: query } = new URL(url, "http://hub");
    requests.push(`${method} ${path}`);
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", async () => {
      await wait?.();
      const text = Buffer.concat(parts).toString("utf8");
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      const { accept = "" } = headers;
      const actor = String(headers["impersonate-user"] ?? "");
      const answered =
        answer({ method, path, accept, body, query, actor }) ?? recorded(path, objects);
      if ("stream" in answered) {
        response.writeHead(200, { "content-type": "application/json" });
        response.flushHeaders();
        answered.stream(response);
        return;
      }
      const { status = 200, body: said } = answered;
      response.writeHead(status, { "content-type": "application/json" });
      // Logs are text.
      response.end(typeof said === "string" ? said : JSON.stringify(said));
    });
  });
  server.on("connection", ({ remotePort }) => connections.push(remotePort));
  // Who comes again within a minute uses the same connection.
  server.keepAliveTimeout = 60_000;
  const port = await listening(server);
  const folder = await mkdtemp(join(tmpdir(), "knfleet-stub-hub-"));
  const kubeconfig = join(folder, "kubeconfig");
  const url = `http://127.0.0.1:${port}`;
  const document = {
    "current-context": "hub",
    contexts: [{ name: "hub", context: { cluster: "hub", user: "me", namespace: "team-a" } }],
    clusters: [{ name: "hub", cluster: { server: url } }],
    users: [{ name: "me", user: { token: "none" } }],
  };
  await writeFile(kubeconfig, JSON.stringify(document));
  return {
    url,
    kubeconfig,
    env: { KUBECONFIG: kubeconfig },
    requests,
    connections,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return portOf(server.address());
}

const paths = /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?$/;

/** The objects of the collection that a path is in, or is. */
export function collectionAt(path: string, objects: readonly KubeObject[]): readonly KubeObject[] {
  const [, group = "", namespace, plural = ""] = paths.exec(path) ?? [];
  return objects.filter(({ apiVersion, kind, metadata }) => {
    const resource = tableResource(apiVersion, kind);
    const isKind =
      resource?.plural === plural && apiVersion.split("/").at(-2) === (group || undefined);
    return isKind && (namespace === undefined || metadata.namespace === namespace);
  });
}

function recorded(
  path: string,
  objects: readonly KubeObject[],
): { readonly status?: number; readonly body: unknown } {
  if (path === "/version") return { body: { gitVersion: "v1.36.3" } };
  const [, , , , name] = paths.exec(path) ?? [];
  const found = collectionAt(path, objects);
  if (name === undefined) {
    return {
      body: { kind: "List", apiVersion: "v1", metadata: { resourceVersion: "7" }, items: found },
    };
  }
  const one = found.find(({ metadata }) => metadata.name === name);
  const status = {
    kind: "Status",
    apiVersion: "v1",
    code: 404,
    reason: "NotFound",
    message: "not found",
  };
  return one === undefined ? { status: 404, body: status } : { body: one };
}

/** Writes a kubeconfig for a hub at a port of this machine, and returns the environment that names it. */
export async function environmentFor(
  folder: string,
  port: number,
): Promise<Readonly<Record<string, string>>> {
  const path = join(folder, `hub-${port}`);
  const document = {
    "current-context": "hub",
    contexts: [{ name: "hub", context: { cluster: "hub", user: "me" } }],
    clusters: [{ name: "hub", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "me", user: {} }],
  };
  await writeFile(path, JSON.stringify(document));
  return { KUBECONFIG: path };
}
