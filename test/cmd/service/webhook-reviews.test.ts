import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import { readWebhookFlags } from "../../../cmd/service/webhook-flags.ts";
import { openReviews } from "../../../cmd/service/webhook-reviews.ts";
import { anchorAnnotations } from "../../../installation/anchor.ts";
import type { AdmissionRequest } from "../../../webhook/reviews/review.ts";
import { MemorySpoke } from "../../controller/guard/memory-spoke.ts";
import { silentLog } from "../../support/silent-log.ts";
import { anchorRequest } from "../../webhook/anchor-request.ts";
import { written } from "../../webhook/component-stage.ts";

const otherHub = "0d8b0b0e-6a9e-4f0e-9d4b-1f3f5b7c9a11";

/** The request of a user who makes an anchor of a hub. */
function creation(username: string, hubId: string): AdmissionRequest {
  const annotations = { [anchorAnnotations.protected]: "true", [anchorAnnotations.hubId]: hubId };
  const object = { metadata: { name: "anchor", annotations } };
  return anchorRequest(username, { operation: "CREATE", object, oldObject: undefined });
}

test("every user that the flags name for a hub may make its anchors, and no other user", async () => {
  const cluster = new MemorySpoke("");
  const thisHub = "7a1c9a34-52a3-4c8f-8a0b-5b1b9a0d2f11";
  cluster.objects.edit("Namespace", "kube-system", {
    metadata: { name: "kube-system", uid: thisHub },
  });
  const guards = [`${otherHub}=a`, `${thisHub}=d`, `${otherHub}=b`];
  const args = ["--guard-only", "--controller-user=c", ...guards.map((one) => `--guard=${one}`)];
  const flags = readWebhookFlags(args, "1.2.3");
  if (!("guard" in flags)) throw new Error(flags.text);
  const hub = { client: cluster.clientOf("webhook") };
  const surroundings = { hub, namespace: "knfleet-system", environment: {}, log: silentLog };
  const signal = AbortSignal.timeout(10_000);
  await using opened = await openReviews(flags, surroundings, signal);
  const { "/validate/anchor": review } = opened.reviews;
  if (review === undefined) throw new Error("Nobody answers about anchors");
  const letIn = async (hubId: string) => {
    const users = ["a", "b", "c", "d", "e"];
    const answers = await Promise.all(users.map((user) => review(creation(user, hubId), signal)));
    return users.filter((_, at) => answers[at]?.violations.length === 0);
  };
  expect(await letIn(otherHub)).toEqual(["a", "b"]);
  expect(await letIn(thisHub)).toEqual(["c", "d"]);
});

/** A folder that is removed at the end. */
async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), "knfleet-reviews-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test("releases are read before the first review, and reviews are ready after that", async () => {
  await using folder = await temporaryFolder();
  const releaseDir = join(folder.path, "release");
  await cp(resolve(import.meta.dirname, "../../fixtures/release"), releaseDir, { recursive: true });
  const flags = readWebhookFlags([`--release-dir=${releaseDir}`], "1.2.3");
  if (!("guard" in flags)) throw new Error(flags.text);
  const hub = { client: new MemorySpoke("").clientOf("webhook") };
  const surroundings = { hub, namespace: "knfleet-system", environment: {}, log: silentLog };
  const signal = AbortSignal.timeout(20_000);
  await using opened = await openReviews(flags, surroundings, signal);
  expect(opened.waitingFor()).toEqual(["the releases, which are being read"]);
  await expect.poll(() => opened.waitingFor(), { timeout: 10_000 }).toEqual([]);
  // What is read only now is missed.
  await rm(releaseDir, { recursive: true });
  const { "/validate/components": review } = opened.reviews;
  if (review === undefined) throw new Error("Nobody answers about components");
  const refusals = async (kind: string, spec: object): Promise<readonly string[]> => {
    const { violations } = await review(written(spec, { kind }), signal);
    return violations.map(({ message }) => message);
  };
  const ingress = { istio: { enabled: false }, kourier: { enabled: true } };
  expect(await refusals("KnativeServing", { ingress })).toEqual([]);
  expect(await refusals("KnativeEventing", {})).toEqual([]);
  expect(await refusals("KnativeServing", { ingress, version: "1.22" })).not.toEqual([]);
});

test.each([
  { flags: [], reviewed: true },
  { flags: ["--companion-of=upstream"], reviewed: false },
  { flags: ["--guard-only"], reviewed: false },
])("fleet sets are reviewed with $flags: $reviewed", async ({ flags: given, reviewed }) => {
  const flags = readWebhookFlags(["--release-dir=", ...given], "1.2.3");
  if (!("guard" in flags)) throw new Error(flags.text);
  const hub = { client: new MemorySpoke("").clientOf("webhook") };
  const surroundings = { hub, namespace: "knfleet-system", environment: {}, log: silentLog };
  await using opened = await openReviews(flags, surroundings, AbortSignal.timeout(20_000));
  expect(Object.hasOwn(opened.reviews, "/validate/sets")).toBe(reviewed);
});
