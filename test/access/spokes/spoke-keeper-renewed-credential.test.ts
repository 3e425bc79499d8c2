import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import { resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { renewedAnnotation } from "../../../api/cluster-profile.ts";
import { FleetError } from "../../../api/errors.ts";
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
  const deps = {
    clock: systemClock,
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
  };
  const keeper = new SpokeKeeper(outcomeAt(), deps, () => undefined);
  onTestFinished(() => keeper.close(new FleetError("ClusterProviderClosed", "The test is over")));
  const refused = { kind: "failed", error: { code: "CredentialRejected" } };
  await vi.waitFor(() => expect(keeper.state).toMatchObject(refused), { timeout: 20_000 });
  // By now each further try waits for seconds.
  await vi.waitFor(() => expect(api.requests.length).toBeGreaterThan(4), { timeout: 30_000 });
  await writeFile(path, credentialOf("new"));
  valid = "new";
  keeper.update(outcomeAt("2026-11-21T12:00:00Z"));
  await vi.waitFor(() => expect(keeper.state.kind).toBe("connected"), { timeout: 3_000 });
}, 60_000);
