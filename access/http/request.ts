import type { AnswerKind, ClusterAnswers } from "../answer-limits.ts";
import type { ClientCertificate } from "../plugins/credential.ts";
import type { Clock } from "../time/clock.ts";
import type { AddressGuard } from "./address-guard.ts";
import type { ConnectTimes } from "./connector.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Silence } from "./liveness.ts";
import type { RequestCounters } from "./request-counters.ts";
import type { StreamedBody } from "./streamed-answer.ts";
import type { MayWrite } from "./write-permit.ts";

/** One HTTP request to an API server. `path` is below the server's path prefix and begins with `/`. */
export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Kubernetes verb, for the counters. */
  readonly verb: string;
  /** How long the server may take until its answer begins. */
  readonly timeoutMs: number;
  /** Called for each part of a streamed answer. */
  readonly onHeard?: () => void;
  /** Requests with the same object share a separate connection, which ends with the last of them. */
  readonly ownConnection?: object;
  /** Kind of the answer, which limits its size. Absent: an object. */
  readonly answer?: AnswerKind;
  /** A question whether the server answers: sent at once, even when the window is full. One at a time. */
  readonly isQuestion?: boolean;
}

export interface TransportAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

/** An answer whose body is streamed. */
export interface TransportStream {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly body: StreamedBody;
  /** Counts the bytes of an incomplete part against the budget of answers. Absent: no budget. */
  readonly hold?: ClusterAnswers["open"];
  /** Has to be awaited before more is read: takes the time for as many events as were read. Absent: at once. */
  readonly rest?: (events: number) => Promise<void>;
  /** Has to be called for each watch event except bookmarks: it shows that the server works. */
  readonly onEvent?: () => void;
}

/** A request that is repeated when that is safe. */
export interface AuthorizedRequest extends TransportRequest {
  /** Sending it twice has the effect of sending it once. */
  readonly idempotent: boolean;
}

/** Sends requests to one API server with a credential. */
export interface Requester {
  /** Base URL, for messages. */
  readonly server: string;
  send(request: AuthorizedRequest, signal: AbortSignal): Promise<TransportAnswer>;
  stream(
    request: TransportRequest,
    silenceMs: number,
    signal: AbortSignal,
  ): Promise<TransportStream & Disposable>;
}

/** One request as it was sent, and its end. It has no headers, and so no credentials. */
export interface RequestRecord {
  readonly method: string;
  /** Address of the server and the path with its query. */
  readonly url: string;
  readonly requestBody: string | undefined;
  /** Undefined when there was no answer. */
  readonly status: number | undefined;
  /** Body of the answer. Undefined without an answer, and for watches and logs, whose answers are streams. */
  readonly answerBody: string | undefined;
  /** Why there was no answer. */
  readonly error: unknown;
  readonly elapsedMs: number;
}

/** Called after the end of each request. */
export type RequestObserver = (record: RequestRecord) => void;

/** Requests to one API server with one TLS identity. `Transport` says what they throw. */
export interface ServerTransport extends AsyncDisposable {
  send(request: TransportRequest, signal: AbortSignal): Promise<TransportAnswer>;
  stream(
    request: TransportRequest,
    silenceMs: number,
    signal: AbortSignal,
  ): Promise<TransportStream & Disposable>;
  /** Takes no new requests, and ends when the running ones are done, at the latest after `timeoutMs`. */
  drain(timeoutMs: number): Promise<void>;
}

/** How the requests of this process reach API servers. Absent: over the network. */
export type OpenTransport = (options: TransportOptions) => ServerTransport;

export interface TransportOptions {
  readonly clock: Clock;
  readonly endpoint: Endpoint;
  readonly userAgent: string;
  readonly counters: RequestCounters;
  readonly certificate?: ClientCertificate;
  readonly silence?: Silence;
  /** Absent: connections may go anywhere. */
  readonly guard?: AddressGuard;
  /** Absent: everything may be sent at any time. */
  readonly mayWrite?: MayWrite;
  /** Failures do not say what is behind the address; see `concealed`. */
  readonly conceals?: boolean;
  /** Budget for the unfinished answers of the cluster. Absent: no limit. */
  readonly answers?: ClusterAnswers;
  /** Called when an established connection broke, or fell silent. */
  readonly onBroken?: (error: Error) => void;
  /** Called for each attempt to connect, successful or not. */
  readonly onConnect?: (times: ConnectTimes) => void;
}
