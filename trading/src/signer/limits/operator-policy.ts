import { signMessage, verifySignature, type Keypair } from '@sluice/shared/solana/addresses/keypair.ts';
import { isRecord } from '@sluice/shared/solana/encoding/json-forms.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';

/**
 * The operator's policy for all wallets of a keystore. It is signed with a key that no part of the product holds. It can only narrow the
 * limits that the signing process is started with. Limits are in lamports; null: no limit in the policy.
 */
export interface Policy {
  /** Each policy of a keystore needs a higher version; an older policy is refused. */
  readonly version: number;
  readonly keystore: string;
  readonly maxOrderLamports: bigint | null;
  /** Maximum amount that one wallet may spend in one hour (UTC). */
  readonly maxHourLamports: bigint | null;
  readonly maxDayLamports: bigint | null;
  /** Maximum amount that one wallet may spend for one coin on one day (UTC). */
  readonly maxTokenLamports: bigint | null;
  /** Mints that may be traded. Null: any. */
  readonly tokens: readonly string[] | null;
  /** Programs that may be traded on. Null: all known ones. */
  readonly venues: readonly string[] | null;
}

/** The signature covers the exact bytes of `text`. */
export interface SignedPolicy {
  readonly text: string;
  /** Base64. */
  readonly signature: string;
}

/** Maximum number of coins, or venues, in one list. */
export const maxListed = 1_000;
const limits = ['maxOrderLamports', 'maxHourLamports', 'maxDayLamports', 'maxTokenLamports'] as const;
const lists = ['tokens', 'venues'] as const;
const fields: ReadonlySet<string> = new Set(['version', 'keystore', ...limits, ...lists]);
const lamportsForm = /^[1-9]\d{0,18}$/;

export function signPolicy(policy: Policy, key: Keypair): SignedPolicy {
  const text = JSON.stringify(policy, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
  return { text, signature: Buffer.from(signMessage(key, signedBytes(text))).toString('base64') };
}

/** Reads a policy. It must be signed by this key, be for this keystore, and contain no unknown rule. Otherwise returns what is wrong. */
export function openPolicy(content: string, publicKey: string, keystore: string): Policy | { readonly fault: string } {
  const signed = parse(content);
  const text = signed?.['text'];
  const signature = signed?.['signature'];
  if (typeof text !== 'string' || typeof signature !== 'string') return { fault: 'it is no signed policy' };
  if (!verifySignature(publicKey, signedBytes(text), Buffer.from(signature, 'base64'))) return { fault: `${publicKey} has not signed it` };
  const body = parse(text);
  if (body === null) return { fault: 'it is no policy' };
  const unknown = Object.keys(body).find((name) => !fields.has(name));
  if (unknown !== undefined) return { fault: `it has a rule that this version does not know, ${JSON.stringify(unknown.slice(0, 40))}` };
  if (body['keystore'] !== keystore) return { fault: `it is not for the keystore ${keystore}` };
  const version = body['version'];
  if (!Number.isSafeInteger(version) || Number(version) < 1) return { fault: 'it has no version' };
  const wrong = limits.find((name) => !isLimit(body[name])) ?? lists.find((name) => !isList(body[name]));
  if (wrong !== undefined) return { fault: `${wrong} is not what it has to be` };
  const limit = (name: (typeof limits)[number]): bigint | null => (typeof body[name] === 'string' ? BigInt(body[name]) : null);
  return {
    version: Number(version),
    keystore,
    maxOrderLamports: limit('maxOrderLamports'),
    maxHourLamports: limit('maxHourLamports'),
    maxDayLamports: limit('maxDayLamports'),
    maxTokenLamports: limit('maxTokenLamports'),
    tokens: body['tokens'] as Policy['tokens'],
    venues: body['venues'] as Policy['venues'],
  };
}

function isLimit(value: unknown): boolean {
  return value === null || (typeof value === 'string' && lamportsForm.test(value));
}

function isList(value: unknown): boolean {
  return (
    value === null || (Array.isArray(value) && value.length <= maxListed && value.every((one) => typeof one === 'string' && isAddress(one)))
  );
}

/** Adds a prefix, so that the signature cannot be used for any other purpose. */
function signedBytes(text: string): Uint8Array {
  return Buffer.from(`sluice-policy|1|${text}`);
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}
