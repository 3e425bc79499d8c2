import type { Manifest } from "../../../api/kubernetes.ts";
import { type Applied, apply, type ApplyDeps } from "../../../controller/apply/apply.ts";
import { gateObjects } from "../../../installation/gates.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { manifestOf, preparedOf } from "./prepared.ts";
import type { Server } from "./scripted-server.ts";

export const busy = { status: 503 };

/** Begins an apply whose time and server a test rules. */
export function start(
  manifests: readonly Manifest[],
  server: Server,
  extra: Partial<ApplyDeps> = {},
) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const usual = { requests: server, clock, installNamespace: "knative", random: () => 0 };
  const deps: ApplyDeps = { ...usual, ...extra };
  const result = apply(gateObjects(preparedOf(manifests)), deps, stop.signal);
  result.catch(() => undefined);
  return { result, clock, stop };
}

export function configs(...names: string[]): readonly Manifest[] {
  return names.map((name) => manifestOf(`v1 ConfigMap knative/${name}`));
}

export function namesOf({ applied, parked, failed }: Applied) {
  const troubles = {
    parked: parked.map(({ key }) => key.name),
    failed: failed.map(({ key }) => key.name),
  };
  return { applied: applied.map(({ name }) => name), ...troubles };
}
