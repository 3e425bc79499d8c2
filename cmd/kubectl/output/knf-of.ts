import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import { type Code, type Reason, rollingOut, scaledToZero } from "../../../api/reasons.ts";
import {
  cannotList,
  clusterGoes,
  clusterSilent,
  conditionSays,
  credentialExpired,
  denials,
  forbiddenPlace,
  hasSentence,
  letsGo,
  namespaceGoes,
  noProviders,
  offersProviders,
  ofHub,
  otherCluster,
  pluginLacksHome,
  profileLeaves,
  providerForbids,
  type Sentence,
  silences,
  stillUsed,
  useNeedsRight,
  wasAnswered,
} from "../../../api/sentences.ts";
import type { OwnReason } from "./own-reasons.ts";

/** The number of each code of the credential path. The controller writes the same codes into conditions. */
export const knfOfCode: Readonly<Record<Code, KnfCode>> = {
  ProviderFileUnreadable: "KNF3002",
  ProviderFileInvalid: "KNF3003",
  NoMatchingProvider: "KNF3004",
  ProviderInvalid: "KNF3005",
  ExtensionInvalid: "KNF2008",
  EndpointInvalid: "KNF2006",
  PluginNotFound: "KNF3006",
  PluginNotAllowed: "KNF3008",
  PluginFailed: "KNF3009",
  PluginTimeout: "KNF3010",
  PluginOutputInvalid: "KNF3011",
  PluginInputTooLarge: "KNF3012",
  CredentialRejected: "KNF5001",
  Forbidden: "KNF5002",
  AdmissionRefused: "KNF6012",
  WebhookSilent: "KNF6016",
  Unreachable: "KNF4009",
  NotKubernetes: "KNF4015",
  TLSUntrusted: "KNF4010",
  TooLarge: "KNF4017",
  NotManagedByOCM: "KNF2009",
  WorkForbidden: "KNF5005",
  WorkRightMissing: "KNF2012",
  WorkRefused: "KNF2013",
};

/** The number of each reason of the controller without a code. The other reasons only say that an attempt goes on. */
export const knfOfReason: Readonly<Partial<Record<Reason, KnfCode>>> = {
  ClusterProfileNotFound: "KNF2002",
  ClusterProfileNotReady: "KNF2003",
  ClusterProfileUnavailable: "KNF2005",
  AccessProviderNotConfigured: "KNF3001",
  MulticlusterDisabled: "KNF3004",
  AccessProviderFailed: "KNF3009",
  RemoteClientCreationFailed: "KNF4009",
  SpokeUnreachable: "KNF4009",
  ReferenceNotPermitted: "KNF1019",
  VersionNotEligible: "KNF1015",
  ReleaseNotFound: "KNF1016",
  ReleasePartNotFound: "KNF1023",
  ReleasesUnavailable: "KNF1022",
  ManifestInvalid: "KNF1017",
  ManifestSourceNotAllowed: "KNF1017",
  ManifestSourceUnavailable: "KNF1017",
  KubernetesVersionTooOld: "KNF6001",
  ApplyFailed: "KNF1018",
  AnchorConflict: "KNF6003",
  AnchorUnprotected: "KNF6005",
  DuplicateComponent: "KNF1013",
  ClusterBusy: "KNF6014",
  DeploymentsNotReady: "KNF6009",
};

/** The number of each reason of this program. The other reasons are about the command, not about the fleet. */
const knfOfOwn: Readonly<Partial<Record<OwnReason, KnfCode>>> = {
  NoStatus: "KNF1011",
  NotObserved: "KNF1011",
  NoProviderFile: "KNF3001",
  PluginNotRun: "KNF3013",
  PullOnly: "KNF2011",
  Timeout: "KNF4009",
  ServerError: "KNF4016",
  NotInstalled: "KNF6004",
  OtherInstallation: "KNF6004",
  AnchorMissing: "KNF6002",
  NoDeployments: "KNF6009",
  DeploymentsMissing: "KNF6006",
  NotFound: "KNF1010",
  NoController: "KNF1005",
  HubUnavailable: "KNF1001",
  NotServed: "KNF1004",
};

/** Reasons that have another number on the hub. */
const knfOnHub: Readonly<Partial<Record<Code | OwnReason, KnfCode>>> = {
  CredentialRejected: "KNF1002",
  Forbidden: "KNF1003",
  Timeout: "KNF1001",
  ServerError: "KNF1001",
  TLSUntrusted: "KNF1001",
  Unreachable: "KNF1001",
  NotKubernetes: "KNF1001",
  TooLarge: "KNF1001",
};

const onSpokes: Readonly<Partial<Record<string, KnfCode>>> = {
  [rollingOut]: "KNF6008",
  [scaledToZero]: "KNF6015",
  ...knfOfOwn,
  ...knfOfReason,
  ...knfOfCode,
};
const onHub: Readonly<Partial<Record<string, KnfCode>>> = { ...onSpokes, ...knfOnHub };

/** Where a reason comes from, and its message. */
export interface Said {
  readonly isHub?: boolean;
  readonly message?: string | null;
}

/** The number of a reason. Null for a reason that is no finding, and for reasons of other programs. */
export function knfOf(
  reason: string | null,
  { isHub = false, message }: Said = {},
): KnfCode | null {
  const known = isHub ? onHub : onSpokes;
  const code = reason !== null && Object.hasOwn(known, reason) ? known[reason] : undefined;
  return code === undefined ? null : finerKnf(code, message ?? "");
}

/** All reasons with this number, on a spoke or on the hub. */
export function reasonsOfKnf(code: string): readonly string[] {
  return Object.keys(onHub).filter((reason) => onSpokes[reason] === code || onHub[reason] === code);
}

/** The number of each Node code of socket and certificate errors. */
export const knfOfSocket: Readonly<Partial<Record<string, KnfCode>>> = {
  ENOTFOUND: "KNF4001",
  EAI_AGAIN: "KNF4001",
  EAI_NODATA: "KNF4001",
  ECONNREFUSED: "KNF4002",
  UND_ERR_CONNECT_TIMEOUT: "KNF4003",
  EHOSTUNREACH: "KNF4004",
  ENETUNREACH: "KNF4004",
  ECONNRESET: "KNF4008",
  EPIPE: "KNF4008",
  EPROTO: "KNF4008",
  UND_ERR_SOCKET: "KNF4008",
  CERT_HAS_EXPIRED: "KNF4011",
  CERT_NOT_YET_VALID: "KNF4011",
  ERR_TLS_CERT_ALTNAME_INVALID: "KNF4012",
  HOSTNAME_MISMATCH: "KNF4012",
};

const silent = Object.values(silences);

/** The sentences by which the first number is the last one; a word: the last word of the sentence. */
const finerForms: readonly (readonly [
  from: KnfCode,
  sentences: readonly Pick<Sentence, "wordsIn">[],
  to: KnfCode,
  word?: string,
])[] = [
  ["KNF2003", [profileLeaves], "KNF2014"],
  ["KNF2003", [conditionSays], "KNF4010", "TLSUntrusted"],
  ["KNF2003", [conditionSays], "KNF4009", "Unreachable"],
  ["KNF2003", [conditionSays], "KNF2006", "EndpointInvalid"],
  ["KNF3004", [offersProviders], "KNF2015", noProviders],
  // The ClusterProfile may be right: the remedy is in the provider file.
  ["KNF2006", Object.values(providerForbids), "KNF3022"],
  ["KNF3009", [pluginLacksHome], "KNF3023"],
  ["KNF3009", [otherCluster], "KNF2018"],
  ["KNF3011", [credentialExpired], "KNF3014"],
  // A component without a ClusterProfile is installed on the hub itself.
  ["KNF5002", [ofHub], "KNF1028"],
  // The role of a spoke has no rights on the objects of users.
  ["KNF5002", [useNeedsRight], "KNF5006"],
  // Nobody dials such a cluster.
  ["KNF4009", Object.values(clusterSilent), "KNF2019"],
  ["KNF4009", [forbiddenPlace], "KNF4005"],
  ["KNF1018", Object.values(denials), "KNF6012"],
  ["KNF1018", silent, "KNF6016"],
  ["KNF6008", silent, "KNF6016"],
  ["KNF6014", silent, "KNF6016"],
  ["KNF6014", Object.values(denials), "KNF6012"],
  ["KNF6014", [cannotList], "KNF4016"],
  ["KNF6014", Object.values(namespaceGoes), "KNF6011"],
  ["KNF6014", [clusterGoes], "KNF2016"],
  ["KNF6014", Object.values(letsGo), "KNF2017"],
  ["KNF6014", [stillUsed], "KNF6013"],
  ["KNF6014", [wasAnswered], "KNF4016"],
];

/** Refines the number of a reason by its message, so that it is as exact as that of `diagnose`. */
export function finerKnf(code: KnfCode, message: string): KnfCode {
  const form = finerForms.find(([from, sentences, , word]) => {
    if (from !== code) return false;
    const found = sentences.flatMap(({ wordsIn }) => wordsIn(message) ?? []);
    return word === undefined ? hasSentence(message, sentences) : found.at(-1) === word;
  });
  if (form !== undefined) return form[2];
  // The word of the operating system; the file was found.
  if (code === "KNF3006" && message.includes("(EACCES)")) return "KNF3007";
  if (code !== "KNF4009" && code !== "KNF4010") return code;
  const words = Array.from(message.matchAll(/\(([A-Z][A-Z0-9_]+)\)/g), ([, word = ""]) => word);
  const known = words.find((word) => Object.hasOwn(knfOfSocket, word));
  return known === undefined ? code : (knfOfSocket[known] ?? code);
}
