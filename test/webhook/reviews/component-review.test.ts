import { describe, expect, test } from "vitest";

import { recordedRequest } from "../../vectors/recorded-reviews.ts";
import { fileOf, linesOf, profileOf, review, written } from "../component-stage.ts";

const ref = { namespace: "fleet", name: "spoke-1" };
const remote = { clusterProfileRef: ref };
const nobody = { may: () => false };
const bring = (URL: string) => written({ ...remote, additionalManifests: [{ URL }] });

describe("the recorded reviews of a real API server", () => {
  test.each([
    "knativeserving-create-certificate",
    "knativeserving-update-mergepatch-serviceaccount",
    "knativeserving-update-finalizer-serviceaccount",
    "knativeserving-status-update-serviceaccount",
    "knativeserving-delete-serviceaccount",
    "knativeserving-update-removefinalizer-serviceaccount",
    "knativeeventing-create-apply-serviceaccount",
    "knativeeventing-update-apply-certificate",
  ])("%s is allowed to who may use the cluster", async (name) => {
    expect(linesOf(await review(recordedRequest(name)))).toEqual([]);
  });

  test.each([
    "knativeserving-update-finalizer-serviceaccount",
    "knativeserving-status-update-serviceaccount",
    "knativeserving-delete-serviceaccount",
    "knativeserving-update-removefinalizer-serviceaccount",
  ])("T-73 %s is allowed to who may not use the cluster", async (name) => {
    expect(await review(recordedRequest(name), nobody)).toEqual({ violations: [], warnings: [] });
  });

  test.each([
    "knativeserving-create-certificate",
    "knativeserving-update-mergepatch-serviceaccount",
  ])(
    "T-01, T-08 %s is refused to who may not use the cluster, the controller too",
    async (name) => {
      const request = recordedRequest(name);
      const { username } = request.userInfo;
      expect(linesOf(await review(request, nobody))).toEqual([
        `403 spec.clusterProfileRef: user "${username}" may not use ClusterProfile "fleet/spoke-1"`,
      ]);
    },
  );
});

describe("the right to use a cluster", () => {
  test("T-01 the answer is the same whether or not the profile exists, is healthy, is served or is taken", async () => {
    const answers = await Promise.all([
      review(written(remote), nobody),
      review(written(remote), { ...nobody, profiles: [profileOf("spoke-1", "False")] }),
      review(written(remote), {
        ...nobody,
        files: [{ map: "a", file: fileOf("other") }],
        profiles: [profileOf("spoke-1")],
      }),
      review(written(remote), {
        ...nobody,
        components: [{ kind: "KnativeServing", namespace: "b", name: "b", ref }],
      }),
    ]);
    expect(new Set(answers.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(linesOf(answers[0])).toEqual([
      '403 spec.clusterProfileRef: user "alice" may not use ClusterProfile "fleet/spoke-1"',
    ]);
  });

  test("is asked for with the verb use on the one profile", async () => {
    const asked: unknown[] = [];
    await review(written(remote), { may: (user, attempt) => asked.push([user, attempt]) > 0 });
    expect(asked).toEqual([
      [
        "alice",
        { verb: "use", group: "multicluster.x-k8s.io", resource: "clusterprofiles", ...ref },
      ],
    ]);
  });

  test("T-02 every change of the spec needs it, a change of labels does not", async () => {
    const changed = { ...remote, additionalManifests: [{ URL: "https://example.com/a.yaml" }] };
    expect(linesOf(await review(written(changed, { before: remote }), nobody))[0]).toContain(
      "may not use",
    );
    const labelled = written(remote, { before: remote, metadata: { labels: { a: "b" } } });
    expect(await review(labelled, nobody)).toEqual({ violations: [], warnings: [] });
  });

  test("T-03 an API that does not answer is never a yes", async () => {
    const ruling = await review(written(remote), { may: () => new Error("secret text") });
    expect(linesOf(ruling)).toEqual([
      '500 spec.clusterProfileRef: the SubjectAccessReview for the right to use ClusterProfile "fleet/spoke-1" was not answered; try again',
    ]);
  });

  describe("T-04, T-20 what the controller would not permit", () => {
    const grants = [{ fromNamespace: "team", toNamespace: "fleet", names: ["spoke-1"] }];
    const granted = { references: { policy: { mode: "Granted", grants } } } as const;
    const same = { references: { policy: { mode: "Same", grants } } } as const;
    const other = { clusterProfileRef: { ...ref, name: "spoke-2" } };

    test("is refused, the same whether or not the profile exists", async () => {
      const lines = linesOf(await review(written(other), granted));
      expect(lines).toEqual([
        '403 spec.clusterProfileRef: ReferenceNotPermitted: No grant lets components of namespace "team" use ClusterProfile fleet/spoke-2',
      ]);
      const there = { ...granted, profiles: [profileOf("spoke-2", "True")] };
      expect(linesOf(await review(written(other), there))).toEqual(lines);
      expect(linesOf(await review(written(remote), same))[0]).toContain("--reference-mode=Same");
    });

    test("every change of the spec is refused when the grant is gone, one of labels is not", async () => {
      const changed = { ...other, version: "1.22" };
      expect(linesOf(await review(written(changed, { before: other }), granted))).toHaveLength(1);
      const labelled = written(other, { before: other, metadata: { labels: { a: "b" } } });
      expect(linesOf(await review(labelled, granted))).toEqual([]);
    });

    test("what is granted passes, and so does the hub itself", async () => {
      expect(linesOf(await review(written(remote), granted))).toEqual([]);
      expect(linesOf(await review(written({}), same))).toEqual([]);
    });

    test("who may not use a cluster keeps nobody from it", async () => {
      const twin = { kind: "KnativeServing", name: "b", ref } as const;
      const intruder = [{ ...twin, namespace: "elsewhere" }];
      const owner = [{ ...twin, namespace: "fleet" }];
      expect(linesOf(await review(written(remote), { ...granted, components: intruder }))).toEqual(
        [],
      );
      expect(linesOf(await review(written(remote), { ...granted, components: owner }))).toEqual([
        expect.stringMatching(/^409 /),
      ]);
    });

    test("T-34 manifests have to be pinned where several teams share the hub", async () => {
      const manifestSources = [{ origin: "https://example.org", path: "/" }];
      const url = "https://example.org/a.yaml";
      const pinned = `${url}#sha256=${"a".repeat(64)}`;
      expect(linesOf(await review(bring(url), { ...granted, manifestSources }))).toEqual([
        `403 spec.additionalManifests[0].URL: ManifestSourceNotAllowed: "${url}" is not pinned; end it with #sha256= and its digest`,
      ]);
      expect(linesOf(await review(bring(pinned), { ...granted, manifestSources }))).toEqual([]);
      expect(linesOf(await review(bring(url), { manifestSources }))).toEqual([]);
    });

    test("a namespace that is not trusted is refused, of a cluster manager is warned", async () => {
      const policy = { mode: "Any", grants: [], trustedNamespaces: ["inventory"] } as const;
      expect(linesOf(await review(written(remote), { references: { policy } }))).toEqual([
        expect.stringMatching(/^403 .* namespace "fleet" are not trusted/),
      ]);
      const managers = { policy: { mode: "Any", grants: [], trustedManagers: ["ocm"] } } as const;
      const profiles = [profileOf("spoke-1", "True")];
      const ruling = await review(written(remote), { references: managers, profiles });
      expect(ruling.violations).toEqual([]);
      expect(ruling.warnings).toEqual([
        "spec.clusterProfileRef: ReferenceNotPermitted: The cluster manager of ClusterProfile fleet/spoke-1 is not trusted (--trusted-cluster-manager)",
      ]);
      const hidden = await review(written(remote), { ...nobody, references: managers, profiles });
      expect(hidden.warnings).toEqual([]);
    });
  });

  test("T-06 the cluster of a component never changes", async () => {
    const text = "immutable once set; delete the resource and create it for the new cluster";
    const other = { clusterProfileRef: { ...ref, name: "spoke-2" } };
    expect(linesOf(await review(written(other, { before: remote })))).toEqual([
      `403 spec.clusterProfileRef: ${text}`,
    ]);
    expect(linesOf(await review(written({}, { before: remote })))).toEqual([
      `403 spec.clusterProfileRef: ${text}`,
    ]);
    expect(linesOf(await review(written(undefined, { before: remote })))).toEqual([
      `403 spec.clusterProfileRef: ${text}`,
    ]);
    expect(linesOf(await review(written(remote, { before: {} })))[0]).toContain(
      "cannot be added later",
    );
  });

  test("T-73 an object that is being deleted passes with whatever is wrong, as long as its spec stays", async () => {
    const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    const wrong = { version: "x", manifests: 1 };
    const kept = written(wrong, { before: wrong, metadata });
    expect(linesOf(await review(kept, nobody))).toEqual([]);
    const changed = written({ ...remote, version: "1.23.0" }, { before: remote, metadata });
    expect(linesOf(await review(changed))).toEqual([
      '403 spec: no longer changes, because KnativeServing "team/knative" is being deleted',
    ]);
  });

  test("a component that only says that it is being deleted is reviewed when it is created", async () => {
    const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(linesOf(await review(written({ manifests: 1 }, { metadata })))).toHaveLength(1);
  });
});

describe("T-07 the parts of the reference", () => {
  test.each(["a/b", "..", "a..b", "Upper", "nul\0", "a".repeat(254), "-a", "a-", "ü", " a"])(
    "%j is no name",
    async (name) => {
      const lines = linesOf(
        await review(written({ clusterProfileRef: { namespace: "fleet", name } })),
      );
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /^422 spec\.clusterProfileRef\.name: must be the name of a ClusterProfile/,
      );
    },
  );

  test.each(["a/b", "..", "a.b", "Upper", "nul\0", "a".repeat(64)])(
    "%j is no namespace",
    async (namespace) => {
      const lines = linesOf(await review(written({ clusterProfileRef: { namespace, name: "a" } })));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(
        /^422 spec\.clusterProfileRef\.namespace: must be the name of a Namespace/,
      );
    },
  );
});

describe("one component of a kind on a cluster", () => {
  const there = { kind: "KnativeServing", namespace: "b", name: "b" } as const;

  test("a second is refused, also on the hub itself", async () => {
    expect(linesOf(await review(written(remote), { components: [{ ...there, ref }] }))).toEqual([
      "409 spec.clusterProfileRef: KnativeServing b/b is on the same cluster already, and one KnativeServing is all that a cluster can have; change or delete that one",
    ]);
    expect(
      linesOf(await review(written({}), { components: [{ ...there, ref: undefined }] }))[0],
    ).toMatch(/^409 spec: KnativeServing b\/b is on this cluster already/);
  });

  test.each([
    ["of another kind", { ...there, kind: "KnativeEventing", ref } as const],
    ["on another cluster", { ...there, ref: { ...ref, name: "spoke-2" } }],
    ["that is the same", { ...there, namespace: "team", name: "knative", ref }],
  ])("one %s is allowed", async (_what, other) => {
    expect(linesOf(await review(written(remote), { components: [other] }))).toEqual([]);
  });

  test("one of two that are there can still be changed, with a warning", async () => {
    const request = written({ ...remote, config: {} }, { before: remote });
    const ruling = await review(request, { components: [{ ...there, ref }] });
    expect(ruling.violations).toEqual([]);
    expect(ruling.warnings).toContainEqual(expect.stringContaining("one of the two has to go"));
  });

  test("what cannot be found out is refused", async () => {
    const facts = {
      profile: async () => undefined,
      components: async () => Promise.reject(new Error("gone")),
      providerFiles: async () => [],
    };
    expect(linesOf(await review(written({}), { facts }))[0]).toMatch(/^500 spec: whether another/);
  });
});

const marked = (component: string) => ({
  labels: { "knfleet.dev/set": "prod", "knfleet.dev/set-kind": "KnativeServingSet" },
  annotations: { "knfleet.dev/set-component": component },
});

describe("the marks of a fleet set", () => {
  test("are refused on a copy of a component", async () => {
    const copied = written(remote, { name: "copy", metadata: marked("prod-eu") });
    expect(linesOf(await review(copied))).toEqual([
      expect.stringContaining('422 metadata.annotations["knfleet.dev/set-component"]: is the mark'),
    ]);
  });

  test("are as the set and a backup write them", async () => {
    const stamped = written(remote, { name: "prod-eu", metadata: marked("prod-eu") });
    expect(linesOf(await review(stamped))).toEqual([]);
  });

  test("never keep an update from being written", async () => {
    const before = { ...remote, version: "1.22" };
    const edited = { name: "copy", metadata: marked("prod-eu"), before };
    expect(linesOf(await review(written({ ...remote, version: "1.23" }, edited)))).toEqual([]);
  });

  test("cause a warning where no set wrote them", async () => {
    const { labels } = marked("");
    const ruling = await review(written(remote, { metadata: { labels } }));
    expect(ruling.violations).toEqual([]);
    expect(ruling.warnings).toContainEqual(
      expect.stringContaining('metadata.labels["knfleet.dev/set"]'),
    );
  });
});

describe("the annotation knfleet.dev/delivery", () => {
  test.each([
    ["Push", remote, []],
    ["Pull", remote, []],
    ["pull", remote, [expect.stringContaining("must be Push or Pull")]],
    ["Pull", {}, [expect.stringContaining("Pull needs spec.clusterProfileRef")]],
  ])("%s with the spec %j", async (delivery, spec, lines) => {
    const metadata = { annotations: { "knfleet.dev/delivery": delivery } };
    expect(linesOf(await review(written(spec, { metadata })))).toEqual(lines);
  });
});
