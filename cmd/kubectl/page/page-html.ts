import { createHash } from "node:crypto";

import type { PageState } from "./fleet-state.ts";
import { pageScript, pageStyle } from "./page-code.ts";

const head = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Knative fleet</title>
`;

/** The picture of the page in a list of tabs. */
export const pageIcon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#0757b5" d="M2 2h3v12H2zM6 8l5-6h4l-5 6 5 6h-4z"/></svg>
`;

/** The page of a server, which has script and style beside it. */
export const servedPage = `${head}<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body><div id="page"></div></body>
</html>
`;

interface Written {
  /** A FleetStatus document. */
  readonly status: unknown;
  readonly state: PageState;
  /** Documents of the API by their paths, which the file has instead of a server. */
  readonly documents: unknown;
}

/**
 * The page as one file. People open it from a mail: its policy allows this script and this style, and nothing else, whatever the document holds.
 */
export function writtenPage({ status, state, documents }: Written): string {
  const policy = `default-src 'none'; script-src '${hashOf(pageScript)}'; style-src '${hashOf(pageStyle)}'; base-uri 'none'; form-action 'none'`;
  // Inside a script element only `<` has a meaning, and no JSON needs it as it is.
  const data = JSON.stringify({ status, state, documents }).replaceAll("<", String.raw`\u003c`);
  return `${head}<meta http-equiv="Content-Security-Policy" content="${policy}">
<style>${pageStyle}</style>
</head>
<body><div id="page"></div>
<noscript>The script of this page draws the fleet: open the file in a browser.</noscript>
<script type="application/json" id="fleet">${data}</script>
<script>${pageScript}</script>
</body>
</html>
`;
}

function hashOf(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}
