import type { ClientCertificate } from "../http/connector.ts";
import type { Secret } from "../secret.ts";

/** What proves to an API server who we are. */
export interface Credential {
  /** Value of the header `Authorization`. */
  readonly authorization?: Secret;
  readonly certificate?: ClientCertificate;
  /** Further headers that belong to the identity, such as `Impersonate-User`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** When it stops being valid, in ms since the epoch; absent: not known. */
  readonly expiresAtMs?: number;
}

/** Where the credential of one connection comes from. */
export interface CredentialSource {
  /** A credential that is valid now. Throws `FleetError` `AccessProviderFailed`, or the reason of the signal. */
  current(signal: AbortSignal): Promise<Credential>;
  /** The server answered 401 to this credential: it is not given out again. */
  reject(credential: Credential): void;
}
