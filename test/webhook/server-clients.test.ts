import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { systemClock } from "../../access/time/system-clock.ts";
import type { Ruling } from "../../webhook/reviews/review.ts";
import { followClientAuthorities, loadClientAuthorities } from "../../webhook/server.ts";
import { createAuthority, createSelfSigned, type KeyPair } from "../fleet/certificates.ts";
import { exchange } from "../fleet/https-exchange.ts";
import { silentLog } from "../support/silent-log.ts";
import { reviewOf, serve, type Serving } from "./serving.ts";

const nothing: Ruling = { violations: [], warnings: [] };
const allow = () => Promise.resolve(nothing);
const authority = createAuthority("api servers");
const usage = "client";
const apiServer = authority.issue({ commonName: "kube-apiserver", usage });

/** The status that somebody gets for a review, or `refused` when there is no connection for him. */
async function asked(serving: Serving, pair?: KeyPair): Promise<number | "refused"> {
  const shown = pair === undefined ? {} : { cert: pair.certificatePem, key: pair.keyPem };
  const agent = new Agent({ ca: serving.authority.certificatePem, ...shown });
  try {
    const url = `https://127.0.0.1:${serving.server.port}/validate`;
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(reviewOf());
    return (await exchange({ url, method: "POST", agent, headers, body })).status;
  } catch {
    return "refused";
  } finally {
    agent.destroy();
  }
}

describe("T-72 a webhook for API servers only", () => {
  test("answers who shows a certificate of the authority, and nobody else, whatever the review says", async () => {
    let reviews = 0;
    const count = async () => {
      reviews += 1;
      return nothing;
    };
    const clients = { authoritiesPem: authority.certificatePem, names: [] };
    await using serving = await serve(count, { clients });
    expect(await asked(serving, apiServer)).toBe(200);
    const strangers = [
      undefined,
      createSelfSigned({ commonName: "kube-apiserver", usage }),
      createAuthority("api servers").issue({ commonName: "kube-apiserver", usage }),
      authority.issue({ commonName: "kube-apiserver", usage, expired: true }),
      // May serve, but not come as a client.
      authority.issue({ commonName: "kube-apiserver", usage: "server", hosts: ["127.0.0.1"] }),
    ];
    for (const pair of strangers) expect(await asked(serving, pair)).toBe("refused");
    expect(reviews).toBe(1);
  });

  test("answers only the names that it was told, also after its own certificate changed", async () => {
    const clients = { authoritiesPem: authority.certificatePem, names: ["kube-apiserver"] };
    await using serving = await serve(allow, { clients });
    const kubelet = authority.issue({ commonName: "system:node:a", usage });
    expect(await asked(serving, apiServer)).toBe(200);
    expect(await asked(serving, kubelet)).toBe(403);
    const next = serving.authority.issue({
      commonName: "webhook",
      usage: "server",
      hosts: ["127.0.0.1"],
    });
    serving.server.useCertificate({ cert: next.certificatePem, key: next.keyPem });
    expect(await asked(serving, apiServer)).toBe(200);
    expect(await asked(serving)).toBe("refused");
  });

  test("gives the same answer to a review that is sent again: nothing is remembered by its uid", async () => {
    await using serving = await serve(({ uid }) =>
      Promise.resolve({ violations: [], warnings: [`about ${uid}`] }),
    );
    const body = JSON.stringify(reviewOf());
    const first = await serving.post("/validate", body);
    expect((await serving.post("/validate", body)).json).toEqual(first.json);
    const other = await serving.post("/validate", JSON.stringify(reviewOf({ uid: "another" })));
    expect(other.json).toMatchObject({ response: { uid: "another", allowed: true } });
  });
});

describe("the file of client authorities", () => {
  let folder: string;
  let path: string;
  const stop = AbortSignal.timeout(600_000);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "knfleet-clients-"));
    path = join(folder, "ca.crt");
  });

  afterEach(() => rm(folder, { recursive: true }));

  test.each([
    ["nothing", ""],
    ["something else", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"],
    ["the certificate of a server", apiServer.certificatePem],
    ["a key", apiServer.keyPem],
  ])("is refused with %s", async (_name, text) => {
    await writeFile(path, text);
    const loading = loadClientAuthorities(path, stop);
    await expect(loading).rejects.toMatchObject({ reason: "ConfigInvalid" });
  });

  test("is followed: another authority is trusted without a restart, a broken file changes nothing", async () => {
    await writeFile(path, authority.certificatePem);
    const known = await loadClientAuthorities(path, stop);
    await using serving = await serve(allow, { clients: { authoritiesPem: known, names: [] } });
    const end = new AbortController();
    const following = followClientAuthorities(
      { clock: systemClock, path, known, log: silentLog },
      serving.server,
      end.signal,
    );
    const next = createAuthority("next");
    const newcomer = next.issue({ commonName: "kube-apiserver", usage });
    expect(await asked(serving, newcomer)).toBe("refused");
    await appendFile(path, next.certificatePem);
    const within = { timeout: 60_000 };
    await vi.waitFor(async () => expect(await asked(serving, newcomer)).toBe(200), within);
    expect(await asked(serving, apiServer)).toBe(200);
    await writeFile(path, "nothing");
    expect(await asked(serving, newcomer)).toBe(200);
    await writeFile(path, next.certificatePem);
    await vi.waitFor(async () => expect(await asked(serving, apiServer)).toBe("refused"), within);
    expect(await asked(serving, newcomer)).toBe(200);
    end.abort();
    await following;
  });
});
