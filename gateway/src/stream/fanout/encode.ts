import type { Format } from '@sluice/shared/wire/stream/frames.ts';
import { packValue } from '@sluice/shared/codec/msgpack.ts';
import type { Notice, Reply } from '@sluice/shared/wire/stream/replies.ts';

/** A reply or notice as one message. In batch mode every message is an array. */
export function encodeMessage(message: Reply | Notice, format: Format, batch: boolean): string | Uint8Array {
  const whole = batch ? [message] : message;
  return format === 'json' ? JSON.stringify(whole) : Buffer.from(packValue(whole), 'latin1');
}

export function encodeBytes(message: Reply | Notice, format: Format, batch: boolean): Uint8Array {
  const encoded = encodeMessage(message, format, batch);
  return typeof encoded === 'string' ? Buffer.from(encoded) : encoded;
}
