/** One DER element: tag, length, content. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

/** SEQUENCE. */
export function sequence(...content: readonly Uint8Array[]): Buffer {
  return der(0x30, ...content);
}

/** SET of one element. */
export function setOf(content: Uint8Array): Buffer {
  return der(0x31, content);
}

/** Explicitly tagged, constructed: `[number] EXPLICIT`. */
export function explicit(number: number, content: Uint8Array): Buffer {
  return der(0xa0 + number, content);
}

/** INTEGER that is not negative, from big-endian bytes. */
export function integer(bytes: Uint8Array): Buffer {
  const first = bytes[0] ?? 0;
  return der(0x02, first >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

/** BOOLEAN true. */
export function yes(): Buffer {
  return der(0x01, Buffer.from([0xff]));
}

/** OCTET STRING. */
export function octets(content: Uint8Array): Buffer {
  return der(0x04, content);
}

/** BIT STRING; `unused` bits at its end do not count. */
export function bits(content: Uint8Array, unused = 0): Buffer {
  return der(0x03, Buffer.from([unused]), content);
}

/** UTF8String. */
export function text(value: string): Buffer {
  return der(0x0c, Buffer.from(value, "utf8"));
}

/** UTCTime, whole seconds; years 1950 to 2049 (RFC 5280 4.1.2.5.1). */
export function utcTime(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]/g, "").slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`, "ascii"));
}

/** OBJECT IDENTIFIER from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second, ...rest.flatMap(base128)];
  return der(0x06, Buffer.from(bytes));
}

function base128(value: number): number[] {
  const groups = [value % 128];
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128)) {
    groups.unshift(128 + (left % 128));
  }
  return groups;
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return Buffer.from([0x80 + bytes.length, ...bytes]);
}
