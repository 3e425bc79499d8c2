import { expect, test } from "vitest";

import { kindId, objectId } from "../../../api/keys.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import type { InstallAttempt } from "../../../controller/apply/install-attempt.ts";
import { withAudit, withReadAnchor } from "../../../controller/apply/install-state.ts";
import { InstallationMemory } from "../../../controller/apply/installation-memory.ts";
import { observeAndPlan } from "../../../controller/apply/observe-objects.ts";
import { prepare } from "../../../installation/desired.ts";
import type { ObservedObject } from "../../../installation/observed-object.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { definitionOf, manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";
import { anchorWith } from "./stored-anchor.ts";

const config = manifestOf("v1 ConfigMap knative/config");
const secret = manifestOf("v1 Secret knative/secret");
const job = manifestOf("batch/v1 Job knative/migrate");
const definition = definitionOf("Thing");
const thing = manifestOf("test.dev/v1 Thing knative/thing");

interface Sight {
  /** Kinds of these may not be watched. */
  readonly refused: readonly Manifest[];
  readonly seen?: readonly Manifest[];
  readonly deleting?: readonly Manifest[];
}

/** Names of what an audit of these objects, which were accepted, sends. */
async function audited(
  manifests: readonly Manifest[],
  { refused, seen = [], deleting = [] }: Sight,
): Promise<readonly string[]> {
  const desired = prepare(renderedOf(...manifests));
  const memory = new InstallationMemory();
  const entries = desired.objects.map(({ key, hash }) => ({ ...key, hash, fingerprint: "f" }));
  const anchor = anchorWith({ version: "1.23.0", complete: true, entries });
  memory.become((state) => withAudit(withReadAnchor(state, anchor)));
  const records = [...seen, ...deleting].map((one): [string, ObservedObject] => [
    objectId(keyOf(one)),
    {
      key: keyOf(one),
      uid: "u",
      resourceVersion: "1",
      fingerprint: "f",
      deleting: deleting.includes(one),
    },
  ]);
  const observation = {
    watchKinds: () => undefined,
    watchSingles: () => undefined,
    waitForSync: () => Promise.resolve(),
    objects: () => new Map(records),
    cutShort: () => new Set<string>(),
    refused: () => new Map(refused.map((one) => [kindId(keyOf(one)), "not allowed"])),
  };
  const metadata = { name: "knative", namespace: "knative", uid: "u" };
  const attempt: InstallAttempt = Object.assign(Object.create(null), {
    component: { kind: "KnativeServing", metadata },
    target: { namespace: "knative", hubId: "hub" },
    deps: { clock: new FakeClock(), log: silentLog },
    desired,
    memory,
    observation,
  });
  const { apply, drifted } = await observeAndPlan(attempt, new AbortController().signal);
  // An audit is no repair before something was found to be wrong.
  expect([...drifted]).toEqual([]);
  return apply.map(({ key }) => key.name);
}

test("an audit sends what may not be watched, which nobody else would find to be gone", async () => {
  const refused = [secret];
  expect(await audited([config, secret], { refused, seen: [config] })).toEqual([
    "config",
    "secret",
  ]);
});

test("an audit sends what may not be watched any more, whatever was last seen of it", async () => {
  expect(await audited([secret], { refused: [secret], deleting: [secret] })).toEqual(["secret"]);
});

test("an audit runs no Job again that may not be watched", async () => {
  expect(await audited([job], { refused: [job] })).toEqual([]);
  expect(await audited([job], { refused: [job], seen: [job] })).toEqual([]);
});

test("an audit sends nothing that is being deleted, and no object of a kind that is", async () => {
  expect(await audited([config], { refused: [], deleting: [config] })).toEqual([]);
  const sight = { refused: [thing], deleting: [definition] };
  expect(await audited([definition, thing], sight)).toEqual([]);
});
