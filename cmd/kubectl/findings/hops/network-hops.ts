import type { Socket } from "node:net";

import type { AddressGuard } from "../../../../access/http/address-guard.ts";
import {
  probeCertificate,
  probeConnection,
  probeName,
  serverAddressOf,
  type ShownCertificate,
} from "../../../../access/http/endpoint-probe.ts";
import type { Endpoint } from "../../../../access/http/endpoint.ts";
import type { ServerAddress } from "../../../../access/http/socks.ts";
import { openSocket } from "../../../../access/http/tunnel.ts";
import { ConnectionError } from "../../../../access/kube/api-error.ts";
import type { Clock } from "../../../../access/time/clock.ts";
import { timestampOf } from "../../../../api/conditions.ts";
import type { KnfCode } from "../../../../api/knf/knf-codes.ts";
import { networkFinding } from "../explain-error.ts";
import { failedBy, finding, type Finding, type HopResult, passed, passedWith } from "./hop.ts";

/** Limits of each step on the network. */
interface NetworkLimits {
  readonly clock: Clock;
  readonly guard: AddressGuard;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Resolves the name of the server. Behind a proxy it resolves the proxy's name, because the proxy resolves that of the server. */
export function checkName(endpoint: Endpoint, limits: NetworkLimits): Promise<HopResult<true>> {
  const { host } = firstAddress(endpoint);
  const guard = firstAddressGuard(endpoint, limits);
  return attempt(endpoint, "KNF4001", async () => {
    const addresses = await probeName(host, { ...limits, guard });
    const isAddress = addresses.includes(host);
    return passed(true, `${host} is ${isAddress ? "an address" : addresses.join(", ")}`);
  });
}

/** Connects to the server, or to the proxy in front of it. */
export function checkTcp(endpoint: Endpoint, limits: NetworkLimits): Promise<HopResult<true>> {
  const { clock, timeoutMs: connectTimeoutMs, signal } = limits;
  const guard = firstAddressGuard(endpoint, limits);
  return attempt(endpoint, "KNF4003", async () => {
    const socket = await openSocket(firstAddress(endpoint), {
      clock,
      connectTimeoutMs,
      signal,
      guard,
    });
    socket.destroy();
    return passed(true, `${firstAddressText(endpoint)} accepts connections`);
  });
}

/** The server, or the proxy in front of it. */
function firstAddress(endpoint: Endpoint): ServerAddress {
  return endpoint.proxy ?? serverAddressOf(endpoint);
}

function firstAddressText(endpoint: Endpoint): string {
  const { host, port } = firstAddress(endpoint);
  return `${endpoint.proxy === undefined ? "" : "proxy "}${host}:${port}`;
}

function firstAddressGuard({ proxy }: Endpoint, { guard }: NetworkLimits): AddressGuard {
  return proxy === undefined ? guard : (guard.proxy ?? guard);
}

/** Checks that the proxy connects to the server. */
export async function checkProxy(
  endpoint: Endpoint,
  limits: NetworkLimits,
): Promise<HopResult<true>> {
  const address = serverAddressOf(endpoint);
  const what = `the proxy to ${address.host}:${address.port}`;
  try {
    (await probeConnection(endpoint, limits)).destroy();
    return passed(true, `makes a connection to ${address.host}:${address.port}`);
  } catch (error) {
    limits.signal.throwIfAborted();
    const found =
      error instanceof ConnectionError && error.failure === "other"
        ? finding("error", "KNF4007", { message: error.message })
        : { ...networkFinding(error, "KNF4007", what), code: "KNF4007" as const };
    return failedBy(found);
  }
}

async function attempt(
  endpoint: Endpoint,
  stalled: KnfCode,
  work: () => Promise<HopResult<true>>,
): Promise<HopResult<true>> {
  try {
    return await work();
  } catch (error) {
    const found = networkFinding(error, stalled, firstAddressText(endpoint));
    const isProxy = endpoint.proxy !== undefined && found.code !== "KNF4005";
    const { message, evidence } = found;
    return failedBy(isProxy ? finding("error", "KNF4006", { message, evidence }) : found);
  }
}

/** Does a TLS handshake and judges the server's certificate. No credential is sent. */
export async function checkTls(
  endpoint: Endpoint,
  limits: NetworkLimits,
  nowMs: number,
): Promise<HopResult<true>> {
  const { host, port } = serverAddressOf(endpoint);
  const what = `${host}:${port}`;
  let socket: Socket | undefined;
  try {
    socket = await probeConnection(endpoint, limits);
    const shown = await probeCertificate(socket, endpoint, limits);
    return certificateResult(shown, endpoint, nowMs);
  } catch (error) {
    limits.signal.throwIfAborted();
    return failedBy(networkFinding(error, "KNF4009", what));
  } finally {
    socket?.destroy();
  }
}

const soonMs = 14 * 24 * 3_600_000;

function certificateResult(
  shown: ShownCertificate,
  endpoint: Endpoint,
  nowMs: number,
): HopResult<true> {
  const { subject, issuer, protocol, chain, names, notBeforeMs, notAfterMs } = shown;
  const evidence = [
    `subject ${subject}, issuer ${issuer}`,
    `for ${names.slice(0, 12).join(", ")}`,
    `valid from ${dateOf(notBeforeMs)} to ${dateOf(notAfterMs)}`,
    ...(chain.length > 1 ? [`chain ${chain.join(" <- ")}`] : []),
  ];
  const text = `${protocol}, certificate of ${subject}, valid to ${dateOf(notAfterMs)}`;
  const endsAtMs = Number.isNaN(notAfterMs) ? undefined : notAfterMs;
  if (shown.problem !== undefined && endpoint.insecureSkipTlsVerify !== true) {
    return { ...failedBy(problemFinding(shown, evidence), evidence), endsAtMs };
  }
  const findings: readonly Finding[] =
    notAfterMs - nowMs < soonMs
      ? [
          finding("warning", "KNF4013", {
            message: `The server's certificate ends ${dateOf(notAfterMs)}`,
          }),
        ]
      : [];
  return { ...passedWith(true, text, { findings, evidence }), endsAtMs };
}

function problemFinding(shown: ShownCertificate, evidence: readonly string[]): Finding {
  const { problem = "", names, expectedName, notBeforeMs, notAfterMs, issuer } = shown;
  const why = `OpenSSL says ${problem}`;
  if (problem === "CERT_HAS_EXPIRED" || problem === "CERT_NOT_YET_VALID") {
    const message = `The server's certificate is valid from ${dateOf(notBeforeMs)} to ${dateOf(notAfterMs)}`;
    return finding("error", "KNF4011", { message, evidence: [why, ...evidence] });
  }
  if (problem === "ERR_TLS_CERT_ALTNAME_INVALID" || problem === "HOSTNAME_MISMATCH") {
    const message = `The server's certificate is not for ${expectedName}, but for ${names.join(", ")}`;
    return finding("error", "KNF4012", { message, evidence });
  }
  const message = `The CA of the ClusterProfile did not sign the server's certificate, which is issued by ${issuer}`;
  return finding("error", "KNF4010", { message, evidence: [why, ...evidence] });
}

function dateOf(ms: number): string {
  return Number.isNaN(ms) ? "(not known)" : timestampOf(new Date(ms));
}
