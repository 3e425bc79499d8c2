import { expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { jobOf } from "../../../../cmd/kubectl/findings/walk-by-job.ts";
import type { ControllerDeployment } from "../../../../cmd/kubectl/hub/find-controller.ts";
import { valueAt } from "../../../fleet/json-record.ts";

const container = {
  name: "controller",
  image: "registry.example.test/knfleet:1",
  command: ["/usr/local/bin/node", "--flag", "/app/cmd/knfleet-controller.ts"],
  args: ["--clusterprofile-provider-file=/etc/cluster-inventory/config.json"],
  env: [{ name: "A", value: "1" }],
  ports: [{ containerPort: 8080 }],
  livenessProbe: { httpGet: { path: "/healthz", port: 8080 } },
  volumeMounts: [{ name: "config", mountPath: "/etc/cluster-inventory" }],
};
const object: KubeObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    namespace: "knfleet-system",
    name: "fleet-controller",
    uid: "1",
    resourceVersion: "1",
  },
  spec: {
    template: {
      spec: { serviceAccountName: "sa", volumes: [{ name: "config" }], containers: [container] },
    },
  },
};
const controller: ControllerDeployment = {
  flavour: "knfleet",
  namespace: "knfleet-system",
  name: "fleet-controller",
  serviceAccount: "sa",
  available: 1,
  wanted: 1,
  object,
};
const target = { kind: "KnativeServing", namespace: "team-a", name: "a" } as const;

test("the Job is the controller's pod with this program in it", () => {
  const job = jobOf(controller, [target], "knfleet-diagnose-0a1b2c");
  expect(job).toMatchObject({
    kind: "Job",
    metadata: { namespace: "knfleet-system", name: "knfleet-diagnose-0a1b2c" },
  });
  const pod = valueAt(job, "spec", "template", "spec");
  expect(pod).toEqual({
    serviceAccountName: "sa",
    volumes: [{ name: "config" }],
    restartPolicy: "Never",
    containers: [
      {
        name: "diagnose",
        image: "registry.example.test/knfleet:1",
        command: ["/usr/local/bin/node", "--flag", "/app/cmd/kubectl-knfleet.ts"],
        args: [
          "diagnose",
          "knativeserving/a",
          "--namespace",
          "team-a",
          "--clusterprofile-provider-file",
          "/etc/cluster-inventory/config.json",
          "--report-file",
          "/dev/termination-log",
          "--fail-on",
          "never",
        ],
        env: [{ name: "A", value: "1" }],
        volumeMounts: [{ name: "config", mountPath: "/etc/cluster-inventory" }],
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
      },
    ],
  });
});

test("a Job walks to one target", () => {
  expect(() => jobOf(controller, [target, target], "a")).toThrow("name it");
});
