import { expect, test } from "vitest";

import { objectId } from "../../../../api/keys.ts";
import { type Manifest } from "../../../../api/kubernetes.ts";
import { ownPlan, withoutOthers } from "../../../../controller/apply/filters/shared-objects.ts";
import type { RecordedAttempt, InstallDeps } from "../../../../controller/apply/install-attempt.ts";
import { InstallationMemory } from "../../../../controller/apply/installation-memory.ts";
import { prepare } from "../../../../installation/desired.ts";
import { planObjects } from "../../../../installation/plan.ts";
import { manifestOf } from "../prepared.ts";
import { renderedOf } from "../small-set.ts";

const { signal } = new AbortController();
const words = "Belongs to the installation of KnativeServing serving/knative-serving";
const group = "apiextensions.k8s.io/v1";
const definition = manifestOf(`${group} CustomResourceDefinition things.example.com`);
const role = manifestOf("rbac.authorization.k8s.io/v1 ClusterRole shared");

/** The work of an installed component on some objects, of which others have those that `holders` says. */
function workOn(manifests: readonly Manifest[], holders: InstallDeps["holders"]): RecordedAttempt {
  const desired = prepare(renderedOf(...manifests));
  const facts = { desired, memory: new InstallationMemory(), isNewcomer: false };
  return Object.assign(Object.create(null), { ...facts, deps: { holders } });
}

test("a definition that is fought over is left to nobody, as several components may need it", async () => {
  const attempt = workOn([definition, role], ({ open, fought }) =>
    Promise.resolve(new Map([...open, ...fought].map((id) => [id, words]))),
  );
  const { objects } = attempt.desired;
  const whole = planObjects(objects, { inventory: undefined, observed: new Map() });
  const { plan, left } = await ownPlan({ plan: whole, fought: objects }, attempt, signal);
  expect(left.map(({ key }) => key.kind)).toEqual(["ClusterRole"]);
  expect(plan.apply.map(({ key }) => key.kind)).toEqual(["CustomResourceDefinition"]);
});

test("what was left to another one stays so while nobody may ask, and is taken when it is given up", async () => {
  let answer: ReadonlyMap<string, string> | undefined;
  const attempt = workOn([definition, role], () => Promise.resolve(answer));
  const id = objectId({ apiVersion: role.apiVersion, kind: role.kind, name: "shared" });
  attempt.memory.become((state) => ({ ...state, left: new Map([[id, words]]) }));
  const left = [{ key: expect.objectContaining({ name: "shared" }), message: words }];
  const isLost = false;
  expect(await withoutOthers(attempt, { isLost }, signal)).toMatchObject({ left });
  answer = new Map();
  expect(await withoutOthers(attempt, { isLost }, signal)).toMatchObject({ left: [], attempt });
});

test("what others have is left to them when the anchor is lost with all that was known, but not a definition", async () => {
  const attempt = workOn([definition, role], ({ open, lost = open }) =>
    Promise.resolve(new Map([...lost].map((id) => [id, words]))),
  );
  expect(await withoutOthers(attempt, { isLost: false }, signal)).toMatchObject({
    left: [],
    attempt,
  });
  const { left } = await withoutOthers(attempt, { isLost: true }, signal);
  expect(left.map(({ key }) => key.kind)).toEqual(["ClusterRole"]);
  expect(attempt.memory.state.left.size).toBe(1);
});

test("whose an object is, is asked again after an answer that did not say", async () => {
  let asked = 0;
  const silent = new Error("No time");
  const attempt = workOn([role], () => {
    asked += 1;
    return asked === 1 ? Promise.reject(silent) : Promise.resolve(new Map());
  });
  const { objects } = attempt.desired;
  const whole = planObjects(objects, { inventory: undefined, observed: new Map() });
  await expect(ownPlan({ plan: whole, fought: [] }, attempt, signal)).rejects.toBe(silent);
  await ownPlan({ plan: whole, fought: [] }, attempt, signal);
  await ownPlan({ plan: whole, fought: [] }, attempt, signal);
  expect(asked).toBe(2);
});
