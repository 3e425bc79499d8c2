import { describe, expect, test } from "vitest";

import { knfCodes } from "../../../../api/knf/knf-codes.ts";
import type { Condition } from "../../../../api/kubernetes.ts";
import { codes, reasons } from "../../../../api/reasons.ts";
import { explain } from "../../../../cmd/kubectl/findings/words/explain.ts";
import { hubViewOf } from "../../../../cmd/kubectl/hub/installations.ts";
import { conditionCode } from "../../../../cmd/kubectl/output/condition-code.ts";
import { knfOf } from "../../../../cmd/kubectl/output/knf-of.ts";
import { ownReasons } from "../../../../cmd/kubectl/output/own-reasons.ts";
import { component } from "../fleet-facts.ts";

/** About the command line or the moment, not about the fleet. */
const withoutNumber = [
  "RemoteClusterStale",
  "ClusterProviderClosed",
  "ConfigInvalid",
  "Interrupted",
  "NotInBundle",
  "StreamLimit",
  "LogUnavailable",
  "Malformed",
  "NotStarted",
  "Usage",
  "InternalError",
];

describe("the number of a reason", () => {
  const all = [reasons, ownReasons].flatMap((list) => Object.keys(list));

  test("is there for every reason and code that is a finding, and for no other word", () => {
    const without = [...all, ...codes].filter((reason) => knfOf(reason) === null);
    expect(without.toSorted()).toEqual(withoutNumber.toSorted());
    expect([null, "toString", "NotReady"].map((word) => knfOf(word))).toEqual([null, null, null]);
  });

  test.each([
    ["NotObserved", "KNF1011", "StatusOutdated"],
    ["NoProviderFile", "KNF3001", "ProviderFileNotNamed"],
    ["PluginNotRun", "KNF3013", "PluginNotRun"],
    ["Timeout", "KNF4009", "NoAnswer"],
    ["ServerError", "KNF4016", "ServerError"],
    ["NotInstalled", "KNF6004", "NotInstalled"],
    ["AnchorMissing", "KNF6002", "AnchorMissing"],
    ["DeploymentsMissing", "KNF6006", "ObjectsMissing"],
    ["NotFound", "KNF1010", "ComponentNotFound"],
    ["HubUnavailable", "KNF1001", "HubUnreachable"],
    ["NotServed", "KNF1004", "KindsNotServed"],
  ] as const)("of %s is %s, %s", (reason, code, name) => {
    expect({ code: knfOf(reason), name: knfCodes[code].name }).toEqual({ code, name });
  });

  test("is another one where the hub said it", () => {
    const ofHub = ["Forbidden", "CredentialRejected", "Timeout", "ServerError", "TLSUntrusted"];
    expect(ofHub.map((reason) => knfOf(reason, { isHub: true }))).toEqual([
      "KNF1003",
      "KNF1002",
      "KNF1001",
      "KNF1001",
      "KNF1001",
    ]);
  });

  test("is told by explain of the reason, and the reasons by explain of the number", () => {
    const known = [...all, ...codes].filter((reason) => knfOf(reason) !== null);
    const lost = known.filter((reason) => {
      const code = knfOf(reason);
      const numbers = explain(reason).map((one) => one.code ?? one.name);
      const back = explain(code ?? "").flatMap((one) => one.reasons);
      return !numbers.includes(code ?? "") || !back.includes(reason);
    });
    expect(lost).toEqual([]);
  });
});

describe("the number of a failure on the way", () => {
  test.each([
    ["Unreachable", "https://x refused the connection (ECONNREFUSED)", "KNF4002"],
    ["Unreachable", "https://x has a host name that does not resolve (ENOTFOUND)", "KNF4001"],
    ["Unreachable", "https://x is not where connections may go", "KNF4005"],
    ["TLSUntrusted", "https://x shows a certificate (CERT_HAS_EXPIRED)", "KNF4011"],
    ["TLSUntrusted", "https://x shows one (ERR_TLS_CERT_ALTNAME_INVALID)", "KNF4012"],
    ["TLSUntrusted", "https://x shows one (SELF_SIGNED_CERT_IN_CHAIN)", "KNF4010"],
    ["PluginNotFound", "the file is not executable (EACCES)", "KNF3007"],
    ["PluginOutputInvalid", "the credential has expired already", "KNF3014"],
    ["Timeout", "No answer within 10 s", "KNF4009"],
    ["ClusterProfileNotReady", "ClusterProfile a/b has no condition X=True", "KNF2003"],
    ["ClusterProfileNotReady", "a/b has none: it is False TLSUntrusted: https://x", "KNF4010"],
    ["ClusterProfileNotReady", "a/b has none: it is False Unreachable", "KNF4009"],
    ["ClusterProfileNotReady", "a/b has none: it is False EndpointInvalid", "KNF2006"],
    ["NoMatchingProvider", 'a/b offers the providers "x", the provider file has "y"', "KNF3004"],
    ["NoMatchingProvider", 'a/b offers the providers (none), the provider file has "y"', "KNF2015"],
    ["EndpointInvalid", "The access entry is not usable: server is empty", "KNF2006"],
    [
      "EndpointInvalid",
      'allowedServers of the provider "google" does not hold the server a.test of the profile',
      "KNF3022",
    ],
    [
      "EndpointInvalid",
      "certificate-authority-data is missing, and the provider does not set systemRoots: true",
      "KNF3022",
    ],
  ])("%s: %s is %s, as diagnose says", (reason, message, code) => {
    expect(knfOf(reason, { message })).toBe(code);
  });
});

function of(says: string, reason: string, message = ""): Condition {
  const [type = "", text] = says.split("=");
  const status = text === "True" || text === "False" ? text : "Unknown";
  return { type, status, reason, message };
}

describe("the number of a condition", () => {
  test.each([
    [of("Ready=True", ""), null],
    [of("TargetClusterResolved=False", "AccessProviderFailed", "[PluginTimeout] x"), "KNF3010"],
    [of("TargetClusterResolved=False", "AccessProviderFailed", "x"), "KNF3009"],
    [
      of(
        "TargetClusterResolved=False",
        "ClusterProfileNotReady",
        "ClusterProfile fleet/a is being deleted since 2026-01-01T00:00:00Z, and a finalizer holds it",
      ),
      "KNF2014",
    ],
    [of("VersionMigrationEligible=False", "Error", "x"), "KNF1015"],
    [of("DeploymentsAvailable=False", "NotReady", "x"), "KNF6009"],
    [of("InstallSucceeded=False", "Error", "spec.version is odd"), "KNF1017"],
    [of("InstallSucceeded=Unknown", "Installing", "12 of 40"), "KNF6008"],
    [of("InstallSucceeded=False", "Error", "the API server refused it"), "KNF1018"],
    [
      of(
        "InstallSucceeded=False",
        "Error",
        "Install failed with message: ConfigMap a/b: Not allowed: the admission webhook config.webhook.serving.knative.dev denies it (and 1 more)",
      ),
      "KNF6012",
    ],
    [
      of(
        "InstallSucceeded=False",
        "Error",
        "Install failed with message: ConfigMap a/b: Not allowed: the controller lacks the right to create configmaps",
      ),
      "KNF1018",
    ],
    [
      of("InstallSucceeded=False", "Error", "Removal failed with message: [AdmissionRefused] x"),
      "KNF6012",
    ],
    [
      of("InstallSucceeded=False", "Error", "Install failed with message: spec.x is odd"),
      "KNF1017",
    ],
    [
      of(
        "InstallSucceeded=False",
        "Error",
        "Install failed with message: The release directory holds no version of KnativeEventing",
      ),
      "KNF1016",
    ],
    [of("InstallSucceeded=False", "ReleasePartNotFound", "The release directory holds"), "KNF1023"],
    [of("InstallSucceeded=False", "ClusterBusy", "Namespace a is being deleted"), "KNF6011"],
    [
      of(
        "InstallSucceeded=Unknown",
        "Installing",
        "39 of 40 objects applied, 1 waiting for webhook a.b of MutatingWebhookConfiguration c: ConfigMap a/b: Waiting for webhook a.b of MutatingWebhookConfiguration c",
      ),
      "KNF6016",
    ],
    [
      of(
        "InstallSucceeded=False",
        "ClusterBusy",
        "Waiting for the deletion of ConfigMap a/b: the webhook a.b does not answer",
      ),
      "KNF6016",
    ],
    [
      of(
        "InstallSucceeded=False",
        "Error",
        "Install failed with message: [WebhookSilent] The spoke: PATCH /api was answered 500: the webhook a.b does not answer",
      ),
      "KNF6016",
    ],
    [
      of(
        "InstallSucceeded=False",
        "Error",
        "Install failed with message: ConfigMap a/b: Not allowed: the admission webhook a.b of ValidatingWebhookConfiguration c denies it",
      ),
      "KNF6012",
    ],
    [of("InstallSucceeded=False", "ClusterBusy", "Namespace a does not exist"), "KNF6011"],
    [
      of("InstallSucceeded=False", "ClusterBusy", "Still used by 2 Broker (a/b, a/c); delete them"),
      "KNF6013",
    ],
    [
      of("InstallSucceeded=False", "ClusterBusy", "Waiting for the deletion of ConfigMap a/b"),
      "KNF6014",
    ],
    [of("InstallSucceeded=False", "ClusterBusy", "The hub: GET /api was answered 503"), "KNF4016"],
    [of("AnchorProtected=False", "SharedIdentity"), "KNF5004"],
    [of("AnchorProtected=False", "TwinOwner"), null],
    [of("Contested=True", "Contested"), "KNF6007"],
    [of("Contested=False", ""), null],
  ])("$0.type=$0.status $0.reason $0.message is %s", (condition, code) => {
    expect(conditionCode(condition, [condition])).toBe(code);
  });

  test.each([
    [
      "MulticlusterDisabled",
      "cluster provider not configured; set --clusterprofile-provider-file",
      3001,
    ],
    ["AccessProviderFailed", 'x: no matching cluster accessor found for cluster profile "a"', 3004],
    ["AccessProviderFailed", 'x: no exec config found for provider "p"', 3005],
    ["AccessProviderFailed", "x: failed to unmarshal additional CLI args extension: y", 2008],
    ["RemoteClientCreationFailed", "failed to create remote kube client: bad CA", 2006],
  ])(
    "of the upstream operator follows what its code means: %s, %s (D1)",
    (reason, message, number) => {
      const condition = of("TargetClusterResolved=False", reason, message);
      expect(conditionCode(condition, [condition])).toBe(`KNF${number}`);
    },
  );

  test("that is in the way is the number of the hub's word", () => {
    const conditions = [
      of("Ready=False", "Error", "x"),
      of("InstallSucceeded=False", "Error", "[Forbidden] x"),
      of("DeploymentsAvailable=Unknown", "", ""),
    ];
    expect(hubViewOf(component({ status: { conditions, observedGeneration: 1 } }))).toMatchObject({
      reason: "Error",
      code: "KNF5002",
    });
  });
});
