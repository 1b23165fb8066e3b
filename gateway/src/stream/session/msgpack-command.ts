import { Unpackr } from 'msgpackr/unpack';

const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });

/**
 * Reads one MessagePack value from a client; undefined if the bytes are not one. The work is bounded by the bytes that are present, so a header that
 * claims a billion elements costs nothing.
 */
export function decodeMsgpackCommand(bytes: Uint8Array): unknown {
  try {
    return unpackr.unpack(bytes) as unknown;
  } catch {
    // Every error of the library is about the bytes: they end too early or too late, or are nested too deeply.
    return undefined;
  }
}

/** The value of `id` if it is the first field of the map, read from the beginning of a message; otherwise undefined. */
export function firstMsgpackId(bytes: Uint8Array): unknown {
  const head = bytes[0] ?? 0;
  const headBytes = head === 0xde ? 3 : head === 0xdf ? 5 : 1;
  if (headBytes === 1 && (head < 0x81 || head > 0x8f)) return undefined;
  const found: unknown[] = [];
  try {
    unpackr.unpackMultiple(bytes.subarray(headBytes), (value: unknown) => found.push(value) < 2 && found[0] === 'id');
  } catch {
    // The message was cut.
  }
  return found[0] === 'id' ? found[1] : undefined;
}
