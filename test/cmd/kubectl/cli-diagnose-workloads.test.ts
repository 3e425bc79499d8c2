import { describe, expect, test } from "vitest";

import { setAnnotations } from "../../../api/fleet-set.ts";
import type { Condition } from "../../../api/kubernetes.ts";
import { component } from "./fleet-facts.ts";
import { reviews } from "./reviews.ts";
import { runText } from "./run-text.ts";
import { type Answer, startStubHub } from "./stub-hub.ts";
import { answersTriggers, trigger } from "./user-triggers.ts";

const changedAt = "2026-11-21T11:00:00Z";
const triggers = [
  trigger("orders", "True", "2026-11-21T11:30:00Z"),
  trigger("mails", "False", "2026-11-21T11:30:00Z"),
  trigger("bills", "False", "2026-11-21T10:30:00Z"),
];

const isMe = reviews(() => true);

interface Scene {
  readonly ready?: Partial<Condition>;
  readonly stampedAt?: string;
  readonly kind?: "KnativeServing" | "KnativeEventing";
  readonly answer?: Answer;
}

/** The step about workloads of a diagnosis of an installation on the hub itself, and the whole diagnosis. */
async function diagnosed({
  ready = {},
  stampedAt,
  kind = "KnativeEventing",
  answer = answersTriggers(triggers),
}: Scene = {}) {
  const found = component({
    kind,
    cluster: null,
    ready: { lastTransitionTime: changedAt, ...ready },
  });
  const stamp = stampedAt === undefined ? [] : [[setAnnotations.updatedAt, stampedAt]];
  const annotations: Readonly<Record<string, string>> = Object.fromEntries(stamp);
  const installed = { ...found, metadata: { ...found.metadata, annotations } };
  await using hub = await startStubHub([installed], (request) => isMe(request) ?? answer(request));
  const line = ["diagnose", kind, "-n", "team-a", "--spoke-timeout", "60s", "-o", "json"];
  const { stdout } = await runText(line, { env: hub.env });
  const [item] = JSON.parse(stdout).items;
  const hops: readonly { readonly id: string }[] = item.hops;
  return { item, hop: hops.find(({ id }) => id === "workloads") };
}

describe("diagnose after a change", () => {
  test("names what broke since then as a warning, and never as the cause of what is wrong with Knative", async () => {
    const { hop, item } = await diagnosed();
    expect(hop).toMatchObject({
      state: "WARN",
      code: "KNF6017",
      message: `1 of 3 workloads broke since ${changedAt}: Trigger shop/mails`,
      findings: [
        {
          severity: "warning",
          evidence: [
            "Trigger shop/mails: BrokerMissing: The Broker default of mails does not exist",
          ],
          next: [
            expect.stringContaining(
              "workloads knativeeventing/knative-eventing -n team-a --broken",
            ),
          ],
        },
      ],
    });
    // The hub of this test has no Deployment.
    expect(item.rootCause.code).toBe("KNF6009");
  });

  test("counts from the stamp of its set, when it has one", async () => {
    const { hop } = await diagnosed({ stampedAt: "2026-11-21T10:15:00Z" });
    expect(hop).toMatchObject({
      message:
        "2 of 3 workloads broke since 2026-11-21T10:15:00Z: Trigger shop/mails, Trigger shop/bills",
    });
  });

  test("counts only what needs the component", async () => {
    const { hop } = await diagnosed({ kind: "KnativeServing" });
    expect(hop).toMatchObject({ state: "OK", message: `none of 0 broke since ${changedAt}` });
  });

  test("skips the step where a right is missing", async () => {
    const { hop } = await diagnosed({ answer: answersTriggers(undefined) });
    expect(hop).toMatchObject({
      state: "SKIPPED",
      message: expect.stringContaining("not all could be read: The right to list triggers"),
    });
  });

  test("asks nothing of a component that is not ready, or was changed longer ago than a day", async () => {
    expect((await diagnosed({ ready: { status: "False" } })).hop).toBeUndefined();
    const longAgo = { lastTransitionTime: "2026-11-20T11:59:59Z" };
    expect((await diagnosed({ ready: longAgo })).hop).toBeUndefined();
  });
});
