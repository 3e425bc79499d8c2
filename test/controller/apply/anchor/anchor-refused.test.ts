import { describe, expect, test } from "vitest";

import { createKubeClient } from "../../../../access/kube/create-kube-client.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import {
  readAnchor,
  type Anchor,
  writeAnchor,
} from "../../../../controller/apply/anchor/anchor.ts";
import { fleetErrorOf } from "../../../../controller/status/outcome.ts";
import { anchorManifest } from "../../../../installation/anchor-object.ts";
import type { Inventory } from "../../../../installation/inventory.ts";
import { startApiStub, type StubAnswer } from "../../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../../access/loopback.ts";
import { serving } from "../../../support/component.ts";

const signal = AbortSignal.timeout(600_000);
const component = serving({ metadata: { uid: "component-uid" } });
const profile = { namespace: "fleet", name: "spoke-1" };
const { namespace } = component.metadata;
const ours = { namespace, hubId: "hub-a", fieldManager: "knfleet-hub-a", profile };
const inventory: Inventory = { version: "1.23.0", complete: false, entries: [] };

/** The anchor as it stands. */
function stored(): Manifest {
  const manifest = anchorManifest({ component, target: ours }, "{}");
  return { ...manifest, metadata: { ...manifest.metadata, uid: "u", resourceVersion: "7" } };
}

interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly causes?: readonly object[];
}

/** Writes the anchor on a cluster that refuses it, and says as what that is shown and how often it was tried. */
async function refused(
  { code, causes, ...rest }: Refusal,
  { exists }: { readonly exists: boolean },
): Promise<{ readonly error: unknown; readonly writes: number }> {
  const details = causes === undefined ? {} : { details: { causes } };
  const refusal = JSON.stringify({ kind: "Status", code, ...rest, ...details });
  const absent = JSON.stringify({ kind: "Status", code: 404, reason: "NotFound" });
  const api = untilTheEnd(
    await startApiStub({
      identity: serverIdentity,
      answer: ({ method }): StubAnswer => {
        if (method !== "GET") return { status: code, body: refusal };
        return exists ? { body: JSON.stringify(stored()) } : { status: 404, body: absent };
      },
    }),
  );
  const target = { ...ours, client: createKubeClient(requesterTo(api)) };
  const before: Anchor | undefined = await readAnchor(component, target, signal);
  const error: unknown = await writeAnchor({ component, target, before }, inventory, signal).then(
    () => undefined,
    (caught: unknown) => fleetErrorOf(caught, "The hub"),
  );
  return { error, writes: api.requests.filter(({ method }) => method !== "GET").length };
}

const policy = "ValidatingAdmissionPolicy 'only-ci' with binding 'only-ci' denied request: no";
const denied = { code: 422, reason: "Invalid", message: `configmaps "x" is forbidden: ${policy}` };
const uidCause = { reason: "FieldValueInvalid", field: "metadata.uid", message: "immutable" };

describe.each([{ exists: true }, { exists: false }])(
  "an anchor (there already: $exists)",
  (scene) => {
    test.each<Refusal & { readonly what: string; readonly says: string }>([
      {
        what: "a policy",
        ...denied,
        causes: [{ message: policy }],
        says: ": the ValidatingAdmissionPolicy only-ci denies it",
      },
      {
        what: "a policy that says Conflict",
        ...denied,
        code: 409,
        reason: "Conflict",
        says: ": the ValidatingAdmissionPolicy only-ci denies it",
      },
      {
        what: "a webhook",
        code: 422,
        reason: "",
        message: 'admission webhook "a.b" denied the request: no',
        says: ": the admission webhook a.b denies it",
      },
      {
        what: "its size",
        code: 422,
        reason: "Invalid",
        message: 'ConfigMap "x" is invalid: []: Too long: may not be more than 1048576 bytes',
        causes: [{ reason: "FieldValueTooLong", field: "[]", message: "Too long" }],
        says: ": it is larger than the cluster can store",
      },
    ])("that is refused because of $what says so, and is tried once", async (refusal) => {
      const { what: _, says, ...rest } = refusal;
      const { error, writes } = await refused(rest, scene);
      expect(error).toMatchObject({
        reason: "ApplyFailed",
        message: expect.stringMatching(new RegExp(` was answered ${rest.code} ?\\w*${says}$`)),
      });
      expect(writes).toBe(1);
    });
  },
);

test.each<Refusal & { readonly what: string }>([
  { what: "of another version", code: 409, reason: "Conflict", message: "modified" },
  {
    what: "another one",
    code: 422,
    reason: "Invalid",
    message: "uid differs",
    causes: [uidCause],
  },
  { what: "not as a patch tests it", code: 422, reason: "Invalid", message: "the test failed" },
])("an anchor that is $what by now is tried again, and told as busy", async (refusal) => {
  const { what: _, ...rest } = refusal;
  const { error, writes } = await refused(rest, { exists: true });
  expect(error).toMatchObject({ reason: "ClusterBusy" });
  expect(writes).toBe(3);
});
