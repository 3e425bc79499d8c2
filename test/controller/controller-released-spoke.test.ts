import { expect, test } from "vitest";

import type { KubeClient, WatchEvent } from "../../access/kube/kube-client.ts";
import type { ClusterProfileRef, Component } from "../../api/component.ts";
import { serving } from "../support/component.ts";
import { never, startIdle } from "./idle-controller.ts";

const a = { clusterProfileRef: { namespace: "fleet", name: "a" } };
const b = { clusterProfileRef: { namespace: "fleet", name: "b" } };

/** A component of a name, for a cluster. */
function component(name: string, spec: Component["spec"], resourceVersion = "1"): Component {
  const metadata = { namespace: name, uid: name, resourceVersion };
  return serving({ metadata, ...(spec && { spec }) });
}

test("a spoke is released when its last component is deleted, or another component has its name", async () => {
  const [one, two] = [component("one", a), component("two", a)];
  const events: readonly WatchEvent[] = [
    { type: "ADDED", object: one },
    { type: "ADDED", object: two },
    { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true },
    { type: "MODIFIED", object: component("one", a, "2") },
    { type: "DELETED", object: one },
    { type: "MODIFIED", object: component("two", b, "3") },
    { type: "DELETED", object: component("two", b, "4") },
  ];
  async function* watch(
    ...[{ resource }, , signal]: Parameters<KubeClient["watch"]>
  ): AsyncGenerator<WatchEvent> {
    yield* resource.kind === "KnativeServing" ? events : events.slice(2, 3);
    await never(signal);
  }
  const released: ClusterProfileRef[] = [];
  await startIdle({ watch, onRelease: (ref) => void released.push(ref) });
  await expect.poll(() => released).toEqual([a.clusterProfileRef, b.clusterProfileRef]);
});
