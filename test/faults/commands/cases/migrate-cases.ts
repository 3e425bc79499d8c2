import { keyOf, type Manifest } from "../../../../api/kubernetes.ts";
import { asComponent } from "../../../../controller/component-identity.ts";
import {
  guardedInstallation,
  installedIn,
} from "../../../cmd/kubectl/commands/migrate/guarded-installation.ts";
import {
  accountOf,
  deploymentOf,
  helmRecordOf,
  operatorBindings,
  operatorNamespace,
  operatorRole,
} from "../../../cmd/kubectl/commands/migrate/upstream-chart-objects.ts";
import { controllerBinding } from "../../../cmd/kubectl/controller-binding.ts";
import { componentOf } from "../../../e2e/installation.ts";
import type { CommandBench } from "../command-bench.ts";
import type { CommandCase } from "../command-case.ts";
import { addSpokeProfile } from "./spoke-profile.ts";

const release = { name: "knative-operator", namespace: operatorNamespace };
const programs = ["knative-operator", "operator-webhook"];

/** What the chart of upstream's operator leaves on a hub. */
const upstream: readonly Manifest[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: operatorNamespace } },
  operatorRole,
  ...programs.map(accountOf),
  ...programs.map((name) => deploymentOf(name)),
  ...operatorBindings({ namespace: operatorNamespace, release }),
  helmRecordOf(release, "knative-operator"),
];

const binding = controllerBinding("knfleet", "knfleet-system", "knfleet-controller");

const knfleet: readonly Manifest[] = [
  binding,
  {
    ...deploymentOf("knfleet-controller"),
    metadata: { namespace: "knfleet-system", name: "knfleet-controller" },
  },
];

function migrates(direction: string, objects: readonly Manifest[]): CommandCase {
  const line = ["migrate", direction, "--apply", "--yes", "--timeout", "30s"];
  return {
    command: "migrate --apply",
    about: direction,
    clusters: ["hub"],
    prepare: ({ fleet }) => prepare(fleet, objects),
    line,
    dryRun: ["migrate", direction],
    isOnce: true,
    says: /Run the command again/,
  };
}

async function prepare(
  { hub }: CommandBench["fleet"],
  objects: readonly Manifest[],
): Promise<void> {
  // The case before may have left it.
  await hub.admin.remove(keyOf(heldLease()));
  for (const object of objects) {
    // oxlint-disable-next-line no-await-in-loop -- a namespace before what is in it
    await hub.admin.apply(object);
  }
}

/** An object with another number of replicas. */
function scaled(manifest: Manifest, replicas: number): Manifest {
  return manifest.kind === "Deployment"
    ? { ...manifest, spec: { ...Object(manifest["spec"]), replicas } }
    : manifest;
}

/** With it knfleet is at work. */
function heldLease(): Manifest & { readonly metadata: { readonly name: string } } {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "knfleet-system", name: "knfleet-controller" },
    spec: {
      holderIdentity: "pod-a",
      leaseDurationSeconds: 3_600,
      renewTime: new Date().toISOString().replace("Z", "000Z"),
    },
  };
}

/** A component whose installation on the spoke has all marks of knfleet, and the guard. It has no Deployments, which upstream's operator would have to write. */
async function prepareInstallation(bench: CommandBench): Promise<void> {
  const { hub } = bench.fleet;
  const spoke = bench.fleet.spoke(0);
  const on = await addSpokeProfile(bench);
  const manifest = componentOf({ kind: "KnativeEventing", on });
  const namespace = { apiVersion: "v1", kind: "Namespace" };
  await hub.admin.apply({ ...namespace, metadata: { name: installedIn } });
  const component = asComponent(await hub.admin.apply(manifest));
  const system = await hub.admin.get({ ...namespace, name: "kube-system" });
  if (component === undefined || system === undefined) throw new Error("The hub is not ready");
  const place = { profile: on, hubId: system.metadata.uid };
  for (const part of guardedInstallation(component, place, [])) {
    // oxlint-disable-next-line no-await-in-loop -- a namespace before what is in it
    await spoke.admin.apply(part);
  }
}

const backObjects = [
  ...upstream.map((one) => scaled(one, 0)),
  ...knfleet.map((one) => scaled(one, 1)),
];

/** `migrate`, on a hub without components, and with an installation on a spoke. */
export const migrateCases: readonly CommandCase[] = [
  // Upstream's operator stands still and knfleet is at work: what is left to do is to delete.
  migrates("from-upstream", [...upstream.map((one) => scaled(one, 0)), binding, heldLease()]),
  migrates("to-upstream", backObjects),
  {
    ...migrates("to-upstream", backObjects),
    about: "to-upstream with an installation on a spoke",
    clusters: ["hub", "spoke-1"],
    prepare: async (bench) => {
      await prepare(bench.fleet, backObjects);
      await prepareInstallation(bench);
    },
  },
];
