import { setAnnotations, setLabels, type VerifySpec } from "../../../api/fleet-set.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { ask } from "../../../controller/verify/ask.ts";
import { checksOf } from "../../../sets/verify.ts";
import { apiError } from "../../support/api-error.ts";
import { bareClient } from "../../support/bare-client.ts";
import { MemoryHub } from "../../support/memory-hub.ts";
import { about } from "./about.ts";

const { signal } = new AbortController();
export const anchor = "knativeserving-prod-a-root-owner";
export const container = { name: "smoke", image: "example.com/smoke:1", args: ["--all"] };
/** The answer to a user without a right, such as `get pods/log`. */
export const forbidden = (right: string) => {
  const [verb, resource] = right.split(" ");
  const text = `User "u" cannot ${verb} resource "${resource}" in API group ""`;
  return apiError(403, "Forbidden", `forbidden: ${text} in the namespace "knative-serving"`);
};

/** A check `smoke` with a Job. */
export function specOf(image = container.image): Required<Pick<VerifySpec, "checks">> {
  const template = {
    spec: { containers: [{ ...container, image }], restartPolicy: "Never" },
  } as const;
  const job = { activeDeadlineSeconds: 60, backoffLimit: 0, template };
  return { checks: [{ name: "smoke", noData: "Fail", job }] };
}

/** A cluster with the anchor of the component, and what its API server denies. */
export class Spoke extends MemoryHub {
  readonly denied = new Map<string, Error>();
  lines: readonly string[] = [];
  client = bareClient({
    get: this.get,
    create: async (...args) => this.#unless("create", () => this.create(...args)),
    list: async (ref, ...rest) =>
      this.#unless(`list ${ref.resource.plural}`, () => this.list(ref, ...rest)),
    remove: this.remove,
    logs: (ref) => this.#logs(ref.tailLines ?? Infinity),
  });

  constructor(componentUid = "component-uid") {
    super();
    const annotations = { "operator.knative.dev/cr-uid": componentUid };
    this.edit("ConfigMap", anchor, { metadata: { name: anchor, uid: "anchor-uid", annotations } });
  }

  async #unless<T>(what: string, otherwise: () => Promise<T>): Promise<T> {
    const error = this.denied.get(what);
    if (error !== undefined) throw error;
    return await otherwise();
  }

  async *#logs(tail: number): AsyncGenerator<string> {
    const error = this.denied.get("logs");
    if (error !== undefined) throw error;
    for (const line of this.lines.slice(-tail)) yield `2026-11-30T12:00:00Z ${line}`;
  }

  jobs(): readonly KubeObject[] {
    return this.all("Job");
  }

  /** The one Job that there is. */
  job(): KubeObject {
    const [job, ...others] = this.jobs();
    if (job === undefined || others.length > 0) throw new Error("There is not one Job");
    return job;
  }

  /** What the Job controller says of a Job, and the pod that it leaves. */
  ends(type: "Complete" | "Failed", reason = "BackoffLimitExceeded", exitCode = 3): void {
    const { name, uid } = this.job().metadata;
    this.edit("Job", name, { status: { conditions: [{ type, status: "True", reason }] } });
    const state = { terminated: { exitCode } };
    const owner = { apiVersion: "batch/v1", kind: "Job", name, uid };
    this.edit("Pod", "smoke-pod", {
      metadata: { name: "smoke-pod", namespace: "knative-serving", ownerReferences: [owner] },
      status: { containerStatuses: [{ name: "smoke", state }] },
    });
  }
}

interface Asked {
  readonly stamp?: string;
  readonly revision?: string;
  readonly retriedAt?: string;
  readonly setUid?: string;
}

/** A process that asks the check of a spec, and one that only looks. */
export function asks(
  spoke: Spoke,
  spec = specOf(),
  { stamp = "12:00", revision = "1", ...rest }: Asked = {},
) {
  const base = about("fleet/a", spec);
  const { metadata } = base.component;
  const annotations = { ...metadata.annotations, [setAnnotations.updatedAt]: stamp };
  const labels = { [setLabels.revision]: revision };
  const component = { ...base.component, metadata: { ...metadata, annotations, labels } };
  const verification = { ...base, component, ...rest };
  const [check] = checksOf(spec);
  if (check === undefined) throw new Error("The spec has a check");
  const process = (mayRun: boolean) => {
    const jobs = { ...verification, seen: {}, mayRun };
    return () => ask(check, verification, { clientOf: async () => spoke.client, jobs }, signal);
  };
  return { asked: process(true), looked: process(false) };
}
