import { Unpackr } from 'msgpackr';

/** A client's decoder: integers of 64 bits as numbers, which this library has to be told. */
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });

export function unpack(bytes: Uint8Array): unknown {
  return unpackr.unpack(bytes);
}
