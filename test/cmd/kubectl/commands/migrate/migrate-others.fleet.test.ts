import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, describe, expect, onTestFinished, test } from "vitest";

import { keyOf, type KubeObject, type Manifest } from "../../../../../api/kubernetes.ts";
import { useHelm } from "../../../../charts/use-helm.ts";
import { componentOf } from "../../../../e2e/installation.ts";
import { valueAt } from "../../../../fleet/json-record.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { controllerBinding } from "../../controller-binding.ts";
import { type Ran, runKnfleet } from "../../run-knfleet.ts";
import { deploymentOf, helmRecordOf, leaseOf, operatorBindings } from "./upstream-chart-objects.ts";

const fleet = useFleet({ spokes: 0 });
const helm = useHelm();
const shop = { name: "shop", namespace: "victim" };
const operatorPlace = "operators";

const annotations = {
  "meta.helm.sh/release-name": shop.name,
  "meta.helm.sh/release-namespace": shop.namespace,
};
const ofShop = { labels: { "app.kubernetes.io/managed-by": "Helm" }, annotations };

/** A Helm release of another team. */
const shopObjects: readonly Manifest[] = [
  ...["ConfigMap", "Secret", "ServiceAccount"].map((kind) => ({
    apiVersion: "v1",
    kind,
    metadata: { namespace: shop.namespace, name: shop.name, ...ofShop },
  })),
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: shop.name, ...ofShop },
    rules: [],
  },
  helmRecordOf(shop, shop.name),
];

/** What everybody with a namespace can write. */
const namedAsOperator = stopped("team-a", "knative-operator");
const namedAsRecord: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    namespace: "team-a",
    name: "knfleet-migration",
    labels: { "knfleet.dev/migration": "from-upstream" },
  },
  data: { before: JSON.stringify({ direction: "from-upstream", ready: [], workloads: {} }) },
};

/** A Deployment that stands still, and says that it is of the release of the other team. */
function stopped(namespace: string, name: string): Manifest {
  const deployment = deploymentOf(name, "knative-operator");
  const spec = { ...Object(deployment["spec"]), replicas: 0 };
  return { ...deployment, metadata: { namespace, name, ...ofShop }, spec };
}

function scaled(deployment: Manifest, replicas: number): Manifest {
  return { ...deployment, spec: { ...Object(deployment["spec"]), replicas } };
}

/** With it knfleet is at work, so that the migration comes to its last step. */
const heldLease = leaseOf("knfleet-system", "knfleet-controller");

beforeAll(async () => {
  for (const name of [
    "team-a",
    shop.namespace,
    operatorPlace,
    "knfleet-system",
    "knative-eventing",
  ])
    await made({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  for (const manifest of [...shopObjects, namedAsOperator, namedAsRecord]) await made(manifest);
  await made(controllerBinding("knfleet", "knfleet-system"));
  await made(heldLease);
});

async function made(manifest: Manifest): Promise<KubeObject> {
  return await fleet().hub.admin.apply(manifest);
}

/** Makes objects for one test. */
async function given(...manifests: readonly Manifest[]): Promise<void> {
  onTestFinished(async () => {
    for (const manifest of manifests) await fleet().hub.admin.remove(keyOf(manifest));
  });
  for (const manifest of manifests) await made(manifest);
}

function migrate(...more: readonly string[]): Promise<Ran> {
  return apply("from-upstream", "--timeout", "60s", ...more);
}

function apply(...words: readonly string[]): Promise<Ran> {
  const args = ["migrate", ...words, "--apply", "--yes"];
  return runKnfleet(args, { env: { KUBECONFIG: fleet().hub.adminKubeconfigPath } });
}

async function missing(manifests: readonly Manifest[]): Promise<readonly string[]> {
  const live = await Promise.all(manifests.map((one) => fleet().hub.admin.get(keyOf(one))));
  return manifests.flatMap(({ kind }, at) => (live[at] === undefined ? [kind] : []));
}

const others = [...shopObjects, namedAsOperator, namedAsRecord];

function records(): Promise<readonly KubeObject[]> {
  const labelSelector = "knfleet.dev/migration";
  return fleet().hub.admin.list({ apiVersion: "v1", kind: "ConfigMap", labelSelector });
}

describe("a migration deletes nothing of others", () => {
  test("for a Deployment that a tenant named as upstream's operator, with the Helm release of others", async () => {
    const { stdout, stderr, exitCode } = await migrate();
    expect(await missing(others)).toEqual([]);
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(stdout).not.toContain("team-a");
    expect(stdout).not.toContain(shop.name);
  });

  test("for a binding of upstream's operator that names the Helm release of others", async () => {
    const own = stopped(operatorPlace, "knative-operator");
    await given(...operatorBindings({ namespace: operatorPlace, release: shop }), own);
    const { stderr, exitCode } = await migrate();
    expect(await missing([...others, own])).toEqual([]);
    expect(stderr).toContain("error: Deployment operators/knative-operator is said to be of");
    expect(stderr).toContain("nothing of that release is deleted");
    expect(exitCode).toBe(2);
  });

  test("for a release in the namespace of upstream's operator that is of another chart", async () => {
    const release = { name: "platform", namespace: operatorPlace };
    const own = [
      stopped(operatorPlace, "knative-operator"),
      helmRecordOf(release, "platform"),
      ...operatorBindings({ namespace: operatorPlace, release }),
    ];
    await given(...own);
    const { stderr, exitCode } = await migrate();
    expect(await missing([...others, ...own])).toEqual([]);
    expect(stderr).toContain("has no record of upstream's chart for it in namespace operators");
    expect(exitCode).toBe(2);
  });
});

test("what Helm installed of upstream's chart goes, under any name and in any namespace", async () => {
  const chart = join(fleet().folder, "knative-operator");
  await mkdir(join(chart, "templates"), { recursive: true });
  await writeFile(
    join(chart, "Chart.yaml"),
    "apiVersion: v1\nname: knative-operator\nversion: 1.0.0\n",
  );
  const [binding] = operatorBindings({ namespace: operatorPlace, release: shop });
  if (binding === undefined) throw new Error("There is no binding");
  const own = [
    { ...binding, metadata: { name: binding.metadata.name } },
    { ...stopped(operatorPlace, "ko"), metadata: { namespace: operatorPlace, name: "ko" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: operatorPlace, name: "config" } },
  ];
  await writeFile(
    join(chart, "templates/all.yaml"),
    own.map((one) => JSON.stringify(one)).join("\n---\n"),
  );
  const place = ["--kubeconfig", fleet().hub.adminKubeconfigPath, "--namespace", operatorPlace];
  await helm().must("install", "ops", chart, ...place);
  const { stdout, stderr, exitCode } = await migrate();
  expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
  expect(stdout).toContain("Helm release ops");
  expect(await missing(own)).toEqual(["ClusterRoleBinding", "Deployment", "ConfigMap"]);
  expect(await helm().must("list", "--short", ...place)).toBe("");
  expect(await missing(others)).toEqual([]);
});

describe("a removal of upstream's operator that ended in the middle is taken up", () => {
  const release = { name: "operators", namespace: operatorPlace };
  const record = helmRecordOf(release, "knative-operator");
  const bindings = operatorBindings({ namespace: operatorPlace, release });

  test.each([
    ["after its Deployments", [record, ...bindings]],
    ["after Helm's record", bindings.slice(0, 1)],
  ])("%s", async (_, left) => {
    await given(...left);
    const { stdout, stderr, exitCode } = await migrate();
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(stdout).toContain(
      "done: 7 remove-upstream: Nothing of upstream's operator is on the hub",
    );
    expect(await missing(left)).toEqual(left.map(({ kind }) => kind));
    expect(await missing(others)).toEqual([]);
  });
});

/** A user who may do what a migration needs, but of these resources only some. */
async function givenUser(
  name: string,
  resources: readonly string[],
  more: readonly object[] = [],
): Promise<void> {
  const rbac = "rbac.authorization.k8s.io";
  const free = ["", "coordination.k8s.io", "apiextensions.k8s.io", "multicluster.x-k8s.io"];
  const own = ["operator.knative.dev", "knfleet.dev"];
  const role = { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: { name } };
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name };
  const subjects = [{ apiGroup: rbac, kind: "User", name }];
  await given(
    {
      ...role,
      rules: [
        { apiGroups: ["apps", rbac], resources, verbs: ["*"] },
        { apiGroups: [...free, ...own], resources: ["*"], verbs: ["*"] },
        ...more,
      ],
    },
    { ...role, kind: "ClusterRoleBinding", roleRef, subjects },
  );
}

describe("a migration is refused before anything is written", () => {
  test("where two Deployments may be upstream's operator", async () => {
    const own = ["knative-operator", "knative-operator-2"].map((name) =>
      stopped(operatorPlace, name),
    );
    await given(controllerBinding("upstream", operatorPlace, "knative-operator"), ...own);
    const { stderr, exitCode } = await migrate();
    expect(stderr).toContain(
      "2 Deployments of the hub may be upstream's operator: Deployment operators/knative-operator, Deployment operators/knative-operator-2",
    );
    expect(exitCode).toBe(2);
    expect(await records()).toHaveLength(1);
    expect(await missing(own)).toEqual([]);
  });

  test.each(["deployments", "clusterrolebindings"])(
    "without the right to list %s",
    async (resource) => {
      const name = `lacks-${resource}`;
      await givenUser(
        name,
        ["deployments", "clusterrolebindings"].filter((one) => one !== resource),
      );
      const { stderr, exitCode } = await migrate("--as", name);
      expect(stderr).toContain(`error: You lack rights on the hub: list ${resource}.`);
      expect(exitCode).toBe(2);
      expect(await records()).toHaveLength(1);
    },
  );

  test("without a right for its last steps, which are all named", async () => {
    const release = { name: "operators", namespace: operatorPlace };
    const own = [
      stopped(operatorPlace, "knative-operator"),
      helmRecordOf(release, "knative-operator"),
      ...operatorBindings({ namespace: operatorPlace, release }),
    ];
    await given(...own);
    const reads = { apiGroups: ["*"], resources: ["*"], verbs: ["get", "list"] };
    await givenUser("only-reads", ["none"], [reads]);
    const { stderr, exitCode } = await migrate("--as", "only-reads");
    expect(stderr).toMatch(/^error: You lack rights on the hub: /);
    expect(stderr).toContain("delete deployments.apps in namespace operators");
    expect(stderr).toContain("delete clusterrolebindings.rbac.authorization.k8s.io");
    expect(exitCode).toBe(2);
    expect(await records()).toHaveLength(1);
    expect(await missing(own)).toEqual([]);
  });

  test("where it is blocked, which standard error says", async () => {
    const theirs = scaled(stopped(operatorPlace, "knative-operator"), 1);
    await given(controllerBinding("upstream", operatorPlace, "knative-operator"), theirs);
    const { stderr, exitCode } = await migrate();
    expect(stderr).toContain("error: Step 2 stop-upstream is blocked: Both operators are at work");
    expect(exitCode).toBe(2);
    expect(await records()).toHaveLength(1);
  });

  test("without the right to see whether the hub has a guard", async () => {
    await givenUser("sees-no-guard", ["deployments", "clusterrolebindings"]);
    const kind = "KnativeEventing";
    await given(componentOf({ kind }));
    const { stderr, exitCode } = await runKnfleet(
      ["migrate", "to-upstream", "--as", "sees-no-guard"],
      { env: { KUBECONFIG: fleet().hub.adminKubeconfigPath } },
    );
    expect(stderr).toContain('cannot list resource "validatingadmissionpolic');
    expect(exitCode).toBe(3);
  });
});

describe("a migration starts nothing of others", () => {
  test.each([
    ["from-upstream", "knfleet-controller", "by hand: 3 install-knfleet"],
    ["to-upstream", "knative-operator", "by hand: 5 start-upstream"],
  ])("%s, for a Deployment of a tenant called %s", async (direction, name, step) => {
    const { admin } = fleet().hub;
    await admin.remove(keyOf(heldLease));
    onTestFinished(async () => void (await made(heldLease)));
    const theirs = stopped("team-a", name);
    await made(theirs);
    // Without a controller on the hub there is no other place for the record.
    const record = { apiVersion: "v1", kind: "ConfigMap", name: "knfleet-migration" };
    onTestFinished(async () => {
      await admin.remove({ ...record, namespace: "kube-system" });
    });
    const { stdout, exitCode } = await apply(direction, "--timeout", "1s");
    expect(stdout).toContain(step);
    expect(exitCode).toBe(124);
    expect(valueAt(await admin.get(keyOf(theirs)), "spec", "replicas")).toBe(0);
    expect(await missing(others)).toEqual([]);
  });
});
