import { Unpackr } from 'msgpackr';

/** A client's decoder. The library must be configured to return integers of 64 bits as numbers. */
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });

export function unpack(bytes: Uint8Array): unknown {
  return unpackr.unpack(bytes);
}
