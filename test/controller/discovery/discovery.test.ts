import { expect, onTestFinished, test } from "vitest";

import type { KubeClient, WatchEvent } from "../../../access/kube/kube-client.ts";
import type { CheckEndpoint } from "../../../access/profiles/check-endpoint.ts";
import { abortable } from "../../../access/time/deadline.ts";
import { clusterProfileApiVersion } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
import { Discovery } from "../../../controller/discovery/discovery.ts";
import { managers } from "../../../controller/discovery/source.ts";
import { bareClient } from "../../support/bare-client.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { keptLines } from "../../support/kept-lines.ts";

/** A profile that `register` made. */
const registered = {
  apiVersion: clusterProfileApiVersion,
  kind: "ClusterProfile",
  metadata: { namespace: "fleet", name: "eu-1", uid: "1", resourceVersion: "1" },
  spec: { clusterManager: { name: managers.registered } },
  status: { accessProviders: [{ name: "a", cluster: { server: "https://eu-1" } }] },
};

async function* watchOfOne(signal: AbortSignal): AsyncGenerator<WatchEvent> {
  yield { type: "ADDED", object: registered };
  yield { type: "BOOKMARK", resourceVersion: "1", initialEventsEnd: true };
  await abortable(new Promise<never>(() => undefined), signal);
}

const watch: KubeClient["watch"] = (_ref, _options, signal) => watchOfOne(signal);

/** What discovery logs above `info` when the check of a registered cluster throws. */
async function linesAfter(failure: Error): Promise<readonly string[]> {
  const clock = new FakeClock();
  const { log, lines } = keptLines();
  const check: CheckEndpoint = () => Promise.reject(failure);
  const discovery = new Discovery(
    {
      hub: bareClient({ watch }),
      check,
      clock,
      log,
      random: () => 0.5,
      isUsed: () => false,
      events: { record: async () => undefined },
      settings: {
        producers: ["registered"],
        namespace: "",
        sourceNamespaces: [],
        selector: "",
        kubeconfigLabel: "",
        kubeconfigKey: "",
      },
    },
    new AbortController().signal,
  );
  onTestFinished(() => discovery[Symbol.asyncDispose]());
  await clock.advance(1_000);
  return lines.filter((line) => !line.startsWith("info"));
}

test("a failure of the hub is a warning about a profile", async () => {
  const error = new FleetError("ClusterProfileUnavailable", "The hub is away");
  expect(await linesAfter(error)).toEqual(["warn: Could not write a discovered ClusterProfile"]);
});

test("a bug of this program is an error, and not a failure of the hub", async () => {
  expect(await linesAfter(new TypeError("x is undefined"))).toEqual(["error: Internal error"]);
});
