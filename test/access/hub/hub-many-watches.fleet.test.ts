import { expect, onTestFinished, test, vi } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import { Reflector } from "../../../access/kube/reflector.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { knownResource } from "../../../api/resources.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { rethrow } from "../../support/rethrow.ts";

const fleet = useFleet({ spokes: 0 });
const resource = knownResource("v1", "ConfigMap");
const namespace = "default";

function soon(): AbortSignal {
  return AbortSignal.timeout(60_000);
}

test("ninety watches run at once, and requests beside them", async () => {
  await using hub = await connectHub({
    clock: systemClock,
    kubeconfig: fleet().hub.adminKubeconfigPath,
    environment: {},
    userAgent: "knfleet-watches-test/0",
  });
  const { client } = hub;
  const seen: string[] = [];
  const reflectors = Array.from(
    { length: 90 },
    (_, index) =>
      new Reflector(
        { clock: systemClock, client, ref: { resource, namespace } },
        {
          onChange: ({ metadata }) => {
            if (metadata.name === "seen-by-all") seen.push(String(index));
          },
          onDelete: () => undefined,
          onBug: rethrow,
        },
        soon(),
      ),
  );
  onTestFinished(() => {
    for (const reflector of reflectors) reflector[Symbol.dispose]();
  });
  await Promise.all(reflectors.map(({ synced }) => synced));
  await Promise.all(
    Array.from({ length: 60 }, () =>
      client.get({ resource, namespace, name: "absent" }, {}, soon()),
    ),
  );
  const body = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: "seen-by-all" },
  };
  await client.create({ resource, namespace }, body, {}, soon());
  await vi.waitFor(() => expect(new Set(seen).size).toBe(90), { timeout: 60_000, interval: 50 });
});
