import { expect, test } from "vitest";

import { componentWorkName, managedClusterOf } from "../../../api/delivery.ts";
import { serving } from "../../support/component.ts";
import { hubThatPulls, pulled, record } from "./pull-hub.ts";

const workName = componentWorkName(serving());
const annotations = { ...record, "knfleet.dev/delivery": "Push" };

/** One attempt for a component that was pulled and is to be pushed again, on a hub that does not reach the spoke. */
async function handedBack(work?: object) {
  const { requests, storeWork, attempt } = hubThatPulls();
  storeWork("knfleet-agent");
  if (work !== undefined) storeWork(workName, work);
  const finalizers = ["knativeservings.operator.knative.dev"];
  const stored = await attempt(pulled({ annotations, finalizers }));
  return { requests, stored };
}

test("the spoke is told to let go, and its works stay while nothing was taken over", async () => {
  const { requests, stored } = await handedBack({});
  expect(requests).toEqual([`patch ${workName}`]);
  expect(stored && managedClusterOf(stored)).toBe("spoke-1");
});

test.each([
  { name: "is gone", work: undefined },
  { name: "is going", work: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
])("nothing is written into a work that $name", async ({ work }) => {
  const { requests, stored } = await handedBack(work);
  expect(requests).toEqual([]);
  expect(stored && managedClusterOf(stored)).toBe("spoke-1");
});
