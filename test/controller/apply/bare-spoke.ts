import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { InstallDeps } from "../../../controller/apply/install-attempt.ts";
import { install } from "../../../controller/apply/install.ts";
import { InstallationMemory } from "../../../controller/apply/installation-memory.ts";
import { observe } from "../../../controller/observe/observe.ts";
import { Preparations } from "../../../installation/desired.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import { startApiStub, type StubAnswer, type StubRequest } from "../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../access/loopback.ts";
import { serving } from "../../support/component.ts";
import { connectionTo } from "../../support/connection-to.ts";
import { silentLog } from "../../support/silent-log.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";

const signal = AbortSignal.timeout(600_000);

/** What is installed on a bare spoke, as something that was installed before. */
export const component = serving({ status: { version: "1.23.0" } });
const { namespace, uid } = component.metadata;
const rendered = renderedOf(manifestOf(`v1 ConfigMap ${namespace}/a`));

/** Where the anchors of the component are. */
export const roots = `/api/v1/namespaces/${namespace}/configmaps`;

export function json(body: object, status = 200): StubAnswer {
  return { status, body: JSON.stringify(body) };
}

export function refusal(code: number, reason: string): StubAnswer {
  return json({ kind: "Status", apiVersion: "v1", code, reason, message: "no" }, code);
}

/** A spoke that has the component's namespace and nothing in it, and that refuses whatever `answer` leaves unanswered. */
function bareSpoke(answer: (request: StubRequest) => StubAnswer | undefined) {
  return (request: StubRequest): StubAnswer => answer(request) ?? otherwise(request);
}

function otherwise({ method, path }: StubRequest): StubAnswer {
  const metadata = { name: namespace, uid: "n", resourceVersion: "1" };
  if (method === "DELETE") return json({ kind: "List", metadata: {}, items: [] });
  if (method !== "GET") return refusal(403, "Forbidden");
  if (path.includes("watch=true")) return watched();
  if (path === `/api/v1/namespaces/${namespace}`) {
    return json({ apiVersion: "v1", kind: "Namespace", metadata });
  }
  if (path.startsWith(`${roots}/`)) return refusal(404, "NotFound");
  return json({ kind: "List", metadata: { resourceVersion: "1" }, items: [] });
}

/** An empty list, and nothing after it. */
function watched(): StubAnswer {
  const annotations = { "k8s.io/initial-events-end": "true" };
  const object = { metadata: { resourceVersion: "1", annotations } };
  return { body: `${JSON.stringify({ type: "BOOKMARK", object })}\n`, open: true };
}

interface Options extends Partial<InstallDeps> {
  /** Default: one ConfigMap. */
  readonly rendered?: Rendered;
  /** The set of the component has not stamped what is rendered. Default false. */
  readonly isHeld?: boolean;
}

/** An installer with a bare spoke, and with the memory of one process. */
export async function bareInstaller(answer: (request: StubRequest) => StubAnswer | undefined) {
  const api = untilTheEnd(
    await startApiStub({ identity: serverIdentity, answer: bareSpoke(answer) }),
  );
  const client = createKubeClient(requesterTo(api));
  const fieldManager = "knfleet-hub-a";
  const profile = { namespace: "fleet", name: "spoke-1" };
  const target = { client, namespace, fieldManager, hubId: "hub-a", profile };
  const { watches } = connectionTo(target);
  const options = { client, watches, componentUid: uid, log: silentLog };
  const observation = untilTheEnd(
    observe({ clock: systemClock, ...options, onChange: () => undefined }),
  );
  const memory = new InstallationMemory();
  const preparations = new Preparations();
  const attempt = ({ rendered: set = rendered, isHeld = false, ...deps }: Options = {}) =>
    install(
      { component, rendered: set, target, observation, memory, isHeld },
      { log: silentLog, clock: systemClock, preparations, ...deps },
      signal,
    );
  return { api, target, attempt };
}
