import { expect, test } from "vitest";

import { ApiError } from "../../access/kube/api-error.ts";
import { objectId } from "../../api/keys.ts";
import { keyOf, type KubeObject, type OwnerReference } from "../../api/kubernetes.ts";
import { secondOwnerKey } from "../../installation/anchor.ts";
import { stillShown, withDismissed } from "../../installation/strays.ts";
import type { StubAnswer } from "../access/api-stub.ts";
import { component, json, refusal } from "../controller/apply/bare-spoke.ts";
import { manifestOf } from "../controller/apply/prepared.ts";
import { renderedOf } from "../controller/apply/small-set.ts";
import {
  entryOf,
  liveOf,
  type Own,
  standingInstaller,
} from "../controller/apply/standing-spoke.ts";

const { namespace } = component.metadata;
const own: Own = { fieldsV1: { "f:data": {} }, time: "2026-01-01T00:00:00Z" };
const role = "rbac.authorization.k8s.io/v1 ClusterRole";
const wanted = [manifestOf(`v1 ConfigMap ${namespace}/wanted`), manifestOf(`${role} wanted`)];
const extra = manifestOf(`v1 ConfigMap ${namespace}/extra`);
const late = liveOf(extra, own);
const path = `/api/v1/namespaces/${namespace}/configmaps/extra`;

interface Found {
  /** What is on the cluster though neither the inventory nor what is wanted names it. */
  readonly stray: KubeObject;
  readonly onDelete?: () => StubAnswer;
}

/** An installer that finds a stray object, and what it asks of it. */
async function installerWith({ stray, onDelete = () => json({ kind: "Status" }) }: Found) {
  const asked: string[] = [];
  const strayPath = stray.kind === "ConfigMap" ? path : `/${stray.metadata.name}`;
  const all = [...wanted.map((one) => liveOf(one, own)), stray];
  const of = (kind: string) => all.filter((one) => one.kind === kind);
  const { attempt, api } = await standingInstaller({
    entries: wanted.map((one) => entryOf(one, own)),
    objects: { configmaps: of("ConfigMap"), clusterroles: of("ClusterRole") },
    answer: (request) => {
      if (!request.path.endsWith(strayPath)) return undefined;
      asked.push(`${request.method} ${JSON.parse(request.body || "{}").preconditions?.uid ?? ""}`);
      return request.method === "DELETE" ? onDelete() : json(stray);
    },
  });
  const rendered = renderedOf(...wanted);
  return {
    asked,
    // Watches are opened behind the install.
    requests: () => api.requests.filter((one) => !one.path.includes("watch=true")).length,
    install: (deps: Parameters<typeof attempt>[0] = {}) => attempt({ rendered, ...deps }),
  };
}

const theirs = new Map([[objectId(keyOf(extra)), "Another's"]]);

function controlledBy(uid: string): KubeObject {
  const owner: OwnerReference = { apiVersion: "v1", kind: "Any", name: "a", uid, controller: true };
  return { ...late, metadata: { ...late.metadata, ownerReferences: [owner] } };
}

test.each([
  { by: "nobody", stray: late },
  { by: "our anchor", stray: controlledBy("uid-of-root") },
])(
  "an object of ours that nobody wants and no inventory names goes where $by controls it, and then nothing more is asked",
  async ({ stray }) => {
    const { asked, install, requests } = await installerWith({ stray });
    expect(await install()).toMatchObject({ applied: [], pruned: [keyOf(extra)], failed: [] });
    expect(asked).toEqual(["GET ", "DELETE uid-extra"]);
    const before = requests();
    expect(await install()).toMatchObject({ applied: [], pruned: [] });
    expect(requests()).toBe(before);
  },
);

test("such an object stays where something else controls it, and is looked at once", async () => {
  const { asked, install, requests } = await installerWith({ stray: controlledBy("another") });
  expect(await install()).toMatchObject({ pruned: [], failed: [], lingering: [] });
  expect(asked).toEqual(["GET "]);
  const before = requests();
  await install();
  expect(requests()).toBe(before);
});

test("such an object stays where another component has it", async () => {
  const { asked, install } = await installerWith({ stray: late });
  expect(await install({ holders: () => Promise.resolve(theirs) })).toMatchObject({
    pruned: [],
    failed: [],
    lingering: [],
  });
  expect(asked).toEqual([]);
});

test("such an object is waited for, and the rest of the work counts, where it is not told who has it", async () => {
  const { asked, install } = await installerWith({ stray: late });
  const request = "GET /api/v1/configmaps";
  const facts = { status: 500, reason: "", message: "", causes: [], isStatus: true, request };
  const changes = await install({ holders: () => Promise.reject(new ApiError(facts)) });
  const message = `Not wanted any more, but whether another component has it is not known: ${request} was answered 500`;
  expect(changes).toMatchObject({
    pruned: [],
    failed: [],
    lingering: [{ key: keyOf(extra), message }],
  });
  expect(asked).toEqual([]);
  expect(await install()).toMatchObject({ pruned: [keyOf(extra)], lingering: [] });
});

test("such an object that cannot go for now is waited for, and goes later", async () => {
  let isBusy = true;
  const onDelete = () => (isBusy ? refusal(500, "InternalError") : json({ kind: "Status" }));
  const { install } = await installerWith({ stray: late, onDelete });
  expect(await install()).toMatchObject({ pruned: [], lingering: [{ key: keyOf(extra) }] });
  isBusy = false;
  expect(await install()).toMatchObject({ pruned: [keyOf(extra)], lingering: [] });
});

test("what was dismissed and comes back after it was gone is looked at again", () => {
  const records = new Map([["a", { uid: "one" }]]);
  const dismissed = stillShown(withDismissed(new Map(), records), records);
  expect(dismissed).toEqual(new Map([["a", "one"]]));
  expect(stillShown(dismissed, new Map())).toEqual(new Map());
});

test.each([
  {
    what: "has our label, but no field of ours",
    stray: { ...late, metadata: { ...late.metadata, managedFields: [] } },
  },
  {
    what: "is being deleted",
    stray: { ...late, metadata: { ...late.metadata, deletionTimestamp: own.time } },
  },
  {
    what: "is the second owner",
    stray: liveOf(manifestOf(`${role} ${secondOwnerKey(component).name}`), own),
  },
])("an object that $what is left alone, and nothing is asked of it", async ({ stray }) => {
  const { asked, install } = await installerWith({ stray });
  expect(await install()).toMatchObject({ applied: [], pruned: [], failed: [], lingering: [] });
  expect(asked).toEqual([]);
});
