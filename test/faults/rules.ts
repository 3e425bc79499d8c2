import { failure, firstN, type Fault, type Rule, type Seen } from "./fault.ts";

/** 410 for the first watch of each collection that goes on after a version; every second one hears it in the stream. */
export function goneOnce(): Rule {
  const told = new Set<string>();
  return ({ path, isWatch }: Seen) => {
    const [collection = ""] = path.split("?");
    if (!isWatch || !/[?&]resourceVersion=\d/.test(path) || told.has(collection)) return undefined;
    told.add(collection);
    const expired = failure(410, "Expired", "too old resource version");
    if (told.size % 2 === 0) return expired;
    return jsonAnswer({ type: "ERROR", object: JSON.parse(String(expired.body)) });
  };
}

/** An answer as an API server gives it. */
export function jsonAnswer(body: object): Fault {
  const headers = { "content-type": "application/json" };
  return { kind: "answer", status: 200, headers, body: JSON.stringify(body) };
}

/** No list of a server without streaming lists ever ends. */
export function endless(): Rule {
  return ({ path, number, isWatch }) => {
    if (isWatch || !path.includes("limit=")) return undefined;
    const metadata = { resourceVersion: "1", continue: `page-${number}` };
    return jsonAnswer({ kind: "List", apiVersion: "v1", metadata, items: [] });
  };
}

/** A bookmark of long ago at the beginning of one watch of each collection. */
export function backwards(): Rule {
  const told = new Set<string>();
  return ({ path, isWatch }) => {
    const [collection = ""] = path.split("?");
    if (!isWatch || !/[?&]resourceVersion=\d/.test(path) || told.has(collection)) return undefined;
    told.add(collection);
    const object = { kind: "Any", apiVersion: "v1", metadata: { resourceVersion: "1" } };
    return jsonAnswer({ type: "BOOKMARK", object });
  };
}

/** A server without streaming lists: pages of two objects, and 410 for the first `continue`. */
export function oldServer(): Rule {
  const first = firstN(1, failure(410, "Expired", "the token is too old"), ({ path }) =>
    path.includes("continue="),
  );
  return (request) => {
    const { path } = request;
    if (path.includes("sendInitialEvents=true")) {
      return failure(422, "Invalid", "sendInitialEvents is forbidden");
    }
    const expired = first(request);
    if (expired !== undefined) return expired;
    return path.includes("limit=500")
      ? { kind: "pass", path: path.replace("limit=500", "limit=2") }
      : undefined;
  };
}
