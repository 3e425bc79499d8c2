import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import { renewedAnnotation } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { startApiStub, type StubAnswer } from "../api-stub.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, serverIdentity, untilTheEnd } from "../loopback.ts";

function credentialOf(token: string): string {
  const apiVersion = "client.authentication.k8s.io/v1";
  return JSON.stringify({ kind: "ExecCredential", apiVersion, status: { token } });
}

test("a credential that register renewed is used at once, however long the old one was refused", async () => {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-renewed-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "credential.json");
  await writeFile(path, credentialOf("old"));
  let valid = "none";
  const answer = ({ authorization }: { readonly authorization: string | undefined }): StubAnswer =>
    authorization === `Bearer ${valid}` ? {} : { status: 401 };
  const api = untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: api.server, "certificate-authority-data": ca };
  const provider = fileOf(rawProvider("sr", {}, { command: "/bin/cat", args: [path] }));
  const bare = profileOf({ accessProviders: [entryOf("sr", cluster)] });
  const outcomeAt = (renewed?: string) => {
    const annotations: Readonly<Record<string, string>> =
      renewed === undefined ? {} : { [renewedAnnotation]: renewed };
    const profile = { ...bare, metadata: { ...bare.metadata, annotations } };
    const access = resolveAccess(profile, provider, Date.now());
    return { kind: "access", access } as const;
  };
  // The pauses between tries grow to many seconds.
  const clock = untilTheEnd(new QuickClock(20));
  const deps = {
    clock,
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
  };
  const keeper = new SpokeKeeper(outcomeAt(), deps, () => undefined);
  onTestFinished(() => keeper.close(new FleetError("ClusterProviderClosed", "The test is over")));
  const refused = { kind: "failed", error: { code: "CredentialRejected" } };
  await vi.waitFor(() => expect(keeper.state).toMatchObject(refused), { timeout: 20_000 });
  await vi.waitFor(() => expect(api.requests.length).toBeGreaterThan(4), { timeout: 30_000 });
  await writeFile(path, credentialOf("new"));
  valid = "new";
  // From now on no time passes, so that no other try can be due.
  await clock[Symbol.asyncDispose]();
  keeper.update(outcomeAt("2026-11-21T12:00:00Z"));
  await vi.waitFor(() => expect(keeper.state.kind).toBe("connected"), { timeout: 10_000 });
}, 60_000);
