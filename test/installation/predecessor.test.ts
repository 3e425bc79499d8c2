import { describe, expect, test } from "vitest";

import { deliveryAnnotation, pulledAnnotations } from "../../api/delivery.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import { isHandedBack, predecessorOf } from "../../installation/predecessor.ts";
import { serving } from "../controller/apply/installer.ts";

const { hubId, hubComponentUid } = pulledAnnotations;
const profile = { namespace: "fleet", name: "spoke-1" };
const onHub = {
  component: serving({}, { uid: "hub-uid" }),
  target: { profile, namespace: "knative-serving", hubId: "hub" },
};
const onSpoke = {
  component: serving(
    {},
    { uid: "spoke-uid", annotations: { [hubId]: "hub", [hubComponentUid]: "hub-uid" } },
  ),
  target: { namespace: "knative-serving", hubId: "spoke" },
};
const made = (by: string, uid: string) => ({
  [anchorAnnotations.hubId]: by,
  [anchorAnnotations.componentUid]: uid,
});
const pushed = made("hub", "hub-uid");
const pulled = { ...made("spoke", "spoke-uid"), [hubId]: "hub", [hubComponentUid]: "hub-uid" };
const known = { hubId: "spoke", componentUid: "spoke-uid" };

const cases: readonly {
  readonly name: string;
  readonly owner: typeof onHub | typeof onSpoke;
  readonly annotations: Readonly<Record<string, string>>;
  readonly predecessor: object | undefined;
}[] = [
  {
    name: "on a spoke, the hub that sent the component",
    owner: onSpoke,
    annotations: pushed,
    predecessor: { hubId: "hub", componentUid: "hub-uid", hasLetGo: true },
  },
  { name: "on a spoke, not itself", owner: onSpoke, annotations: pulled, predecessor: undefined },
  {
    name: "on a spoke, not another hub",
    owner: onSpoke,
    annotations: made("other", "hub-uid"),
    predecessor: undefined,
  },
  {
    name: "on a spoke, not another component of the hub",
    owner: onSpoke,
    annotations: made("hub", "other"),
    predecessor: undefined,
  },
  {
    name: "on a spoke, not upstream's operator, which names no hub",
    owner: onSpoke,
    annotations: { [anchorAnnotations.componentUid]: "hub-uid" },
    predecessor: undefined,
  },
  {
    name: "on a spoke, nobody for a component that no work brought",
    owner: { ...onSpoke, component: serving({}, { uid: "spoke-uid" }) },
    annotations: pushed,
    predecessor: undefined,
  },
  {
    name: "on the hub, the controller of the spoke, which still works",
    owner: onHub,
    annotations: pulled,
    predecessor: { ...known, hasLetGo: false },
  },
  {
    name: "on the hub, the controller of the spoke, which has let go",
    owner: onHub,
    annotations: { ...pulled, [anchorAnnotations.letGo]: "true" },
    predecessor: { ...known, hasLetGo: true },
  },
  { name: "on the hub, not itself", owner: onHub, annotations: pushed, predecessor: undefined },
  {
    name: "on the hub, not what another hub pulled",
    owner: onHub,
    annotations: { ...pulled, [hubId]: "other" },
    predecessor: undefined,
  },
  {
    name: "on the hub, not what another component of it pulled",
    owner: onHub,
    annotations: { ...pulled, [hubComponentUid]: "other" },
    predecessor: undefined,
  },
];

describe("the predecessor of a controller is", () => {
  test.each(cases)("$name", ({ owner, annotations, predecessor }) => {
    expect(
      predecessorOf(
        { metadata: { name: "root", uid: "r", resourceVersion: "1", annotations } },
        owner,
      ),
    ).toEqual(predecessor);
  });
});

test.each([
  [{}, false],
  [{ [hubComponentUid]: "hub-uid" }, false],
  [{ [hubComponentUid]: "hub-uid", [deliveryAnnotation]: "Pull" }, false],
  [{ [hubComponentUid]: "hub-uid", [deliveryAnnotation]: "Push" }, true],
  // On the hub itself the annotation says how the component is delivered.
  [{ [deliveryAnnotation]: "Push" }, false],
])("a component with the annotations %j is handed back: %s", (annotations, expected) => {
  expect(isHandedBack(serving({}, { uid: "u", annotations }))).toBe(expected);
});
