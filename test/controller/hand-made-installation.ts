import { connectHub, type HubConnection } from "../../access/hub/hub.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { componentKinds, operatorApiVersion, type KnativeEventing } from "../../api/component.ts";
import { keyOf, type Manifest, type ObjectKey, type OwnerReference } from "../../api/kubernetes.ts";
import { writeAnchor, type Anchor } from "../../controller/apply/anchor/anchor.ts";
import type { Target } from "../../controller/target/target.ts";
import { componentUidLabel } from "../../installation/anchor.ts";
import type { AdminClient } from "../fleet/admin-client.ts";
import type { Cluster } from "../fleet/cluster.ts";
import { waitFor } from "../fleet/wait-for.ts";

const { signal } = new AbortController();

/** Name of the client in audit logs. */
export const userAgent = "knfleet-finalize-test";

type Rights = Pick<Parameters<Cluster["serviceAccountToken"]>[0], "clusterRoles" | "rules">;

/** A connection to a cluster with the rights of a ServiceAccount of its own. */
export async function connectAs(
  cluster: Cluster,
  name: string,
  rights: Rights,
): Promise<HubConnection> {
  const { token } = await cluster.serviceAccountToken({ namespace: "knfleet", name, ...rights });
  const kubeconfig = await cluster.writeKubeconfig(`${name}.kubeconfig`, { identity: { token } });
  return connectHub({ clock: systemClock, kubeconfig, environment: {}, userAgent });
}

/** The component as the hub has it; its name, namespace and uid are made from one word. */
export function eventing(word: string): KnativeEventing {
  return {
    apiVersion: operatorApiVersion,
    kind: "KnativeEventing",
    metadata: { namespace: word, name: word, uid: `uid-of-${word}`, resourceVersion: "1" },
    spec: { clusterProfileRef: { namespace: "fleet", name: "spoke-1" } },
  };
}

export function remoteTarget(client: Target["client"], namespace: string): Target {
  return {
    client,
    profile: { namespace: "fleet", name: "spoke-1" },
    namespace,
    fieldManager: "knfleet-test",
    hubId: "hub-id",
  };
}

export interface Installation {
  readonly component: KnativeEventing;
  readonly target: Target;
  readonly admin: AdminClient;
  readonly anchor: Anchor;
  /** Everything but the anchor, the namespace and the CRD. */
  readonly keys: readonly ObjectKey[];
}

interface Installing extends Pick<Installation, "component" | "target" | "admin"> {
  /** Which kinds to install; default all. */
  readonly kinds?: readonly string[];
}

/** Installs one object of each kind that matters, as the engine would: anchor and inventory first, then all with label and owner. */
export async function installByHand(installing: Installing): Promise<Installation> {
  const { component, target, admin, kinds } = installing;
  const { namespace } = target;
  await admin.apply(namespaceOf(namespace));
  await admin.apply(imageDefinition);
  const manifests = objectsOf(namespace).filter(
    ({ kind }) => kinds === undefined || kinds.includes(kind),
  );
  const entries = [imageDefinition, ...manifests].map((manifest) => ({
    ...keyOf(manifest),
    hash: "hash",
    fingerprint: "fingerprint",
  }));
  const inventory = { version: "1.23.0", complete: true, entries };
  const anchor = await writeAnchor({ component, target, before: undefined }, inventory, signal);
  for (const manifest of manifests) {
    const ours = belonging(manifest, component.metadata.uid, anchor.owner);
    const { fieldManager } = target;
    // A CRD is served a little after it was accepted.
    await waitFor(manifest.kind, () => admin.apply(ours, { fieldManager }));
  }
  return { component, target, admin, anchor, keys: manifests.map(keyOf) };
}

/** Those of some objects that exist, as `Kind name`. */
export async function existing(
  admin: AdminClient,
  keys: readonly ObjectKey[],
): Promise<readonly string[]> {
  const found = await Promise.all(keys.map(async (key) => (await admin.get(key)) !== undefined));
  return keys.filter((_key, index) => found[index]).map(({ kind, name }) => `${kind} ${name}`);
}

export function namespaceOf(name: string): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

function belonging(manifest: Manifest, uid: string, owner: OwnerReference): Manifest {
  const labels = {
    "app.kubernetes.io/name": componentKinds.KnativeEventing.label,
    [componentUidLabel]: uid,
  };
  const ownerReferences = manifest.metadata.namespace === undefined ? [] : [owner];
  return { ...manifest, metadata: { ...manifest.metadata, labels, ownerReferences } };
}

const imageGroup = "caching.internal.knative.dev";

export const imageDefinition = definitionOf(imageGroup, "v1alpha1", { Image: "images" });

/** A CRD of one kind, given with its plural. */
export function definitionOf(
  group: string,
  version: string,
  names: Readonly<Record<string, string>>,
): Manifest {
  const [kind = "", plural = ""] = Object.entries(names)[0] ?? [];
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema }],
    },
  };
}

// One object a kind. The webhook comes last: it refuses the deletion of the Image, because nobody answers for it.
function objectsOf(namespace: string): readonly Manifest[] {
  const rbac = "rbac.authorization.k8s.io";
  const inNamespace = { namespace, name: "thing" };
  const ofCluster = { name: `${namespace}-thing` };
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get"] }];
  const subjects = [{ kind: "ServiceAccount", namespace, name: "thing" }];
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: ofCluster.name };
  const labels = { app: namespace };
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: "main", image: "example.com/main" }] },
  };
  const job = { ...template, spec: { ...template.spec, restartPolicy: "Never" } };
  const scaled = { apiVersion: "apps/v1", kind: "Deployment", name: "thing" };
  return [
    { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata: ofCluster, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: "ClusterRoleBinding",
      metadata: ofCluster,
      roleRef,
      subjects,
    },
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata: inNamespace, rules },
    { apiVersion: `${rbac}/v1`, kind: "RoleBinding", metadata: inNamespace, roleRef, subjects },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: inNamespace },
    { apiVersion: "v1", kind: "ConfigMap", metadata: inNamespace, data: { key: "value" } },
    { apiVersion: "v1", kind: "Secret", metadata: inNamespace, stringData: { key: "value" } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: inNamespace,
      spec: { selector: labels, ports: [{ name: "http", port: 80 }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: inNamespace,
      spec: { selector: { matchLabels: labels }, template },
    },
    { apiVersion: "batch/v1", kind: "Job", metadata: inNamespace, spec: { template: job } },
    {
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: inNamespace,
      spec: { maxReplicas: 2, scaleTargetRef: scaled },
    },
    {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: inNamespace,
      spec: { minAvailable: 1, selector: { matchLabels: labels } },
    },
    { apiVersion: `${imageGroup}/v1alpha1`, kind: "Image", metadata: inNamespace, spec: {} },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: ofCluster,
      webhooks: [
        {
          name: "refuses.example.com",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          failurePolicy: "Fail",
          timeoutSeconds: 1,
          clientConfig: { url: "https://127.0.0.1:9/nobody" },
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
          rules: [
            {
              apiGroups: [imageGroup],
              apiVersions: ["*"],
              operations: ["DELETE"],
              resources: ["images"],
            },
          ],
        },
      ],
    },
  ];
}

/** What users have before they turn on Istio or Contour: CRDs that releases bring instances of, and a namespace. */
export const ingressStandIns: readonly Manifest[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "istio-system" } },
  definitionOf("networking.istio.io", "v1beta1", { Gateway: "gateways" }),
  definitionOf("security.istio.io", "v1beta1", { PeerAuthentication: "peerauthentications" }),
  definitionOf("projectcontour.io", "v1", {
    TLSCertificateDelegation: "tlscertificatedelegations",
  }),
];

/** The same for TLS. */
export const certificateDefinition = definitionOf("cert-manager.io", "v1", {
  Certificate: "certificates",
});
