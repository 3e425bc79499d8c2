import { FleetError } from "../../api/errors.ts";
import type { ConnectTimes } from "../http/connect-times.ts";
import { codeOf } from "../http/connection-failure.ts";
import {
  epochMs,
  type OpenSpan,
  PathTraces,
  type SpanAttributes,
  type SpanParent,
  type StepName,
  type Times,
} from "./path-traces.ts";
import type { ResolvedAccess } from "./resolved-access.ts";

/** Traces what one connection to a spoke does: each attempt to connect, and the plugins and connections of later. */
export class AttemptTrace {
  readonly #traces: PathTraces;
  readonly #attributes: SpanAttributes;
  readonly #plugin: string;
  readonly #opening: StepName;
  readonly #hasTls: boolean;
  #attempt: OpenSpan | undefined;
  /** When the last step of the attempt ended: the request begins there. */
  #readyMs = 0;

  constructor(access: ResolvedAccess, traces: PathTraces = new PathTraces()) {
    this.#traces = traces;
    this.#attributes = spokeAttributes(access.profile, access.provider);
    this.#plugin = access.plan.command;
    this.#opening = access.endpoint.proxy === undefined ? "spoke.tcp" : "spoke.tunnel";
    this.#hasTls = access.endpoint.server.startsWith("https:");
  }

  /** An attempt from here until the work ends. `resolved` is when its access was, if it is the first one with it. */
  async attempt(work: () => Promise<void>, resolved?: Times): Promise<void> {
    const before = resolved && this.#resolved(resolved);
    const attempt = this.#traces.begin("spoke.attempt", this.#attributes, before);
    this.#attempt = attempt;
    try {
      await work();
      attempt.end();
    } catch (error) {
      attempt.end(failureCode(error));
      throw error;
    } finally {
      this.#attempt = undefined;
    }
  }

  async plugin<Result>(work: () => Promise<Result>): Promise<Result> {
    const attributes = { ...this.#attributes, "knfleet.plugin": this.#plugin };
    const span = this.#traces.begin("spoke.plugin", attributes, this.#attempt);
    try {
      const result = await work();
      span.end();
      return result;
    } catch (error) {
      span.end(failureCode(error));
      throw error;
    } finally {
      this.#readyMs = epochMs();
    }
  }

  connected({ startMs, connectedMs, endMs, code }: ConnectTimes): void {
    const failure = code === undefined ? {} : { code };
    const attributes = this.#attributes;
    const record = (name: StepName, times: Times, end: object): void =>
      void this.#traces.record({ name, attributes, ...times, ...end }, this.#attempt);
    this.#readyMs = endMs;
    if (connectedMs === undefined || !this.#hasTls) {
      record(this.#opening, { startMs, endMs }, failure);
      return;
    }
    record(this.#opening, { startMs, endMs: connectedMs }, {});
    record("spoke.tls", { startMs: connectedMs, endMs }, failure);
  }

  /** The first request of an attempt; what came before it is not counted. */
  async request(work: () => Promise<{ readonly status: number }>): Promise<{ status: number }> {
    const startMs = epochMs();
    const record = (attributes: SpanAttributes, code?: string) => {
      if (this.#attempt === undefined) return;
      this.#traces.record(
        {
          name: "spoke.request",
          attributes: { ...this.#attributes, ...attributes },
          startMs: Math.max(startMs, this.#readyMs),
          endMs: epochMs(),
          ...(code === undefined ? {} : { code }),
        },
        this.#attempt,
      );
    };
    try {
      const answer = await work();
      record({ "http.response.status_code": answer.status });
      return answer;
    } catch (error) {
      // Without a credential nothing was sent.
      if (isSent(error)) record({}, failureCode(error));
      throw error;
    }
  }

  #resolved(times: Times): SpanParent {
    return this.#traces.record({ name: "spoke.resolve", attributes: this.#attributes, ...times });
  }
}

/** What every step says of its spoke. */
export function spokeAttributes(
  profile: { readonly namespace: string; readonly name: string },
  provider?: string,
): SpanAttributes {
  const spoke = `${profile.namespace}/${profile.name}`;
  return {
    "knfleet.clusterprofile": spoke,
    ...(provider === undefined ? {} : { "knfleet.provider": provider }),
  };
}

/** A word of ours or of Node's for a failure: messages may hold foreign text. */
export function failureCode(error: unknown): string {
  if (error instanceof FleetError) return error.code ?? error.reason;
  const code = codeOf(error);
  return code === "" ? "Unknown" : code;
}

function isSent(error: unknown): boolean {
  return !(error instanceof FleetError) || error.code === "CredentialRejected";
}
