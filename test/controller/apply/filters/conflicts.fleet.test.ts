import { expect, test } from "vitest";

import { keyOf } from "../../../../api/kubernetes.ts";
import { componentUidLabel } from "../../../../installation/anchor.ts";
import { useSpokes } from "../../../fleet/use-fleet.ts";
import { waitFor } from "../../../fleet/wait-for.ts";
import { eventing, openInstaller } from "../installer.ts";
import { manifestOf } from "../prepared.ts";
import { renderedOf } from "../small-set.ts";

const fleet = useSpokes([{ kwok: false }]);

test("who replaces a whole object by one without our label is named, too", async () => {
  const spoke = fleet().spoke(0);
  const namespace = "replaced";
  await using opened = await openInstaller(spoke, { component: eventing({}, { namespace }) });
  const { installer } = opened;
  const config = manifestOf(`v1 ConfigMap ${namespace}/one`, { data: { a: "ours" } });
  const rendered = renderedOf(config);
  await installer.install({ rendered });
  await installer.observation.waitForSync(AbortSignal.timeout(60_000));
  const path = `/api/v1/namespaces/${namespace}/configmaps/one?fieldManager=argocd-controller`;
  const round = async () => {
    const seen = installer.changes.length;
    await spoke.admin.request("PUT", path, { ...config, data: { a: "theirs" } });
    await waitFor("that to be seen", () => Promise.resolve(installer.changes.length > seen));
    return installer.install({ rendered });
  };
  for (const rounds of [1, 2]) {
    const { repaired, conflicts } = await round();
    expect([rounds, repaired.length, conflicts]).toEqual([rounds, 1, []]);
  }
  const { conflicts } = await round();
  expect(conflicts).toMatchObject([
    {
      key: keyOf(config),
      managers: [{ manager: "argocd-controller", fields: expect.arrayContaining(["data.a"]) }],
    },
  ]);
  const labels = (await spoke.admin.get(keyOf(config)))?.metadata.labels;
  expect(labels).toHaveProperty([componentUidLabel]);
});
