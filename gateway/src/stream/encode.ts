import { Packr } from 'msgpackr';
import type { Format } from '@sluice/shared/wire/frames.ts';
import type { Notice, Reply } from '@sluice/shared/wire/replies.ts';

// Plain maps: clients' decoders know nothing of msgpackr's record extension.
const packr = new Packr({ useRecords: false });

/** A reply or notice as one message. With batches a message is always an array. */
export function encodeMessage(message: Reply | Notice, format: Format, batch: boolean): string | Uint8Array {
  const whole = batch ? [message] : message;
  return format === 'json' ? JSON.stringify(whole) : packr.pack(whole);
}

export function encodeBytes(message: Reply | Notice, format: Format, batch: boolean): Uint8Array {
  const encoded = encodeMessage(message, format, batch);
  return typeof encoded === 'string' ? Buffer.from(encoded) : encoded;
}
