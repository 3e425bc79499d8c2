import { describe, expect, test } from "vitest";

import { componentWorkName } from "../../../api/delivery.ts";
import { listAt, recordAt } from "../../../api/fields.ts";
import { contentText, setAnnotations, setLabels } from "../../../api/fleet-set.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import { agentWork, componentWork } from "../../../controller/pull/works.ts";
import { setContentOf } from "../../../controller/reconcile/set-content.ts";
import { spokeRole } from "../../../installation/spoke-role.ts";
import { contentOf } from "../../../render/content.ts";
import { hashOf } from "../../../render/fields.ts";
import { serving } from "../../support/component.ts";

const place = { cluster: "spoke-1", namespace: "knative-serving", hubId: "hub-id" };
const component = serving({
  metadata: {
    namespace: "platform",
    name: "main",
    generation: 3,
    annotations: { "knfleet.dev/keep-while-used": "yes", "example.com/note": "of the hub" },
  },
  spec: {
    version: "1.23",
    clusterProfileRef: { namespace: "fleet", name: "spoke-1" },
    config: { network: { "ingress-class": "kourier.ingress.networking.knative.dev" } },
  },
});

const releases = await openReleases(sampleDirOf());

function manifestsOf(work: Manifest): readonly unknown[] {
  return listAt(recordAt(work, "spec", "workload"), "manifests");
}

describe("the work of a component of a set", () => {
  test("brings what the set asks, and tells the answer back", () => {
    const annotations = { [setAnnotations.question]: '{"stage":"canary"}' };
    const brought = componentWork(serving({ metadata: { annotations } }), place);
    expect(recordAt(manifestsOf(brought)[1], "metadata", "annotations")).toMatchObject(annotations);
    expect(JSON.stringify(brought)).toContain(
      String.raw`{"name":"answer","path":".status.annotations.knfleet\\.dev/set-answer"}`,
    );
  });

  test.each([
    { rendered: "0123456789", isHeld: true },
    { rendered: undefined, isHeld: false },
  ])("brings its stamp, so that the controller there waits for it, too: $isHeld", async (row) => {
    const kept = await contentOf(component, releases, {});
    const stamped = serving({
      ...component,
      metadata: {
        ...component.metadata,
        labels: { [setLabels.set]: "prod" },
        annotations: {
          [setAnnotations.content]: contentText({
            ...kept,
            rendered: row.rendered ?? kept.rendered,
          }),
        },
      },
    });
    const [, copy] = manifestsOf(componentWork(stamped, place));
    const there = serving(Object(copy));
    const { isHeld } = await setContentOf(there, { releases, rendering: { environment: {} } });
    expect(isHeld).toBe(row.isHeld);
  });
});

describe("the work of a component", () => {
  const work = componentWork(component, place);

  test("is named by kind and uid, in the namespace of the cluster, with labels to watch it by", () => {
    expect(componentWorkName(component)).toBe("knfleet-knativeserving-c0ffee00");
    expect(work.metadata).toEqual({
      name: "knfleet-knativeserving-c0ffee00",
      namespace: "spoke-1",
      labels: {
        "app.kubernetes.io/managed-by": "knfleet",
        "knfleet.dev/component-uid": component.metadata.uid,
      },
      annotations: { "knfleet.dev/work-hash": hashOf(work["spec"]) },
    });
  });

  test("brings the component without its reference, with what the spoke has to know of the hub", () => {
    expect(manifestsOf(work)).toEqual([
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "knative-serving" } },
      {
        apiVersion: "operator.knative.dev/v1beta1",
        kind: "KnativeServing",
        metadata: {
          name: "main",
          namespace: "knative-serving",
          annotations: {
            "knfleet.dev/hub-id": "hub-id",
            "knfleet.dev/hub-component-uid": component.metadata.uid,
            "knfleet.dev/hub-generation": "3",
            "knfleet.dev/keep-while-used": "true",
          },
        },
        spec: { version: "1.23", config: component.spec?.config },
      },
    ]);
  });

  test("leaves the Namespace on the spoke when it is deleted", () => {
    expect(recordAt(work, "spec", "deleteOption")).toEqual({
      propagationPolicy: "SelectivelyOrphan",
      selectivelyOrphans: {
        orphaningRules: [
          { group: "", resource: "namespaces", name: "knative-serving", namespace: "" },
        ],
      },
    });
  });

  test("asks for the conditions of the component, told as they change", () => {
    const [config] = listAt(recordAt(work, "spec"), "manifestConfigs");
    expect(config).toMatchObject({
      resourceIdentifier: {
        group: "operator.knative.dev",
        resource: "knativeservings",
        name: "main",
        namespace: "knative-serving",
      },
      feedbackScrapeType: "Watch",
      updateStrategy: { serverSideApply: { force: true, fieldManager: "work-agent-knfleet" } },
      feedbackRules: [
        {
          jsonPaths: expect.arrayContaining([
            {
              name: "hubGeneration",
              path: String.raw`.metadata.annotations.knfleet\.dev/hub-generation`,
            },
            {
              name: "InstallSucceeded.message",
              path: '.status.conditions[?(@.type=="InstallSucceeded")].message',
            },
          ]),
        },
      ],
    });
  });
});

describe("the work of the agent", () => {
  const work = agentWork("spoke-1", "ghcr.io/knfleet/knfleet:1.0.0");

  test("brings the controller and its rights, the Namespace first and the Deployment last", () => {
    const kinds = manifestsOf(work).map((manifest) => recordAt(manifest)["kind"]);
    expect(kinds).toEqual([
      "Namespace",
      "ServiceAccount",
      "ClusterRole",
      "ClusterRoleBinding",
      "Role",
      "RoleBinding",
      "ClusterRole",
      "Deployment",
    ]);
  });

  test("pulls its image with the secret that Open Cluster Management copies into namespaces with its label", () => {
    const manifests = manifestsOf(work).map((manifest) => recordAt(manifest));
    expect(recordAt(manifests[0], "metadata")["labels"]).toEqual({
      "addon.open-cluster-management.io/namespace": "true",
    });
    const pod = recordAt(manifests.at(-1), "spec", "template", "spec");
    expect(pod["imagePullSecrets"]).toEqual([
      { name: "open-cluster-management-image-pull-credentials" },
    ]);
  });

  test("grants all of docs/spoke-role.yaml", () => {
    const role = recordAt(manifestsOf(work)[2]);
    expect(role["rules"]).toEqual(expect.arrayContaining([...listAt(spokeRole({}), "rules")]));
  });

  test("differs between two spokes in its namespace only", () => {
    expect(agentWork("spoke-2", "ghcr.io/knfleet/knfleet:1.0.0")["spec"]).toEqual(work["spec"]);
  });
});

test("both works of a spoke take less than 16 KB, so that 10,000 spokes fit into the etcd of a hub", () => {
  const works = [
    agentWork("spoke-1", "ghcr.io/knfleet/knfleet:1.0.0"),
    componentWork(component, place),
  ];
  const bytes = works.map((work) => Buffer.byteLength(JSON.stringify(work)));
  expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(16_000);
});
