import { describe, expect, test } from "vitest";

import {
  installationNamespace,
  possibleNamespaces,
  recordedNamespace,
} from "../../installation/installation-namespace.ts";
import { serving } from "../support/component.ts";

const clusterProfileRef = { namespace: "fleet", name: "one" };

function remote(recorded?: string) {
  const annotations =
    recorded === undefined ? {} : { annotations: { "knfleet.dev/spoke-namespace": recorded } };
  return serving({
    metadata: { namespace: "team-a", ...annotations },
    spec: { clusterProfileRef },
  });
}

describe("the namespace of an installation", () => {
  test.each(["Component", "Canonical"] as const)(
    "on the hub itself it is the component's own, whatever mode %s, record and anchors say",
    (mode) => {
      const annotations = { "knfleet.dev/spoke-namespace": "knative-serving" };
      const local = serving({ metadata: { namespace: "team-a", annotations } });
      expect(installationNamespace(local, mode)).toBe("team-a");
      expect(installationNamespace(local, mode, ["knative-serving"])).toBe("team-a");
    },
  );

  test("of a new one on a spoke the mode decides, by the kind", () => {
    expect(installationNamespace(remote(), "Component")).toBe("team-a");
    expect(installationNamespace(remote(), "Canonical")).toBe("knative-serving");
    const { metadata, spec } = remote();
    const { kind } = { kind: "KnativeEventing" } as const;
    expect(installationNamespace({ kind, metadata, spec }, "Canonical")).toBe("knative-eventing");
  });

  test.each([
    ["Component", undefined, ["knative-serving"], "knative-serving"],
    ["Canonical", undefined, ["team-a"], "team-a"],
    ["Canonical", "knative-serving", ["team-a"], "team-a"],
    ["Canonical", "team-a", [], "team-a"],
    ["Component", "knative-serving", [], "knative-serving"],
    ["Canonical", "team-a", ["knative-serving", "team-a"], "team-a"],
    ["Component", undefined, ["knative-serving", "team-a"], "team-a"],
    ["Canonical", undefined, ["knative-serving", "team-a"], "knative-serving"],
  ] as const)("mode %s, recorded %s, anchors in %j: %s", (...row) => {
    const [mode, recorded, found, expected] = row;
    expect(installationNamespace(remote(recorded), mode, found)).toBe(expected);
  });

  test("a record of a namespace that is not possible is none", () => {
    expect(recordedNamespace(remote("kube-system"))).toBeUndefined();
    expect(installationNamespace(remote("kube-system"), "Canonical")).toBe("knative-serving");
  });
});

test("a component can be in one namespace only where both are the same", () => {
  expect(possibleNamespaces(remote())).toEqual(["knative-serving", "team-a"]);
  const usual = serving({
    metadata: { namespace: "knative-serving" },
    spec: { clusterProfileRef },
  });
  expect(possibleNamespaces(usual)).toEqual(["knative-serving"]);
});
