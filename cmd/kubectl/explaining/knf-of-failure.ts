import type { KnfCode } from "../../../api/knf/knf-codes.ts";

/** Errors of sockets and of certificates by the code that Node gives them. */
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

const finerForms: readonly (readonly [KnfCode, RegExp, KnfCode])[] = [
  ["KNF3006", /\(EACCES\)/, "KNF3007"],
  ["KNF3011", /has expired already$/, "KNF3014"],
  ["KNF4009", /is not where connections may go/, "KNF4005"],
  [
    "KNF1018",
    /: Not allowed: (?:the (?:admission webhook|ValidatingAdmissionPolicy) [\w.-]+|an admission policy of the cluster) denies it/,
    "KNF6012",
  ],
  ["KNF6014", /^Namespace \S+ (?:is being deleted|does not exist)/, "KNF6011"],
  ["KNF6014", /^Still used by /, "KNF6013"],
  ["KNF6014", /\bwas answered \d{3}\b/, "KNF4016"],
];

/** The number that a message makes of one that is known from its reason: both are as exact as what `diagnose` finds. */
export function finerKnf(code: KnfCode, message: string): KnfCode {
  const form = finerForms.find(([from, pattern]) => from === code && pattern.test(message));
  if (form !== undefined) return form[2];
  if (code !== "KNF4009" && code !== "KNF4010") return code;
  const words = Array.from(message.matchAll(/\(([A-Z][A-Z0-9_]+)\)/g), ([, word = ""]) => word);
  const known = words.find((word) => Object.hasOwn(knfOfSocket, word));
  return known === undefined ? code : (knfOfSocket[known] ?? code);
}
