import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";

import { Agent } from "undici";

import { isForbiddenAddress } from "../http/address-guard.ts";

type Resolve = (
  host: string,
  options: { readonly all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardedAgentOptions {
  /** Of one answer. */
  readonly maxBytes: number;
  /** How long a connection is kept that nothing uses; absent: 4 s. */
  readonly idleMs?: number;
  /** CA certificates in PEM; absent: those of the system and of NODE_EXTRA_CA_CERTS. */
  readonly caPem?: string;
  /** Resolves host names; absent: the system's resolver. */
  readonly resolve?: Resolve;
}

/** Code of the error for a host whose name leads to a forbidden address. */
export const forbiddenCode = "KNFLEET_FORBIDDEN_ADDRESS";

/** Connections to servers that somebody else names: over verified TLS, and not to an address of this machine or its link, unless the URL itself has such an address. Spec: security.md T-11. */
export function guardedAgent({ maxBytes, idleMs, caPem, resolve }: GuardedAgentOptions): Agent {
  return new Agent({
    maxResponseSize: maxBytes,
    connections: 8,
    ...(idleMs !== undefined && { keepAliveTimeout: idleMs }),
    connect: {
      timeout: 5_000,
      // Set, so that NODE_TLS_REJECT_UNAUTHORIZED has no effect.
      rejectUnauthorized: true,
      minVersion: "TLSv1.2",
      lookup: guarded(resolve ?? systemLookup),
      ...(caPem === undefined ? {} : { ca: caPem }),
    },
  });
}

/** A DNS lookup that refuses forbidden addresses. The connection uses the checked addresses, so a second DNS answer cannot replace them. */
function guarded(resolve: Resolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, "", 0);
      const [first] = addresses;
      if (first === undefined) return callback(notFound(host), "", 0);
      const isForbidden = addresses.some(({ address }) => isForbiddenAddress(address));
      if (isForbidden && !isThisMachine(host)) return callback(forbidden(host), "", 0);
      return options.all === true
        ? callback(null, addresses)
        : callback(null, first.address, first.family);
    });
  };
}

/** True for `localhost` and IP addresses: an operator who allows one as a source means it. */
function isThisMachine(host: string): boolean {
  return host === "localhost" || isIP(host) !== 0;
}

function notFound(host: string): Error {
  return Object.assign(new Error(`${host} has no address`), { code: "ENOTFOUND" });
}

function forbidden(host: string): Error {
  return Object.assign(new Error(`${host} has a forbidden address`), { code: forbiddenCode });
}
