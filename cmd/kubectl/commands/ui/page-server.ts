import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Follower } from "../../../../access/time/deadline.ts";
import { Semaphore } from "../../../../access/time/semaphore.ts";
import type { ActionInput, CommandEntry } from "../../action.ts";
import { messageOf, UsageError } from "../../errors.ts";
import type { PageFleet, PageState } from "../../page/fleet-state.ts";
import { pageScript, pageStyle } from "../../page/page-code.ts";
import { pageIcon, servedPage } from "../../page/page-html.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import { type Tool, toolsFor } from "../../tools/tools.ts";
import { answerApi } from "./api.ts";
import { Door } from "./door.ts";
import { Places } from "./places.ts";

interface ServerOptions {
  /** Those that only read answer the page. */
  readonly commands: readonly CommandEntry[];
  /** 0: a free one. */
  readonly port: number;
  /** The input of the command, with which the commands of the API run. */
  readonly input: ActionInput<object>;
  readonly access: ClusterAccess;
  readonly fleet: PageFleet;
}

/** The running server. Its disposal ends all connections. */
export interface PageServer extends AsyncDisposable {
  /** Opens the page. */
  readonly url: string;
}

// More reads wait for their turn.
const readsAtOnce = 4;
const limits = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  maxHeaderSize: 16_384,
  // How often Node looks for requests that take too long; every 30 s unless told.
  connectionsCheckingInterval: 1_000,
};
const maxConnections = 64;
const heartbeatMs = 15_000;

/** Serves the page on 127.0.0.1, and on ::1 where there is such an address. Throws UsageError when the port is taken. */
export async function servePage(options: ServerOptions, signal: AbortSignal): Promise<PageServer> {
  await using ending = new AsyncDisposableStack();
  const first = await listen("127.0.0.1", options.port).catch((error: unknown) => {
    throw new UsageError(`Port ${options.port} cannot be used: ${messageOf(error)}`, [
      "Name another one with --port, or none.",
    ]);
  });
  ending.defer(() => end(first));
  const { port } = addressOf(first);
  // The address that is printed is the other one: a computer without ::1 is served as well.
  const second = await listen("::1", port).catch(() => undefined);
  if (second !== undefined) ending.defer(() => end(second));
  const door = new Door(port, new Set(Object.keys(files)));
  // What the hub alone knows does not wait behind clusters that do not answer.
  const turns = { hub: new Semaphore(readsAtOnce), clusters: new Semaphore(readsAtOnce) };
  const tools = toolsFor(options.commands, options.input.flags);
  const places = new Places(maxConnections);
  for (const server of [first, second]) {
    server?.on("connection", (socket) => places.take(socket));
    server?.on("request", (request, response) => {
      void answer({ request, response }, { ...options, door, places, tools, turns, signal }).catch(
        () => {
          // The browser went away, or the command ends.
          response.destroy();
        },
      );
    });
  }
  const running = ending.move();
  return {
    url: `http://127.0.0.1:${port}${door.entrance}`,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function listen(host: string, port: number): Promise<Server> {
  const server = createServer(limits);
  server.listen({ host, port, exclusive: true });
  await once(server, "listening");
  return server;
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port");
  return address;
}

async function end(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, "close");
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

interface Serving extends ServerOptions {
  readonly door: Door;
  readonly places: Places;
  readonly tools: readonly Tool[];
  readonly turns: Readonly<Record<"hub" | "clusters", Semaphore>>;
  readonly signal: AbortSignal;
}

const plain = "text/plain; charset=utf-8";
const html = "text/html; charset=utf-8";
const json = "application/json; charset=utf-8";

const icon = { type: "image/svg+xml", text: pageIcon };

/** What the page is made of, by path. It holds no data, and is for everybody on this computer. */
const files: Readonly<Record<string, { readonly type: string; readonly text: string }>> = {
  "/": { type: html, text: servedPage },
  "/icon.svg": icon,
  // What a browser asks for where no page names an icon: on a document of the API.
  "/favicon.ico": icon,
  "/page.js": { type: "text/javascript; charset=utf-8", text: pageScript },
  "/page.css": { type: "text/css; charset=utf-8", text: pageStyle },
};

async function answer({ request, response }: Exchange, serving: Serving): Promise<void> {
  const { method, url, headers } = request;
  const { host, origin, authorization } = headers;
  const verdict = serving.door.check({ method, url, host, origin, authorization });
  if (verdict.kind === "refused") {
    if (verdict.status === 405) response.setHeader("Allow", "GET");
    send(response, { status: verdict.status, type: plain, text: `${verdict.text}.\n` });
    return;
  }
  if (verdict.isOwner) serving.places.keep(request.socket);
  await answerPath({ request, response }, verdict, serving);
}

interface Asked {
  readonly path: string;
  readonly query: URLSearchParams;
}

async function answerPath(
  { request, response }: Exchange,
  { path, query }: Asked,
  { fleet, input, access, tools, turns, signal }: Serving,
): Promise<void> {
  const file = Object.hasOwn(files, path) ? files[path] : undefined;
  if (file !== undefined) {
    send(response, { status: 200, ...file });
    return;
  }
  const name = /^\/api\/v1\/([a-z]+)$/.exec(path)?.[1];
  if (name === undefined) {
    send(response, { status: 404, type: plain, text: "There is no such page.\n" });
  } else if (name === "stream") {
    stream({ request, response }, fleet);
  } else if (name === "status" && query.size === 0) {
    send(response, { status: 200, type: json, text: fleet.documentText() });
  } else if (name === "sets" && query.size === 0) {
    send(response, { status: 200, type: json, text: fleet.setsText() });
  } else {
    using asked = new Follower(signal);
    response.once("close", () => asked.abort());
    const isOfHub = name === "clusters" || query.get("live") === "false";
    using _turn = await turns[isOfHub ? "hub" : "clusters"].enter(asked.signal);
    const api = { server: input, access, tools, signal: asked.signal };
    const { status, text } = await answerApi(name, query, api);
    send(response, { status, type: json, text });
  }
}

interface Page {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

function send(response: ServerResponse, { status, type, text }: Page): void {
  response.writeHead(status, {
    ...safeHeaders,
    "Content-Type": type,
    "Content-Security-Policy": policy,
  });
  response.end(text);
}

const safeHeaders = {
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** Sends how fresh the fleet is, now and after each change, until the browser goes away. */
function stream({ request, response }: Exchange, fleet: PageFleet): void {
  response.writeHead(200, {
    ...safeHeaders,
    "Content-Type": "text/event-stream",
    "Content-Security-Policy": policy,
  });
  const tell = (state: PageState): void => {
    // A browser that does not read gets the next one.
    if (!response.writableNeedDrain) response.write(`data: ${JSON.stringify(state)}\n\n`);
  };
  tell(fleet.state());
  const stop = fleet.listen(tell);
  const beat = setInterval(() => response.write(":\n\n"), heartbeatMs);
  request.once("close", () => {
    clearInterval(beat);
    stop();
  });
}
