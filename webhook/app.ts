import express, { type Express, type Request, type RequestHandler, type Response } from "express";

import type { Log } from "../access/log.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { deadlineMsOf } from "./deadline.ts";
import type { Metrics, ReviewResult } from "./metrics.ts";
import { replyTo, type Review } from "./reply.ts";

export interface AppDeps {
  /** What decides, by path, for example `/validate/components`. */
  readonly reviews: Readonly<Record<string, Review>>;
  readonly metrics: Metrics;
  readonly budget: ByteBudget;
  readonly log: Log;
  /** Names of what is not ready yet; empty when reviews are answered. */
  readonly waitingFor: () => readonly string[];
  /** True while connections are to be given up by their clients. */
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
      plain(response.set("allow", "POST"), 405, "method not allowed: want POST");
    });
  }
  addHealth(app, deps);
  app.use((_request, response) => plain(response, 404, "not found"));
  app.use(onError(deps));
  return app;
}

/** `/healthz`: 200 while the process answers. `/readyz`: 503 with what is missing. The health address has them, too. */
function addHealth(app: Express, { waitingFor }: Pick<AppDeps, "waitingFor">): void {
  app.get("/healthz", (_request, response) => plain(response, 200, "ok"));
  app.get("/readyz", (_request, response) => {
    const missing = waitingFor();
    if (missing.length === 0) plain(response, 200, "ok");
    else plain(response, 503, missing.map((what) => `waiting for ${what}`).join("\n"));
  });
}

function reviewHandler(path: string, review: Review, deps: AppDeps): RequestHandler {
  const readBody = express.raw({ type: () => true, limit: maxBodyBytes, inflate: false });
  return async (request, response) => {
    const startedAt = performance.now();
    const ended = deps.metrics.began(path);
    let result: ReviewResult = "unanswered";
    const signal = AbortSignal.timeout(deadlineMsOf(request.query["timeout"]));
    try {
      const refusal = headerProblem(request);
      if (refusal !== undefined) {
        plain(response, ...refusal);
        return;
      }
      const body = await bodyWithin(readBody, { request, response, budget: deps.budget }, signal);
      const reply = await replyTo(body, { ...deps, path, review }, signal);
      ({ result } = reply);
      if ("review" in reply) response.json(reply.review);
      else plain(response, reply.status, reply.text);
    } finally {
      ended(result, (performance.now() - startedAt) / 1_000);
    }
  };
}

function headerProblem(request: Request): readonly [number, string] | undefined {
  if (request.is("application/json") === false) {
    return [415, "unsupported content type: want application/json"];
  }
  const length = Number(request.headers["content-length"] ?? 0);
  if (length > maxBodyBytes) return [413, `larger than ${maxBodyBytes} bytes`];
  return undefined;
}

interface Reading {
  readonly request: Request;
  readonly response: Response;
  readonly budget: ByteBudget;
}

/** The body, read only when there is room for it; the room is given back when the answer is out. */
async function bodyWithin(
  read: RequestHandler,
  { request, response, budget }: Reading,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const length = Number(request.headers["content-length"] ?? maxBodyBytes);
  const giveBack = await budget.take(length, signal);
  response.once("close", giveBack);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const late = () => reject(signal.reason);
  signal.addEventListener("abort", late, { once: true });
  void read(request, response, (error?: unknown) => {
    if (error === undefined) resolve();
    else reject(error);
  });
  await promise.finally(() => signal.removeEventListener("abort", late));
  const { body }: { readonly body?: unknown } = request;
  return body instanceof Uint8Array ? body : new Uint8Array();
}

/** Express passes errors on here; what they say stays in the log. */
function onError({ log }: Pick<AppDeps, "log">): express.ErrorRequestHandler {
  // oxlint-disable-next-line max-params -- express knows a handler of errors by its four parameters
  return (error: unknown, _request, response, next) => {
    const status = statusOf(error);
    if (status >= 500) log.warn({ err: error }, "A request failed");
    if (response.headersSent) next(error);
    else plain(response, status, textsByStatus[status] ?? "bad request");
  };
}

const textsByStatus: Readonly<Record<number, string>> = {
  413: `larger than ${maxBodyBytes} bytes`,
  415: "unsupported content encoding or character set",
  500: "internal error",
  503: "too busy to read the review in time",
};

function statusOf(error: unknown): number {
  if (error instanceof DOMException && error.name === "TimeoutError") return 503;
  if (!(error instanceof Error) || !("status" in error)) return 500;
  const { status } = error;
  return typeof status === "number" && status >= 400 && status < 500 ? status : 500;
}

function plain(response: Response, status: number, text: string): void {
  response.status(status).type("text/plain").send(`${text}\n`);
}
