import { decodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { commitments, type Commitment } from '@sluice/shared/wire/events/events.ts';
import { invalidParams, type RpcFault } from './rpc-fault.ts';

/**
 * Reads the positional parameters of one call. The first fault is retained, and every later read returns a harmless default. So a method
 * reads everything that it needs, and then checks `fault` once before it does anything.
 */
export class Params {
  readonly list: readonly unknown[];
  fault: RpcFault | null = null;

  constructor(list: readonly unknown[]) {
    this.list = list;
  }

  fail(message: string): void {
    this.fault ??= invalidParams(message);
  }

  private required(index: number): unknown {
    if (index >= this.list.length) this.fail(`\`params\` should have at least ${index + 1} argument(s)`);
    return this.list[index];
  }

  string(index: number): string {
    const value = this.required(index);
    if (typeof value === 'string') return value;
    this.fail('Invalid params: invalid type, expected a string');
    return '';
  }

  uint(index: number): number {
    const value = this.required(index);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    this.fail('Invalid params: invalid type, expected u64');
    return 0;
  }

  address(index: number): string {
    const value = this.string(index);
    if (this.fault === null) this.check(value, addressFault);
    return value;
  }

  signature(index: number): string {
    const value = this.string(index);
    if (this.fault === null) this.check(value, signatureFault);
    return value;
  }

  /** Fails as a node does if a key is invalid. */
  check(text: string, faultOf: (text: string) => KeyFault | null): void {
    const fault = faultOf(text);
    if (fault !== null) this.fail(`Invalid param: ${fault}`);
  }

  strings(index: number, max: number, faultOf: (text: string) => KeyFault | null): readonly string[] {
    const value = this.required(index);
    if (!Array.isArray(value) || !value.every((item): item is string => typeof item === 'string')) {
      this.fail('Invalid params: invalid type, expected a sequence of strings');
      return [];
    }
    if (value.length > max) this.fail(`Too many inputs provided; max ${max}`);
    else for (const text of value) this.check(text, faultOf);
    return this.fault === null ? value : [];
  }

  /** The optional configuration object at `index`. */
  config(index: number): Fields {
    const value = this.list[index];
    if (value === undefined || value === null) return new Fields({}, this);
    if (typeof value === 'object' && !Array.isArray(value)) return new Fields(value as Record<string, unknown>, this);
    this.fail('Invalid params: invalid type, expected a configuration object');
    return new Fields({}, this);
  }
}

/** Reads the fields of one configuration object. As on a node, fields that are never read are ignored. */
export class Fields {
  readonly source: Readonly<Record<string, unknown>>;
  readonly params: Params;

  constructor(source: Readonly<Record<string, unknown>>, params: Params) {
    this.source = source;
    this.params = params;
  }

  has(name: string): boolean {
    return this.source[name] !== undefined && this.source[name] !== null;
  }

  commitment(fallback: Commitment = 'finalized'): Commitment {
    return this.choice('commitment', commitments, fallback);
  }

  choice<T extends string>(name: string, allowed: readonly T[], fallback: T): T {
    if (!this.has(name)) return fallback;
    const value = this.source[name];
    const found = allowed.find((item) => item === value);
    if (found === undefined) {
      this.params.fail(
        `Invalid params: unknown variant \`${String(value)}\`, expected one of ${allowed.map((item) => `\`${item}\``).join(', ')}`,
      );
      return fallback;
    }
    return found;
  }

  flag(name: string): boolean {
    const value = this.source[name];
    if (value === undefined || value === null) return false;
    if (typeof value !== 'boolean') this.params.fail(`Invalid params: invalid type for ${name}, expected a boolean`);
    return value === true;
  }

  uint(name: string): number | null {
    const value = this.source[name];
    if (value === undefined || value === null) return null;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
    this.params.fail(`Invalid params: invalid type for ${name}, expected u64`);
    return null;
  }

  text(name: string): string | null {
    const value = this.source[name];
    if (value === undefined || value === null) return null;
    if (typeof value === 'string') return value;
    this.params.fail(`Invalid params: invalid type for ${name}, expected a string`);
    return null;
  }

  signature(name: string): string | null {
    const value = this.text(name);
    if (value !== null) this.params.check(value, signatureFault);
    return value;
  }

  list(name: string): readonly unknown[] {
    const value = this.source[name];
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    this.params.fail(`Invalid params: invalid type for ${name}, expected a sequence`);
    return [];
  }

  object(name: string): Fields | null {
    if (!this.has(name)) return null;
    const value = this.source[name];
    if (typeof value === 'object' && !Array.isArray(value)) return new Fields(value as Record<string, unknown>, this.params);
    this.params.fail(`Invalid params: invalid type for ${name}, expected an object`);
    return null;
  }
}

/** How a node reports an invalid key: its base58, or the number of bytes that it encodes. */
export type KeyFault = 'Invalid' | 'WrongSize';

function keyFault(text: string, bytes: number, maxText: number): KeyFault | null {
  if (text.length > maxText) return 'WrongSize';
  const decoded = decodeBase58(text);
  if (decoded === null) return 'Invalid';
  return decoded.length === bytes ? null : 'WrongSize';
}

export const addressFault = (text: string): KeyFault | null => keyFault(text, 32, 44);
export const signatureFault = (text: string): KeyFault | null => keyFault(text, 64, 88);
