import { randomBytes } from "node:crypto";

import { FleetError } from "../../api/errors.ts";
import { nameId } from "../../api/keys.ts";
import type { NamespacedName } from "../../api/kubernetes.ts";
import type { ConnectTimes, Times } from "../http/connector.ts";
import { codeOf } from "../kube/api-error.ts";
import type { Clock } from "../time/clock.ts";
import type { ResolvedAccess } from "./resolved-access.ts";

/** A finished step on the way to a spoke. Holds no secret and no foreign text. */
export interface PathStep extends Times {
  readonly name: StepName;
  /** `namespace/name` of the ClusterProfile. */
  readonly spoke: string;
  /** The steps of one attempt share this id. */
  readonly attempt: string;
  /** Code of the failure; absent when the step succeeded. */
  readonly code?: string;
}

/**
 * `spoke.resolve`: from profile and provider file to an access plan. `spoke.attempt`: all later steps, until the server answered. `spoke.plugin`: a run of
 * the plugin or built-in reader. `spoke.tcp`, or `spoke.tunnel` through a proxy: the connection to the server. `spoke.tls`: the handshake on the connection.
 * `spoke.request`: the first request on the connection.
 */
type StepName = `spoke.${"resolve" | "attempt" | "plugin" | "tcp" | "tls" | "tunnel" | "request"}`;

/** Called with each finished step. */
export type StepObserver = (step: PathStep) => void;

interface StepDeps {
  readonly clock: Pick<Clock, "now">;
  readonly onStep?: StepObserver;
}

/** Reports the steps of one connection to a spoke: those of each attempt to connect, and later runs of the plugin and reconnects. */
export class AttemptSteps {
  readonly #clock: Pick<Clock, "now">;
  readonly #report: (name: StepName, times: Times, error?: { readonly code: string }) => void;
  readonly #opening: StepName;
  readonly #hasTls: boolean;
  /** Id of the running attempt. */
  #attempt: string | undefined;
  /** When the last step of the attempt ended, and the request began. */
  #readyMs = 0;

  constructor(access: ResolvedAccess, { clock, onStep }: StepDeps) {
    this.#clock = clock;
    const spoke = nameId(access.profile);
    this.#report = (name, { startMs, endMs }, error) =>
      onStep?.({ name, spoke, attempt: this.#attempt ?? newAttempt(), startMs, endMs, ...error });
    this.#opening = access.endpoint.proxy === undefined ? "spoke.tcp" : "spoke.tunnel";
    this.#hasTls = access.endpoint.server.startsWith("https:");
  }

  /** Runs and reports one attempt. `resolved`: the times of the resolve step, for the first attempt after it. */
  async measureAttempt(work: () => Promise<void>, resolved?: Times): Promise<void> {
    this.#attempt = newAttempt();
    if (resolved !== undefined) this.#report("spoke.resolve", resolved);
    try {
      await this.#measure("spoke.attempt", work);
    } finally {
      this.#attempt = undefined;
    }
  }

  async measurePlugin<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#measure("spoke.plugin", work);
    } finally {
      this.#readyMs = this.#clock.now();
    }
  }

  reportConnection({ startMs, connectedMs, endMs, code }: ConnectTimes): void {
    const failure = code === undefined ? undefined : { code };
    this.#readyMs = endMs;
    if (connectedMs === undefined || !this.#hasTls) {
      this.#report(this.#opening, { startMs, endMs }, failure);
      return;
    }
    this.#report(this.#opening, { startMs, endMs: connectedMs });
    this.#report("spoke.tls", { startMs: connectedMs, endMs }, failure);
  }

  /** Runs the first request of an attempt, and reports it without the steps before it. */
  async measureRequest(
    work: () => Promise<{ readonly status: number }>,
  ): Promise<{ status: number }> {
    const startedMs = this.#clock.now();
    const report = (error?: { readonly code: string }): void => {
      if (this.#attempt === undefined) return;
      const startMs = Math.max(startedMs, this.#readyMs);
      this.#report("spoke.request", { startMs, endMs: this.#clock.now() }, error);
    };
    try {
      const answer = await work();
      report();
      return answer;
    } catch (error) {
      // Without a credential no request was sent.
      if (isSent(error)) report({ code: failureCode(error) });
      throw error;
    }
  }

  async #measure<Result>(name: StepName, work: () => Promise<Result>): Promise<Result> {
    const startMs = this.#clock.now();
    try {
      const result = await work();
      this.#report(name, { startMs, endMs: this.#clock.now() });
      return result;
    } catch (error) {
      const code = failureCode(error);
      this.#report(name, { startMs, endMs: this.#clock.now() }, { code });
      throw error;
    }
  }
}

/** The resolve step of a ClusterProfile without access. No attempt follows. */
export function failedResolve(ref: NamespacedName, times: Times, error: unknown): PathStep {
  const spoke = nameId(ref);
  const code = failureCode(error);
  return { name: "spoke.resolve", spoke, attempt: newAttempt(), ...times, code };
}

function newAttempt(): string {
  return randomBytes(8).toString("hex");
}

/** Our or Node's code of a failure. Messages are not used, because they may hold foreign text. */
function failureCode(error: unknown): string {
  if (error instanceof FleetError) return error.code ?? error.reason;
  const code = codeOf(error);
  return code === "" ? "Unknown" : code;
}

function isSent(error: unknown): boolean {
  return !(error instanceof FleetError) || error.code === "CredentialRejected";
}
