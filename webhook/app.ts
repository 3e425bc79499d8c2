import express, { type Express, type Request, type RequestHandler, type Response } from "express";

import type { Log } from "../access/log.ts";
import type { Clock } from "../access/time/clock.ts";
import { abortable, Follower, withTimeout } from "../access/time/deadline.ts";
import { goDurationMs } from "../api/go-duration.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { Metrics, ReviewResult } from "./metrics.ts";
import { replyTo, type Review } from "./reply.ts";

export interface AppDeps {
  readonly clock: Clock;
  /** The review for each path, for example `/validate/components`. */
  readonly reviews: Readonly<Record<string, Review>>;
  readonly metrics: Metrics;
  readonly budget: ByteBudget;
  readonly log: Log;
  /** What is not ready yet; empty when reviews are answered. */
  readonly waitingFor: () => readonly string[];
  /** True while clients should close their connections. */
  readonly draining: () => boolean;
}

/** Largest body of a review. Security: T-70. */
const maxBodyBytes = 3 * 1024 * 1024;

/**
 * The HTTP side of the webhook: POST with JSON on the paths of `reviews`, and GET on `/healthz` and `/readyz`. Answers 404, 405,
 * 413, 415 and 400 as security.md T-70 and T-71 say, never with a stack trace.
 */
export function createApp(deps: AppDeps): Express {
  const app = express();
  app.disable("x-powered-by");
  app.disable("etag");
  app.use((_request, response, next) => {
    if (deps.draining()) response.set("connection", "close");
    next();
  });
  for (const [path, review] of Object.entries(deps.reviews)) {
    app.post(path, reviewHandler(path, review, deps));
    app.all(path, (_request, response) => {
      sendText(response.set("allow", "POST"), 405, "method not allowed: want POST");
    });
  }
  addHealth(app, deps);
  app.use((_request, response) => sendText(response, 404, "not found"));
  app.use(onError(deps));
  return app;
}

/** `/healthz`: 200 while the process answers. `/readyz`: 503 with what is missing. The health address has them, too. */
function addHealth(app: Express, { waitingFor }: Pick<AppDeps, "waitingFor">): void {
  app.get("/healthz", (_request, response) => sendText(response, 200, "ok"));
  app.get("/readyz", (_request, response) => {
    const missing = waitingFor();
    if (missing.length === 0) sendText(response, 200, "ok");
    else sendText(response, 503, missing.map((what) => `waiting for ${what}`).join("\n"));
  });
}

function reviewHandler(path: string, review: Review, deps: AppDeps): RequestHandler {
  const readBody = express.raw({ type: () => true, limit: maxBodyBytes, inflate: false });
  return async (request, response) => {
    const { clock } = deps;
    const startedAt = clock.now();
    const ended = deps.metrics.began(path);
    let result: ReviewResult = "unanswered";
    const deadlineMs = deadlineMsOf(request.query["timeout"]);
    const deadline = withTimeout(clock, deadlineMs, undefined);
    const early = withTimeout(clock, deadlineMs / 2, deadline);
    try {
      const refusal = headerProblem(request);
      if (refusal !== undefined) {
        sendText(response, ...refusal);
        return;
      }
      const arriving = arrivalSignal(response, deadline);
      using room = await deps.budget.take(lengthOf(request), arriving);
      const body = await bodyOf(readBody, { request, response }, arriving);
      room.arrived();
      const reply = await replyTo(body, { ...deps, path, review, early }, deadline);
      ({ result } = reply);
      if ("review" in reply) response.json(reply.review);
      else sendText(response, reply.status, reply.text);
    } finally {
      ended(result, (clock.now() - startedAt) / 1_000);
    }
  };
}

/** The client closed the connection before its body arrived. No one reads the answer. */
class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
  readonly status = 400;
}

/** Aborted at the deadline, or when the client closes the connection: such a client must keep neither a place in the queue nor room for its body. */
function arrivalSignal(response: Response, deadline: AbortSignal): AbortSignal {
  const arrival = new Follower(deadline);
  response.once("close", () => arrival.abort(new ClientGoneError("The client is gone")));
  return arrival.signal;
}

function headerProblem(request: Request): readonly [number, string] | undefined {
  if (request.is("application/json") === false) {
    return [415, "unsupported content type: want application/json"];
  }
  const length = Number(request.headers["content-length"] ?? 0);
  if (length > maxBodyBytes) return [413, `larger than ${maxBodyBytes} bytes`];
  return undefined;
}

/** Size of the body: the announced one, or the largest allowed. */
function lengthOf({ headers }: Request): number {
  return Number(headers["content-length"] ?? maxBodyBytes);
}

interface Reading {
  readonly request: Request;
  readonly response: Response;
}

async function bodyOf(
  read: RequestHandler,
  { request, response }: Reading,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  void read(request, response, (error?: unknown) => {
    if (error === undefined) resolve();
    else reject(error);
  });
  await abortable(promise, signal);
  const { body }: { readonly body?: unknown } = request;
  return body instanceof Uint8Array ? body : new Uint8Array();
}

/** The last handler of errors. Their messages go to the log and never to the client. */
function onError({ log }: Pick<AppDeps, "log">): express.ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    const status = statusOf(error);
    if (status >= 500) log.warn({ err: error }, "A request failed");
    if (response.headersSent) next(error);
    // Without this Node would go on collecting the body, outside the budget.
    else if (status === 503) sendText(response.set("connection", "close"), status, busy);
    else sendText(response, status, textsByStatus[status] ?? "bad request");
  };
}

const textsByStatus: Readonly<Record<number, string>> = {
  413: `larger than ${maxBodyBytes} bytes`,
  415: "unsupported content encoding or character set",
  500: "internal error",
};
const busy = "too busy to read the review in time";

function statusOf(error: unknown): number {
  if (error instanceof DOMException && error.name === "TimeoutError") return 503;
  if (!(error instanceof Error) || !("status" in error)) return 500;
  const { status } = error;
  return typeof status === "number" && status >= 400 && status < 500 ? status : 500;
}

function sendText(response: Response, status: number, text: string): void {
  response.status(status).type("text/plain").send(`${text}\n`);
}

const defaultMs = 10_000;
const marginMs = 500;
const leastMs = 100;
const mostMs = 30_000;
// Longer than any duration that Go writes. The length is checked before the pattern, because of F9.
const maxLength = 32;

/**
 * Milliseconds in which a review has to be answered: the `timeout` that the API server sends (`5s`, or `873.094211ms` when less than a second is left
 * of its own), less half a second for the way back. Without one, or with one that cannot be read, that of the API's default of 10 s. Security: T-74.
 */
export function deadlineMsOf(timeout: unknown): number {
  const wantedMs =
    typeof timeout === "string" && timeout.length <= maxLength ? goDurationMs(timeout) : undefined;
  return Math.min(mostMs, Math.max(leastMs, (wantedMs ?? defaultMs) - marginMs));
}
