import { createHmac, randomBytes } from "node:crypto";

import { isRecord } from "../../../../api/fields.ts";
import type { ObjectRow } from "../get/object-table.ts";
import type { KnownSecrets } from "./known-secrets.ts";

/** Makes of Secrets what may be told: names of keys, sizes, and hashes that are equal for equal values of one run. */
export class SecretPrints {
  // It leaves this process in no way, so nobody can try values against the hashes.
  readonly #salt = randomBytes(32);
  readonly #known: KnownSecrets;

  constructor(known: KnownSecrets) {
    this.#known = known;
  }

  /** The row of a Secret without its values; they are known from now on. Other rows stay as they are. */
  print(row: ObjectRow): ObjectRow {
    const { metadata, type, data } = row.object;
    const entries = Object.entries(isRecord(data) ? data : {}).map(([key, value]) => {
      const bytes = Buffer.from(typeof value === "string" ? value : "", "base64");
      this.#known.value(key, bytes);
      const hash = createHmac("sha256", this.#salt).update(bytes).digest("hex").slice(0, 16);
      return [key, `${bytes.length} bytes, salted hash ${hash}`] as const;
    });
    const { annotations: _annotations, ...kept } = isRecord(metadata) ? metadata : {};
    return { ...row, object: { metadata: kept, type, data: Object.fromEntries(entries) } };
  }
}
