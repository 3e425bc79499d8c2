import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { type Component, forceOrphanAnnotation, orphaningOf } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { Installation } from "../../../controller/reconcile/installation.ts";
import { reportOrphaned, withOrphanHint } from "../../../controller/uninstall/force-orphan.ts";
import { silentLog } from "../../support/silent-log.ts";

const uid = "5e1d0a3c-1111-2222-3333-444455556666";
const remote = { clusterProfileRef: { namespace: "fleet", name: "a" } };

function componentWith(value?: string, spec: Component["spec"] = remote): Component {
  const annotations: Record<string, string> =
    value === undefined ? {} : { [forceOrphanAnnotation]: value };
  return {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeEventing",
    metadata: {
      namespace: "knative-eventing",
      name: "knative-eventing",
      uid,
      resourceVersion: "1",
      annotations,
    },
    spec,
  };
}

const notOurs = `knfleet.dev/force-orphan is ignored: it is not the uid of this component, ${uid}`;
const onlyRemote =
  "knfleet.dev/force-orphan is ignored: it is only for components with spec.clusterProfileRef";

describe("knfleet.dev/force-orphan", () => {
  test.each([
    ["absent", componentWith(), { kind: "unasked" }],
    ["the uid", componentWith(uid), { kind: "granted" }],
    ["another uid", componentWith("other"), { kind: "refused", message: notOurs }],
    ["nothing", componentWith(""), { kind: "refused", message: notOurs }],
    ["true", componentWith("true"), { kind: "refused", message: notOurs }],
    ["the uid with a blank", componentWith(` ${uid}`), { kind: "refused", message: notOurs }],
    ["the uid, on the hub", componentWith(uid, {}), { kind: "refused", message: onlyRemote }],
  ])("%s", (_, component, expected) => {
    expect(orphaningOf(component)).toEqual(expected);
  });
});

describe("the message of a removal that waits", () => {
  const silent = new FleetError("SpokeUnreachable", "ClusterProfile fleet/a: no answer", {
    code: "Unreachable",
  });

  test("says how to orphan the installation when the cluster cannot be reached", () => {
    const { reason, code, message } = withOrphanHint(silent, componentWith());
    expect({ reason, code }).toEqual({ reason: "SpokeUnreachable", code: "Unreachable" });
    expect(message).toBe(
      "[Unreachable] ClusterProfile fleet/a: no answer; to delete the component and leave everything on its cluster, " +
        `set knfleet.dev/force-orphan=${uid}`,
    );
  });

  test("says why a requested orphaning was refused", () => {
    expect(withOrphanHint(silent, componentWith("other")).message).toBe(
      `[Unreachable] ClusterProfile fleet/a: no answer; ${notOurs}`,
    );
  });

  test("is unchanged when the cluster answers", () => {
    const busy = new FleetError("ClusterBusy", "Waiting for the deletion of ConfigMap a/b");
    expect(withOrphanHint(busy, componentWith())).toBe(busy);
  });

  test("does not offer orphaning on the hub", () => {
    expect(withOrphanHint(silent, componentWith(undefined, {}))).toBe(silent);
  });
});

test("a hanging source of manifests does not delay a controller that stops, and the component stays", async () => {
  const url = "https://manifests.example.com/more.yaml";
  const component = componentWith(uid, { ...remote, additionalManifests: [{ URL: url }] });
  const asked = Promise.withResolvers<string>();
  const told: string[] = [];
  const audit = (_: Component, { reason }: { readonly reason: string }): Promise<void> => {
    told.push(reason);
    return Promise.resolve();
  };
  const deps = {
    releases: await openReleases(join(import.meta.dirname, "../../fixtures/release")),
    rendering: {
      manifestText: (text: string) => {
        asked.resolve(text);
        return new Promise<string>(() => undefined);
      },
    },
    events: { audit, record: audit },
    log: silentLog,
    hubId: "hub",
    spokeNamespace: "Canonical" as const,
  };
  const stop = new AbortController();
  const telling = reportOrphaned(
    { component, installation: new Installation(uid) },
    deps,
    stop.signal,
  );
  expect(await asked.promise).toBe(url);
  stop.abort(new DOMException("The controller stops", "AbortError"));
  await expect(telling).rejects.toThrow("The controller stops");
  expect(told).toEqual([]);
}, 5_000);
