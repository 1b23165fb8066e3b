import { verifySignature } from '@sluice/shared/solana/keypair.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newSignerPlace, type SignerPlace } from './harness.ts';
import { buyMessage, stranger } from './messages.ts';

let place: SignerPlace;
beforeEach(async () => {
  place = await newSignerPlace();
});
afterEach(() => place.end());

describe('the signing process', () => {
  it('signs a trade of its wallet', async () => {
    const wallet = await place.wallet();
    const signer = place.signer();
    expect(await signer.started).toEqual({ ok: true });
    const message = buyMessage(wallet, stranger(), 1_000_000_000n);
    const outcome = await signer.sign({ orderId: 'one', publicKey: wallet, message });
    if (!outcome.ok) throw new Error(JSON.stringify(outcome));
    expect(verifySignature(wallet, message, outcome.signature)).toBe(true);
  });
});
