import { join } from "node:path";

/** A program that the fleet can start or that its tests run. */
export type BinaryName = (typeof binaryNames)[number];

/** Absolute path of a program that was made available. */
export type BinaryPaths<Name extends BinaryName> = (name: Name) => string;

/** How a program is built: a package of one of the modules under `binaries/`, which pin its version. */
export interface BinarySource {
  readonly module:
    | "kubernetes"
    | "kubernetes-1.35"
    | "tools"
    | "plugins"
    | "knative-serving"
    | "knative-eventing";
  readonly importPath: string;
}

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
  "clusterprofile-credentials-plugin",
  "kube-apiserver-1.35",
  "kube-controller-manager-1.35",
  "kube-scheduler-1.35",
  "knative-serving-controller",
  "knative-serving-webhook",
  "knative-eventing-controller",
  "knative-eventing-webhook",
] as const;

/** Knative's own programs, for `npm run knative`. */
export const knativeBinaries = [
  "knative-eventing-controller",
  "knative-eventing-webhook",
  "knative-serving-controller",
  "knative-serving-webhook",
] as const satisfies readonly BinaryName[];

export type KnativeBinary = (typeof knativeBinaries)[number];

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

const sources: Readonly<Record<BinaryName, BinarySource>> = {
  etcd: { module: "kubernetes", importPath: "go.etcd.io/etcd/server/v3" },
  "kube-apiserver": kubernetes("kube-apiserver"),
  "kube-controller-manager": kubernetes("kube-controller-manager"),
  "kube-scheduler": kubernetes("kube-scheduler"),
  kubectl: kubernetes("kubectl"),
  kwok: { module: "tools", importPath: "sigs.k8s.io/kwok/cmd/kwok" },
  helm: { module: "tools", importPath: "helm.sh/helm/v4/cmd/helm" },
  secretreader: { module: "plugins", importPath: `${inventory}/secretreader/cmd/plugin` },
  "kubeconfig-secretreader": {
    module: "plugins",
    importPath: `${inventory}/kubeconfig-secretreader/cmd/plugin`,
  },
  "clusterprofile-credentials-plugin": {
    module: "plugins",
    importPath:
      "open-cluster-management.io/managed-serviceaccount/cmd/clusterprofile-credentials-plugin",
  },
  "kube-apiserver-1.35": kubernetes("kube-apiserver", "kubernetes-1.35"),
  "kube-controller-manager-1.35": kubernetes("kube-controller-manager", "kubernetes-1.35"),
  "kube-scheduler-1.35": kubernetes("kube-scheduler", "kubernetes-1.35"),
  "knative-serving-controller": knative("serving", "controller"),
  "knative-serving-webhook": knative("serving", "webhook"),
  "knative-eventing-controller": knative("eventing", "controller"),
  "knative-eventing-webhook": knative("eventing", "webhook"),
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
  return ["-trimpath", `-ldflags=${["-s -w", ...stamps].join(" ")}`];
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
