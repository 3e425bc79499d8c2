import type { ResourceType } from "../../api/resources.ts";
import type { StoredObject } from "./object-store.ts";

/** What goes back to the caller; a function in place of a body writes a watch. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error as an API server says it. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly object[];

  constructor(
    { status, reason }: { readonly status: number; readonly reason: string },
    message: string,
    causes: readonly object[] = [],
  ) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.causes = causes;
  }

  get answer(): Answer {
    const { status: code, reason, message, causes } = this;
    const details = causes.length === 0 ? {} : { details: { causes } };
    const body = { ...statusHead, status: "Failure", message, reason, code, ...details };
    return { status: code, body, ...(code === 429 ? { headers: { "retry-after": "1" } } : {}) };
  }
}

const statusHead = { kind: "Status", apiVersion: "v1", metadata: {} } as const;

export const notFound = (what: string): StatusError =>
  new StatusError({ status: 404, reason: "NotFound" }, `${what} not found`);

export const conflict = (message: string, reason = "Conflict"): StatusError =>
  new StatusError({ status: 409, reason }, message);

export const invalid = (message: string): StatusError =>
  new StatusError({ status: 422, reason: "Invalid" }, message);

/** Who asks for a kind that is not served gets no Status. */
export class UnknownPath extends StatusError {
  constructor() {
    super({ status: 404, reason: "NotFound" }, "404 page not found");
  }

  override get answer(): Answer {
    return { status: this.status, body: `${this.message}\n` };
  }
}

export const expired = (): StatusError =>
  new StatusError({ status: 410, reason: "Expired" }, "too old resource version");

/** The answer for what an answer threw. */
export function failureOf(error: unknown): Answer {
  if (error instanceof StatusError) return error.answer;
  const reason = "InternalError";
  return new StatusError({ status: 500, reason }, `The simulator has a bug: ${String(error)}`)
    .answer;
}

export const success = { ...statusHead, status: "Success" } as const;

/** Whole objects, or what is left of them when only metadata was asked for. */
export type Shape = "whole" | "metadata";

/** How a request wants its objects, as its `Accept` says. */
export function shapeOf(accept: string | undefined): Shape {
  return accept?.includes("as=PartialObjectMetadata") === true ? "metadata" : "whole";
}

/** An object as the caller gets it. */
export function shown(stored: StoredObject, shape: Shape): object {
  const { digest: _, ...object } = stored;
  if (shape === "whole") return object;
  const head = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };
  return { ...head, metadata: object.metadata };
}

/** A list as the caller gets it. */
export function listOf(
  objects: readonly StoredObject[],
  {
    shape,
    kind,
    version,
  }: { readonly shape: Shape; readonly kind: ResourceType; readonly version: number },
): object {
  const head =
    shape === "metadata"
      ? { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" }
      : { kind: `${kind.kind}List`, apiVersion: kind.apiVersion };
  const metadata = { resourceVersion: String(version) };
  // A server that was asked for metadata says that there is none in another way than with a list of none.
  const isNothing = shape === "metadata" && objects.length === 0;
  const items = isNothing ? null : objects.map((object) => shown(object, shape));
  return { ...head, metadata, items };
}

/** A bookmark of a watch; one ends the initial list. */
export function bookmarkOf(kind: ResourceType, version: number, endsList: boolean): object {
  const annotations = endsList ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
  const { apiVersion } = kind;
  const metadata = { resourceVersion: String(version), creationTimestamp: null, ...annotations };
  return { type: "BOOKMARK", object: { kind: kind.kind, apiVersion, metadata } };
}
