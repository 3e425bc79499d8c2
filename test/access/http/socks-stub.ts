import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

import { portOf } from "../../fleet/ports.ts";

/** What a SOCKS 5 proxy does with its clients. */
export interface SocksRules {
  /** `user:password`; absent: it asks for none. */
  readonly login?: string;
  /** Reply to a request for a connection; 0 makes it. */
  readonly reply?: number;
  /** Bytes of the server that come with the reply. */
  readonly early?: string;
  /** Where names lead. */
  readonly hosts?: Readonly<Record<string, string>>;
  /** What it says instead of greeting. */
  readonly banner?: string;
}

/** A SOCKS 5 proxy on a loopback port (RFC 1928, RFC 1929); remembers what was asked of it. */
export interface SocksStub extends AsyncDisposable {
  readonly port: number;
  /** `host:port` of each request. */
  readonly asked: readonly string[];
  readonly logins: readonly string[];
}

export async function startSocksStub(rules: SocksRules = {}): Promise<SocksStub> {
  const asked: string[] = [];
  const logins: string[] = [];
  const links = new Set<Socket>();
  const server = createServer((client) => {
    links.add(client);
    client.on("error", () => undefined);
    void serve(client, rules, { asked, logins, links }).catch(() => client.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: portOf(server.address()),
    asked,
    logins,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of links) socket.destroy();
      await once(server, "close");
    },
  };
}

interface Memory {
  readonly asked: string[];
  readonly logins: string[];
  readonly links: Set<Socket>;
}

async function serve(client: Socket, rules: SocksRules, memory: Memory): Promise<void> {
  const { reply = 0, early = "", hosts = {} } = rules;
  if (!(await greet(client, rules, memory))) return;
  const [, , , kind = 0] = await bytesOf(client, 4);
  const host = await hostOf(client, kind);
  const port = (await bytesOf(client, 2)).readUInt16BE();
  memory.asked.push(`${host}:${port}`);
  // Answers with a name, which has to be read to its end like any other address.
  client.write(Buffer.from([5, reply, 0, 3, 4, ...Buffer.from(`here\0\0${early}`)]));
  if (reply !== 0) {
    client.end();
    return;
  }
  const target = connect(port, hosts[host] ?? host);
  memory.links.add(target);
  target.on("error", () => client.destroy());
  client.pipe(target).pipe(client);
}

/** True when the client may go on. */
async function greet(
  client: Socket,
  { login, banner }: SocksRules,
  { logins }: Memory,
): Promise<boolean> {
  const [, count = 0] = await bytesOf(client, 2);
  const offered = await bytesOf(client, count);
  const method = login === undefined ? 0 : 2;
  if (banner !== undefined || !offered.includes(method)) {
    client.end(banner ?? Buffer.from([5, 0xff]));
    return false;
  }
  client.write(Buffer.from([5, method]));
  if (login === undefined) return true;
  await bytesOf(client, 1);
  const user = await shortText(client);
  const given = `${user}:${await shortText(client)}`;
  logins.push(given);
  client.write(Buffer.from([1, given === login ? 0 : 1]));
  if (given !== login) client.end();
  return given === login;
}

async function hostOf(client: Socket, kind: number): Promise<string> {
  if (kind === 1) return (await bytesOf(client, 4)).join(".");
  if (kind === 3) return shortText(client);
  const bytes = await bytesOf(client, 16);
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16));
  return groups.join(":");
}

async function shortText(client: Socket): Promise<string> {
  const [length = 0] = await bytesOf(client, 1);
  return length === 0 ? "" : (await bytesOf(client, length)).toString("utf8");
}

async function bytesOf(client: Socket, count: number): Promise<Buffer> {
  for (;;) {
    const chunk: unknown = client.read(count);
    if (Buffer.isBuffer(chunk) && chunk.length === count) return chunk;
    if (client.destroyed || client.readableEnded) throw new Error("The client is gone");
    // oxlint-disable-next-line no-await-in-loop -- the next bytes come when they come
    await once(client, "readable");
  }
}
