import { once } from "node:events";
import {
  createServer as createPlainServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { createServer } from "node:https";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

import type { CertificateAuthority, KeyPair } from "../fleet/certificates.ts";
import { portOf } from "../fleet/ports.ts";
import { fieldsOf, listOf, textOf } from "./access-cases.ts";

/** A request that a server got. */
export interface SeenRequest {
  readonly path: string;
  readonly authorization: string;
  readonly clientCertificate: string;
  readonly sni: string;
  readonly connection: number;
}

/** The API server of a case. */
export interface RecordedServer extends AsyncDisposable {
  readonly port: number;
  readonly requests: readonly SeenRequest[];
}

export interface ServerMake {
  /** `server` of the case. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly identity: KeyPair;
  readonly clientAuthority: CertificateAuthority;
  /** Where it sends its clients, if it does. */
  readonly redirectTo?: string;
}

const slowMs = 1_500;
// That of Go's server.
const maxHeaderSize = 1024 * 1024;

/** Starts the server of a case on a loopback port. */
export async function startRecordedServer(make: ServerMake): Promise<RecordedServer> {
  const requests: SeenRequest[] = [];
  const sockets: Socket[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    requests.push(seenOf(request, sockets.indexOf(request.socket) + 1));
    answer(make, { request, response, number: requests.length });
  };
  const { settings, identity, clientAuthority } = make;
  const server =
    settings["http"] === true
      ? createPlainServer({ maxHeaderSize }, listener)
      : createServer(
          {
            maxHeaderSize,
            key: identity.keyPem,
            cert: identity.certificatePem,
            ALPNProtocols: ["http/1.1"],
            ...(settings["requestClientCertificate"] === true
              ? { requestCert: true, rejectUnauthorized: false, ca: clientAuthority.certificatePem }
              : {}),
          },
          listener,
        );
  const onSocket = (socket: Socket): void => {
    sockets.push(socket);
    socket.on("error", () => undefined);
  };
  server.on(settings["http"] === true ? "connection" : "secureConnection", onSocket);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server.address()),
    requests,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function seenOf(request: IncomingMessage, connection: number): SeenRequest {
  const { socket } = request;
  const tls = socket instanceof TLSSocket ? socket : undefined;
  const subject: unknown = tls?.getPeerCertificate().subject;
  return {
    path: request.url ?? "",
    // What Go shows is UTF-8.
    authorization: Buffer.from(request.headers.authorization ?? "", "latin1").toString("utf8"),
    clientCertificate: textOf(fieldsOf(subject)["CN"]),
    sni: typeof tls?.servername === "string" ? tls.servername : "",
    connection,
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly number: number;
}

function answer({ settings, redirectTo }: ServerMake, exchange: Exchange): void {
  const { request, response, number } = exchange;
  const token = (request.headers.authorization ?? "").replace("Bearer ", "");
  const statuses = listOf(settings["statuses"]);
  const status = Number(
    fieldsOf(settings["statusByToken"])[token] ??
      statuses[Math.min(number, statuses.length) - 1] ??
      200,
  );
  const reply = (): void => {
    if (redirectTo !== undefined) response.writeHead(302, { location: redirectTo }).end();
    else response.writeHead(status, { "content-type": "application/json" }).write("{}");
    if (request.url?.endsWith("/slow") === true) setTimeout(() => response.end(), slowMs);
    else response.end();
  };
  setTimeout(reply, Number(settings["delayMs"] ?? 0));
}
