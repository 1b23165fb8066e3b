import { BorshReader } from '@sluice/shared/solana/encoding/bytes.ts';
import { contextAndValue } from '@sluice/shared/solana/encoding/json-forms.ts';
import { Ballot } from '@sluice/shared/solana/rpc/quorum/ballot.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { rentSysvar } from '@sluice/shared/solana/well-known.ts';
import { readChainAccount } from '@sluice/gateway/reads/chain/rpc-account-reader.ts';
import { repeat } from '../repeat.ts';
import type { ChainView } from './chain-view.ts';

/** Bytes that the runtime adds to the data of each account. */
const accountOverheadBytes = 128;
/** `Rent` of the sysvar: lamports_per_byte_year u64, exemption_threshold f64, burn_percent u8. */
const rentLength = 17;
/** How often the rent is requested until a majority agrees, and afterwards. It changes once in years. */
const askEveryMs = 1_000;
const askAgreedEveryMs = 30_000;
/** Older answers are ignored. */
const maxAgeMs = 10 * 60_000;
const sysvarOwner = 'Sysvar1111111111111111111111111111111111111';

export interface RentRates {
  readonly lamportsPerByte: bigint;
  readonly threshold: number;
}

/** Reads the Rent sysvar. Null if the account is not the sysvar. */
export function decodeRent(owner: string, data: Uint8Array): RentRates | null {
  if (owner !== sysvarOwner || data.length < rentLength) return null;
  const lamportsPerByte = new BorshReader(data, 0).u64();
  const threshold = new DataView(data.buffer, data.byteOffset, data.length).getFloat64(8, true);
  const isSensible = threshold > 0 && threshold <= 100 && lamportsPerByte < 1_000_000_000n;
  return isSensible ? { lamportsPerByte, threshold } : null;
}

/** Lamports that exempt an account of this many bytes from rent, rounded like the runtime does. */
export function rentOf({ lamportsPerByte, threshold }: RentRates, bytes: number): bigint {
  return BigInt(Math.floor(Number(BigInt(accountOverheadBytes + bytes) * lamportsPerByte) * threshold));
}

/** The rent rates that the endpoints agree on. All endpoints are asked in the background. */
export class Rent {
  readonly #endpoints: readonly Rpc[];
  readonly #chain: Pick<ChainView, 'newestSlot'>;
  readonly #signal: AbortSignal;
  readonly #ballot: Ballot<RentRates>;
  readonly #isAsked: boolean[];
  #askedAtMs = -Infinity;

  constructor(endpoints: readonly Rpc[], chain: Pick<ChainView, 'newestSlot'>, signal: AbortSignal) {
    [this.#endpoints, this.#chain, this.#signal] = [endpoints, chain, signal];
    this.#ballot = new Ballot({ endpoints: endpoints.length, maxAgeMs, agree: isSameRent });
    this.#isAsked = endpoints.map(() => false);
  }

  /** Null if the endpoints do not agree on the rates. */
  get rates(): RentRates | null {
    const verdict = this.#ballot.verdict(performance.now());
    return verdict.kind === 'agreed' ? verdict.votes[0]!.value : null;
  }

  start(): void {
    this.#look();
    repeat(askEveryMs, () => this.#look(), this.#signal);
  }

  #look(): void {
    const nowMs = performance.now();
    const verdict = this.#ballot.verdict(nowMs);
    const isAgreed = verdict.kind === 'agreed' && verdict.isMajority;
    if (isAgreed && nowMs - this.#askedAtMs < askAgreedEveryMs) return;
    this.#askedAtMs = nowMs;
    for (const [endpoint, rpc] of this.#endpoints.entries()) if (this.#isAsked[endpoint] !== true) void this.#ask(endpoint, rpc, nowMs);
  }

  /** Never rejects. */
  async #ask(endpoint: number, rpc: Rpc, askedAtMs: number): Promise<void> {
    this.#isAsked[endpoint] = true;
    let rates: RentRates | null = null;
    try {
      const params = [[rentSysvar], { encoding: 'base64', commitment: 'confirmed' }];
      rates = readRent(await rpc.call('getMultipleAccounts', params, this.#signal), this.#chain.newestSlot);
    } catch {
      // Its last answer counts until it is too old.
    }
    this.#isAsked[endpoint] = false;
    if (rates === null) this.#ballot.failed(endpoint);
    else this.#ballot.answered(endpoint, rates, askedAtMs);
  }
}

function isSameRent(one: RentRates, other: RentRates): boolean {
  return one.lamportsPerByte === other.lamportsPerByte && one.threshold === other.threshold;
}

/** Null if the answer is not of the documented form, or cannot be true. */
function readRent(answer: unknown, newestSlot: number): RentRates | null {
  const read = contextAndValue(answer);
  if (read === null || read.slot > newestSlot || !Array.isArray(read.value)) return null;
  const account = readChainAccount((read.value as readonly unknown[])[0]);
  return account === null ? null : decodeRent(account.owner, account.data);
}
