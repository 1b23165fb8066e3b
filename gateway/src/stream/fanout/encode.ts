import type { Format } from '@sluice/shared/wire/stream/frames.ts';
import { packValue } from '@sluice/shared/codec/msgpack.ts';
import type { Notice, Reply } from '@sluice/shared/wire/stream/replies.ts';

/** A reply or notice as one message. In batch mode every message is an array. */
export function encodeMessage(message: Reply | Notice, format: Format, batch: boolean): string | Uint8Array {
  return encodeValue(batch ? [message] : message, format);
}

export function encodeBytes(message: Reply | Notice, format: Format, batch: boolean): Uint8Array {
  const encoded = encodeMessage(message, format, batch);
  return typeof encoded === 'string' ? Buffer.from(encoded) : encoded;
}

function encodeValue(value: unknown, format: Format): string | Uint8Array {
  return format === 'json' ? JSON.stringify(value) : Buffer.from(packValue(value), 'latin1');
}

/** Bytes of a value in a format. */
export function bytesOf(value: unknown, format: Format): number {
  const encoded = encodeValue(value, format);
  return typeof encoded === 'string' ? Buffer.byteLength(encoded) : encoded.length;
}

/** Divides parts, in their order, into groups of at most `maxBytes`. A group has at least one part. `baseBytes`: what each group needs anyway. */
export function groupsOf<Part>(parts: readonly Part[], baseBytes: number, bytesOfPart: (part: Part) => number, maxBytes: number): Part[][] {
  const groups: Part[][] = [];
  let left = 0;
  for (const part of parts) {
    const bytes = bytesOfPart(part);
    const last = groups.at(-1);
    if (last === undefined || bytes > left) {
      groups.push([part]);
      left = maxBytes - baseBytes - bytes;
    } else {
      last.push(part);
      left -= bytes;
    }
  }
  return groups;
}
