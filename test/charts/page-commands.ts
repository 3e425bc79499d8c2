import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** What a page asks its reader to type: a fenced block of a shell, or a command within a sentence or a table. */
export interface PageCommand {
  readonly page: string;
  /** Of the section that it is in. */
  readonly heading: string;
  readonly text: string;
}

/** The pages by which somebody installs, upgrades, removes and mends knfleet. */
export const pages = [
  "README.md",
  "charts/knfleet/README.md",
  "docs/install.md",
  "docs/airgap.md",
  "docs/providers.md",
  "docs/migrate.md",
  "docs/upgrade.md",
  "docs/security.md",
  "docs/troubleshooting.md",
  "docs/examples/README.md",
] as const;

export type Page = (typeof pages)[number];

/** A command that the test of the pages does not run, and why. */
export interface NotRun {
  readonly page: Page;
  /** How it begins. */
  readonly begins: string;
  readonly why: string;
  /** The test that runs it instead. */
  readonly by?: string;
}

const noKubelet = "the pods of the test fleet have no kubelet that could give their log";

export const notRun: readonly NotRun[] = [
  {
    page: "README.md",
    begins: "npm run demo ",
    why: "`npm test` is what runs the tests",
    by: "test/demo/demo.fleet.test.ts",
  },
  {
    page: "README.md",
    begins: "npm run build",
    why: "builds the programs, and needs all files of Knative's releases",
    by: "test/charts/airgap.test.ts",
  },
  {
    page: "README.md",
    begins: "kubectl knfleet ui",
    why: "serves its page until it is stopped",
    by: "test/cmd/kubectl/cli.fleet.test.ts",
  },
  {
    page: "charts/knfleet/README.md",
    begins: "helm install knfleet",
    why: "as in docs/install.md, but without values",
    by: "test/charts/documentation.test.ts",
  },
  {
    page: "docs/airgap.md",
    begins: "npm run releases",
    why: "needs all files of Knative's releases",
    by: "test/charts/airgap.test.ts",
  },
  {
    page: "docs/airgap.md",
    begins: 'export KNFLEET_RELEASE_DIR="$PWD/releases"',
    why: "the same",
    by: "test/charts/airgap.test.ts",
  },
  {
    page: "docs/providers.md",
    begins: "clusteradm init",
    why: "needs Open Cluster Management, whose agents run in containers",
  },
  {
    page: "docs/providers.md",
    begins: "kubectl apply -f managed-service-account.yaml",
    why: "the same",
  },
  {
    page: "docs/migrate.md",
    begins: "kubectl knfleet migrate",
    why: "needs what upstream's operator made",
    by: "test/cmd/kubectl/commands/migrate/migrate.fleet.test.ts",
  },
  {
    page: "docs/migrate.md",
    begins: "hub=$(",
    why: "needs what upstream's operator made",
    by: "test/controller/apply/adoption/take-over-way-back.fleet.test.ts",
  },
  {
    page: "docs/migrate.md",
    begins: "namespace=knative-eventing",
    why: "the same",
    by: "test/controller/apply/adoption/take-over-way-back.fleet.test.ts",
  },
  {
    page: "docs/upgrade.md",
    begins: "kubectl knfleet diff -A",
    why: "it ends with 1 where there are differences",
    by: "test/cmd/kubectl/commands/diff/diff.test.ts",
  },
  {
    page: "docs/upgrade.md",
    begins: "kubectl knfleet rollout plan",
    why: "the hub of the page has no fleet sets",
    by: "test/cmd/kubectl/commands/rollout/rollout.fleet.test.ts",
  },
  {
    page: "docs/upgrade.md",
    begins: "kubectl knfleet rollout status",
    why: "the hub of the page has no fleet sets",
    by: "test/charts/examples.fleet.test.ts",
  },
  {
    page: "docs/security.md",
    begins: "cosign verify",
    why: "needs a published image, and programs of others",
  },
  {
    page: "docs/troubleshooting.md",
    begins: "kubectl get manifestworks",
    why: "needs Open Cluster Management",
    by: "test/e2e/pull-hand-over.fleet.test.ts",
  },
  {
    page: "docs/troubleshooting.md",
    begins: "kubectl knfleet diagnose kss/NAME",
    why: "the hub of the page has no fleet sets",
    by: "test/cmd/kubectl/findings/walk-set.test.ts",
  },
  {
    page: "docs/troubleshooting.md",
    begins: "kubectl rollout status",
    why: "it is named for comparison",
  },
  {
    page: "docs/troubleshooting.md",
    begins: "kubectl scale deployment",
    why: "it is what somebody else has done",
    by: "test/e2e/readiness.fleet.test.ts",
  },
  {
    page: "docs/troubleshooting.md",
    begins: "kubectl logs --namespace knfleet-system --selector",
    why: noKubelet,
  },
  {
    page: "docs/troubleshooting.md",
    begins: "kubectl logs -n knfleet-system deployment",
    why: noKubelet,
  },
  {
    page: "docs/examples/README.md",
    begins: "kubectl apply",
    why: "a fleet of its own",
    by: "test/charts/examples.fleet.test.ts",
  },
  {
    page: "docs/examples/README.md",
    begins: "for name in",
    why: "the same",
    by: "test/charts/examples.fleet.test.ts",
  },
  {
    page: "docs/examples/README.md",
    begins: "kubectl knfleet rollout",
    why: "the same",
    by: "test/charts/examples.fleet.test.ts",
  },
];

/** What `pages.fleet.test.ts` types: pages, or sections of them. */
export const followed: readonly { readonly page: Page; readonly heading?: string }[] = [
  { page: "docs/install.md" },
  { page: "docs/airgap.md" },
  { page: "README.md", heading: "Install" },
  { page: "docs/troubleshooting.md" },
  { page: "README.md", heading: "Documentation" },
  { page: "docs/upgrade.md" },
  { page: "docs/migrate.md", heading: "There" },
  { page: "README.md", heading: "From a checkout" },
];

/** Words between backticks that name a program or a flag, and are no command. */
const names: ReadonlySet<string> = new Set([
  "helm template",
  "helm uninstall",
  "helm upgrade --values",
  "kubectl --context spoke-1",
  "kubectl knfleet",
]);

/** The commands of a page, in order. */
export function commandsOf(page: Page): readonly PageCommand[] {
  const found: PageCommand[] = [];
  let heading = "";
  let block:
    | { readonly indent: string; readonly isShell: boolean; readonly lines: string[] }
    | undefined;
  for (const line of readFileSync(join(root, page), "utf8").split("\n")) {
    const fence = /^( *)```(\w*)$/.exec(line);
    if (fence !== null) {
      if (block?.isShell === true) found.push({ page, heading, text: block.lines.join("\n") });
      const [, indent = "", language = ""] = fence;
      block = block === undefined ? { indent, isShell: language === "sh", lines: [] } : undefined;
    } else if (block !== undefined) {
      block.lines.push(line.slice(block.indent.length));
    } else {
      heading = /^#+ (.*)/.exec(line)?.[1] ?? heading;
      const words = Array.from(
        line.matchAll(/`((?:kubectl|helm) [^`]+)`/g),
        ([, text = ""]) => text,
      );
      found.push(
        ...words.filter((text) => !names.has(text)).map((text) => ({ page, heading, text })),
      );
    }
  }
  return found;
}

/** The commands of a page that are run, in order; of a section, when one is named. */
export function runnable(page: Page, heading?: string): readonly PageCommand[] {
  const all = commandsOf(page).filter((command) => exceptionFor(command) === undefined);
  return heading === undefined ? all : all.filter((command) => command.heading === heading);
}

/** The entry for a command that is not run here; undefined when it is. */
export function exceptionFor({ page, text }: PageCommand): NotRun | undefined {
  return notRun.find((one) => one.page === page && text.startsWith(one.begins));
}
