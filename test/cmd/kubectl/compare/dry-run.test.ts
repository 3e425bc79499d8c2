import { expect, test } from "vitest";

import { createKubeClient } from "../../../../access/kube/create-kube-client.ts";
import { dryRun, type DryRunDeps } from "../../../../cmd/kubectl/compare/dry-run.ts";
import { startApiStub } from "../../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../../access/loopback.ts";
import { manifestOf, preparedOf } from "../../../controller/apply/prepared.ts";

test.each([
  { message: 'namespaces "knative" not found', kind: "stored" },
  { message: 'admission webhook "a.example.com" denied the request: no', kind: "refused" },
])(
  "a new object that the server answers with 404 and $message is $kind",
  async ({ message, kind }) => {
    const body = JSON.stringify({ kind: "Status", apiVersion: "v1", code: 404, message });
    const api = untilTheEnd(
      await startApiStub({ identity: serverIdentity, answer: () => ({ status: 404, body }) }),
    );
    const target = { client: createKubeClient(requesterTo(api)), fieldManager: "knfleet" };
    const deps: DryRunDeps = Object.assign(Object.create(null), {
      place: { target },
      isScaled: () => false,
    });
    const [object] = preparedOf([manifestOf("v1 ConfigMap knative/config")]);
    if (object === undefined) throw new Error("Nothing was prepared");
    const answer = await dryRun(object, undefined, { deps, signal: AbortSignal.timeout(60_000) });
    expect(answer.kind).toBe(kind);
  },
);
