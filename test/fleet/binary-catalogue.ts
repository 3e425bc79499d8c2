import { join } from "node:path";

/** A program that the fleet can start or that its tests run. */
export type BinaryName = (typeof binaryNames)[number];

/** Absolute path of a program that was made available. */
export type BinaryPaths<Name extends BinaryName> = (name: Name) => string;

/**
 * How a program is built: a package of one of the modules under `binaries/`, which pin its version. The modules do not share one version of k8s.io: with that of the control plane (0.36)
 * managed-serviceaccount does not build, because its controller-runtime fits 0.35, and only 133 of the plugins' 758 packages would be the same ones.
 */
export interface BinarySource {
  readonly module:
    | "kubernetes"
    | "kubernetes-1.35"
    | "tools"
    | "plugins"
    | "prometheus"
    | "ocm"
    | "knative-serving"
    | "knative-eventing";
  readonly importPath: string;
}

/** Knative's own programs, for `npm run knative`. */
export const knativeBinaries = [
  "knative-eventing-controller",
  "knative-eventing-webhook",
  "knative-serving-controller",
  "knative-serving-webhook",
] as const;

export type KnativeBinary = (typeof knativeBinaries)[number];

/** Open Cluster Management with cluster-proxy and managed-serviceaccount. */
export const ocmBinaries = [
  "ocm-registration",
  "ocm-work",
  "ocm-placement",
  "ocm-addon",
  "cluster-proxy",
  "cluster-proxy-addon-manager",
  "cluster-proxy-addon-agent",
  "konnectivity-server",
  "konnectivity-agent",
  "managed-serviceaccount",
  "clusterprofile-credentials-plugin",
] as const;

/** Every program that `ensureBinaries` knows. */
export const binaryNames = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubectl",
  "kwok",
  "secretreader",
  "kubeconfig-secretreader",
  "helm",
  "prometheus",
  "kube-apiserver-1.35",
  "kube-controller-manager-1.35",
  "kube-scheduler-1.35",
  ...knativeBinaries,
  ...ocmBinaries,
] as const;

/** What `startFleet` needs. */
export const serverBinaries = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kwok",
] as const satisfies readonly BinaryName[];

/** The servers of the older Kubernetes minor; built when a cluster asks for it. */
export const olderServers = {
  "kube-apiserver": "kube-apiserver-1.35",
  "kube-controller-manager": "kube-controller-manager-1.35",
  "kube-scheduler": "kube-scheduler-1.35",
} as const satisfies Partial<Record<BinaryName, BinaryName>>;

const inventory = "sigs.k8s.io/cluster-inventory-api/plugins";

/** Files that a Go module brings along: where they are in it, and which module of `binaries/` pins its version. */
export const moduleFiles = {
  "inventory-crds": {
    pins: "plugins",
    module: "sigs.k8s.io/cluster-inventory-api",
    path: "config/crd/bases",
  },
  // No program of the fleet is built from it, so no go.mod has its version.
  "cluster-api-crds": {
    pins: "tools",
    module: "sigs.k8s.io/cluster-api",
    version: "v1.14.2",
    path: "core/config/crd/bases",
  },
  "ocm-hub-crds": {
    pins: "ocm",
    module: "open-cluster-management.io/ocm",
    path: "manifests/cluster-manager/hub/crds",
  },
  "ocm-spoke-crds": {
    pins: "ocm",
    module: "open-cluster-management.io/ocm",
    path: "manifests/klusterlet/managed",
  },
  "cluster-proxy-chart": {
    pins: "ocm",
    module: "open-cluster-management.io/cluster-proxy",
    path: "charts/cluster-proxy",
  },
  "managed-serviceaccount-chart": {
    pins: "plugins",
    module: "open-cluster-management.io/managed-serviceaccount",
    path: "charts/managed-serviceaccount",
  },
} as const satisfies Readonly<Record<string, PinnedFiles>>;

/** Files of a Go module that the fleet needs. */
export interface PinnedFiles {
  readonly pins: BinarySource["module"];
  readonly module: string;
  /** Absent: the version in the go.mod of `pins`. */
  readonly version?: string;
  readonly path: string;
}

export type ModuleFiles = keyof typeof moduleFiles;

const managedServiceAccount = "open-cluster-management.io/managed-serviceaccount/cmd";

const sources: Readonly<Record<BinaryName, BinarySource>> = {
  etcd: { module: "kubernetes", importPath: "go.etcd.io/etcd/server/v3" },
  "kube-apiserver": kubernetes("kube-apiserver"),
  "kube-controller-manager": kubernetes("kube-controller-manager"),
  "kube-scheduler": kubernetes("kube-scheduler"),
  kubectl: kubernetes("kubectl"),
  kwok: { module: "tools", importPath: "sigs.k8s.io/kwok/cmd/kwok" },
  helm: { module: "tools", importPath: "helm.sh/helm/v4/cmd/helm" },
  prometheus: {
    module: "prometheus",
    importPath: "github.com/prometheus/prometheus/cmd/prometheus",
  },
  secretreader: { module: "plugins", importPath: `${inventory}/secretreader/cmd/plugin` },
  "kubeconfig-secretreader": {
    module: "plugins",
    importPath: `${inventory}/kubeconfig-secretreader/cmd/plugin`,
  },
  "clusterprofile-credentials-plugin": {
    module: "plugins",
    importPath: `${managedServiceAccount}/clusterprofile-credentials-plugin`,
  },
  // Not in `ocm`: it needs a newer controller-runtime than OCM's webhooks compile with.
  "managed-serviceaccount": { module: "plugins", importPath: managedServiceAccount },
  "kube-apiserver-1.35": kubernetes("kube-apiserver", "kubernetes-1.35"),
  "kube-controller-manager-1.35": kubernetes("kube-controller-manager", "kubernetes-1.35"),
  "kube-scheduler-1.35": kubernetes("kube-scheduler", "kubernetes-1.35"),
  "knative-serving-controller": knative("serving", "controller"),
  "knative-serving-webhook": knative("serving", "webhook"),
  "knative-eventing-controller": knative("eventing", "controller"),
  "knative-eventing-webhook": knative("eventing", "webhook"),
  "ocm-registration": ocm("ocm/cmd/registration"),
  "ocm-work": ocm("ocm/cmd/work"),
  "ocm-placement": ocm("ocm/cmd/placement"),
  "ocm-addon": ocm("ocm/cmd/addon"),
  "cluster-proxy": ocm("cluster-proxy/cmd/cluster-proxy"),
  "cluster-proxy-addon-manager": ocm("cluster-proxy/cmd/addon-manager"),
  "cluster-proxy-addon-agent": ocm("cluster-proxy/cmd/addon-agent"),
  "konnectivity-server": konnectivity("server"),
  "konnectivity-agent": konnectivity("agent"),
};

export type ServerBinary = (typeof serverBinaries)[number];

/** Where a program comes from. */
export function sourceOf(name: BinaryName): BinarySource {
  return sources[name];
}

/** Folder of a module's go.mod and go.sum. */
export function moduleFolder(module: BinarySource["module"]): string {
  return join(import.meta.dirname, "binaries", module);
}

// Without the stamp, servers and clients call themselves v0.0.0 and refuse to work with each other.
const kubernetesVersion = "k8s.io/component-base/version";

const kubernetesReleases: Partial<Record<BinarySource["module"], string>> = {
  kubernetes: "1.36.3",
  "kubernetes-1.35": "1.35.4",
};

/** Flags of `go build` for a module; part of the cache key. */
export function buildFlags(module: BinarySource["module"]): readonly string[] {
  const release = kubernetesReleases[module];
  const [major, minor] = release?.split(".") ?? [];
  const stamps =
    release === undefined
      ? []
      : [
          `-X ${kubernetesVersion}.gitVersion=v${release}`,
          `-X ${kubernetesVersion}.gitMajor=${major}`,
          `-X ${kubernetesVersion}.gitMinor=${minor}`,
        ];
  // Prometheus finds its targets in a file here: without the clouds it has a third of the packages.
  const tags = module === "prometheus" ? ["-tags=remove_all_sd"] : [];
  // Nobody debugs these programs: without debug information they are compiled faster.
  const noDebug = "-gcflags=all=-dwarf=false";
  return ["-trimpath", noDebug, ...tags, `-ldflags=${["-s -w", ...stamps].join(" ")}`];
}

function kubernetes(
  command: string,
  module: "kubernetes" | "kubernetes-1.35" = "kubernetes",
): BinarySource {
  return { module, importPath: `k8s.io/kubernetes/cmd/${command}` };
}

function knative(product: "serving" | "eventing", command: string): BinarySource {
  return { module: `knative-${product}`, importPath: `knative.dev/${product}/cmd/${command}` };
}

function ocm(path: string): BinarySource {
  return { module: "ocm", importPath: `open-cluster-management.io/${path}` };
}

function konnectivity(command: string): BinarySource {
  return { module: "ocm", importPath: `sigs.k8s.io/apiserver-network-proxy/cmd/${command}` };
}
