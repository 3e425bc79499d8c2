import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { runProgram } from "./run-program.ts";

const usage = `Usage: node cmd/build/brew-formula.ts TAG DIR

Prints the formula for Homebrew, for the archives with the executables of a release that lie in DIR.
`;

const platforms = [
  { os: "macos", cpu: "arm", platform: "darwin-arm64" },
  { os: "macos", cpu: "intel", platform: "darwin-amd64" },
  { os: "linux", cpu: "arm", platform: "linux-arm64" },
  { os: "linux", cpu: "intel", platform: "linux-amd64" },
] as const;

const downloads = "https://github.com/knfleet/knfleet/releases/download";

async function formula(tag: string, folder: string): Promise<string> {
  const places = platforms.map(async ({ os, cpu, platform }) => {
    const name = `kubectl-knfleet-${tag}-${platform}.tar.gz`;
    const bytes = await readFile(join(folder, name));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return `  on_${os} do
    on_${cpu} do
      url "${downloads}/${tag}/${name}"
      sha256 "${sha256}"
    end
  end
`;
  });
  return `class KubectlKnfleet < Formula
  desc "See and repair Knative on a fleet of clusters"
  homepage "https://github.com/knfleet/knfleet"
  version "${tag.replace(/^v/, "")}"
  license "Apache-2.0"

${(await Promise.all(places)).join("\n")}
  def install
    bin.install "kubectl-knfleet"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/kubectl-knfleet version --client")
  end
end
`;
}

await runProgram(usage, async () => {
  const [tag, folder, ...more] = process.argv.slice(2);
  if (tag === undefined || folder === undefined || more.length > 0) {
    throw new Error("Want a tag and a folder");
  }
  process.stdout.write(await formula(tag, folder));
});
