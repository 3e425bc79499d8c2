import { describe, expect, test } from "vitest";

import { inContainer, inPod, patch, pod, refusals } from "./rightless-author.ts";

/** Fields of a pod of which Kubernetes' Pod Security Standards, or a node, know something. */
const podFields: readonly (readonly [string, unknown])[] = [
  ["hostPID", true],
  ["hostIPC", true],
  ["hostNetwork", true],
  ["hostUsers", true],
  ["hostAliases", [{ ip: "10.0.0.1", hostnames: ["kubernetes.default.svc"] }]],
  ["nodeName", "control-plane"],
  ["schedulerName", "mine"],
  ["runtimeClassName", "runc-privileged"],
  ["priorityClassName", "system-node-critical"],
  ["serviceAccountName", "kube-proxy"],
  ["serviceAccount", "kube-proxy"],
  ["automountServiceAccountToken", true],
  ["shareProcessNamespace", true],
  ["dnsConfig", { nameservers: ["203.0.113.1"] }],
  ["imagePullSecrets", [{ name: "other" }]],
  ["ephemeralContainers", [{ name: "debug", image: "busybox" }]],
  ["resourceClaims", [{ name: "gpu", resourceClaimName: "all" }]],
  ["tolerationz", []],
];

const podSecurity: readonly (readonly [string, unknown])[] = [
  ["runAsNonRoot", false],
  ["runAsUser", 0],
  ["runAsGroup", 0],
  ["fsGroup", 0],
  ["supplementalGroups", [0]],
  ["seccompProfile", { type: "Unconfined" }],
  ["seccompProfile", { type: "Localhost", localhostProfile: "mine" }],
  ["appArmorProfile", { type: "Unconfined" }],
  ["seLinuxOptions", { type: "spc_t" }],
  ["sysctls", [{ name: "kernel.shm_rmid_forced", value: "0" }]],
  ["windowsOptions", { hostProcess: true }],
];

const containerSecurity: readonly (readonly [string, unknown])[] = [
  ...podSecurity.filter(([field]) => !["fsGroup", "supplementalGroups", "sysctls"].includes(field)),
  ["privileged", true],
  ["allowPrivilegeEscalation", true],
  ["allowPrivilegeEscalation", null],
  ["readOnlyRootFilesystem", false],
  ["capabilities", { add: ["SYS_ADMIN"] }],
  ["capabilities", { drop: [] }],
  ["procMount", "Unmasked"],
];

const containerFields: readonly (readonly [string, unknown])[] = [
  ["image", "registry.example.com/mine"],
  ["command", ["sh"]],
  ["workingDir", "/"],
  ["ports", [{ containerPort: 80, hostPort: 80 }]],
  ["envFrom", [{ secretRef: { name: "other" } }]],
  ["env", [{ name: "PING_IMAGE", value: "mine" }]],
  ["env", [{ name: "KUBERNETES_SERVICE_HOST", value: "203.0.113.1" }]],
  ["env", [{ name: "LD_PRELOAD", value: "/mine" }]],
  ["volumeMounts", [{ name: "a", mountPath: "/a", mountPropagation: "Bidirectional" }]],
  ["volumeDevices", [{ name: "a", devicePath: "/dev/a" }]],
  ["lifecycle", { postStart: { httpGet: { host: "169.254.169.254", port: 80 } } }],
  ["livenessProbe", { exec: { command: ["sh"] } }],
  ["livenessProbe", { httpGet: { host: "169.254.169.254", port: 80 } }],
  ["resources", { claims: [{ name: "gpu" }] }],
  ["securityContext", null],
  ["restartPolicy", "Always"],
];

const volumes = [
  { hostPath: { path: "/" } },
  { secret: { secretName: "other" } },
  { projected: { sources: [{ serviceAccountToken: { path: "token", audience: "other" } }] } },
  { persistentVolumeClaim: { claimName: "other" } },
  { ephemeral: { volumeClaimTemplate: { spec: {} } } },
  { csi: { driver: "secrets-store.csi.k8s.io" } },
  { nfs: { server: "203.0.113.1", path: "/" } },
  { iscsi: { targetPortal: "203.0.113.1" } },
  { flexVolume: { driver: "mine" } },
  { awsElasticBlockStore: { volumeID: "a" } },
  { local: { path: "/" } },
  { image: { reference: "mine" } },
  { configMap: { name: "other" } },
];

const inSecurity = (field: string, value: unknown) => ({ securityContext: { [field]: value } });

describe("a pod gets nothing that its author may not give it", () => {
  const cases = [
    ...podFields.map(
      ([field, value]) => [inPod({ [field]: value }), `${pod}/${field}`, value] as const,
    ),
    ...podSecurity.map(
      ([field, value]) =>
        [inPod(inSecurity(field, value)), `${pod}/securityContext/${field}`, value] as const,
    ),
    ...containerSecurity.map(
      ([field, value]) =>
        [
          inContainer(inSecurity(field, value)),
          `${pod}/containers/0/securityContext/${field}`,
          value,
        ] as const,
    ),
    ...containerSecurity.map(
      ([field, value]) =>
        [
          inContainer(inSecurity(field, value), "initContainers"),
          `${pod}/initContainers/-1/securityContext/${field}`,
          value,
        ] as const,
    ),
    ...containerFields.map(
      ([field, value]) =>
        [inContainer({ [field]: value }), `${pod}/containers/0/${field}`, value] as const,
    ),
    ...volumes.map(
      (volume) =>
        [
          inPod({ volumes: [{ name: "a", ...volume }] }),
          `${pod}/volumes/-`,
          { name: "a", ...volume },
        ] as const,
    ),
  ];

  test.each(cases)("%j, in each type of patch", async (document, path, value) => {
    const patches = [
      patch("strategic", document),
      patch("merge", document),
      patch("json", [{ op: "add", path, value }]),
      patch("json", [{ op: "replace", path: path.replace(/^/, "ignored"), value }]),
    ];
    expect(await refusals(...patches)).toHaveLength(patches.length);
  });

  test.each(["apps/v1 StatefulSet", "apps/v1 DaemonSet", "batch/v1 Job"])(
    "of a %s too",
    async (one) => {
      const [apiVersion, kind] = one.split(" ");
      const target = { apiVersion, kind, name: "a" };
      expect(await refusals(patch("merge", inPod({ hostPID: true }), target))).toEqual([
        '"spec.template.spec.hostPID" needs',
      ]);
    },
  );

  test.each([
    ["container.apparmor.security.beta.kubernetes.io/controller", "unconfined"],
    ["seccomp.security.alpha.kubernetes.io/pod", "unconfined"],
    ["sidecar.istio.io/userVolume", "[]"],
    ["inject.istio.io/templates", "mine"],
    ["k8s.v1.cni.cncf.io/networks", "host"],
  ])("by the annotation %s", async (key, value) => {
    const annotations = { [key]: value };
    const at = "/spec/template/metadata/annotations";
    const pointer = key.replaceAll("~", "~0").replaceAll("/", "~1");
    const patches = [
      patch("strategic", { spec: { template: { metadata: { annotations } } } }),
      patch("merge", { spec: { template: { metadata: { annotations } } } }),
      patch("json", [{ op: "add", path: `${at}/${pointer}`, value }]),
      patch("json", [{ op: "add", path: at, value: annotations }]),
      patch("json", [{ op: "add", path: "/spec/template/metadata", value: { annotations } }]),
    ];
    expect(await refusals(...patches)).toHaveLength(patches.length);
  });
});
