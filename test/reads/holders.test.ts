import { holdersBinding } from '../../gateway/src/reads/holders/endpoint.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { RpcError, type Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { decodeTokenAccount } from '@sluice/shared/solana/tokens/token-account.ts';
import { token2022Program } from '@sluice/shared/solana/well-known.ts';
import { bondingCurveAddress } from '@sluice/venues/pump/curve/program.ts';
import type { AnswerOf } from '@sluice/shared/wire/rest/endpoint.ts';
import { tokenHoldersEndpoint } from '@sluice/shared/wire/rest/tokens/token.ts';
import type { TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { address, marketChain } from '../simnet/support/test-chain.ts';
import { BookHarness } from './harness.ts';

type Answer = AnswerOf<typeof tokenHoldersEndpoint>;
type List = (mint: string) => unknown;

const chain = marketChain('holders');
for (let slot = 0; slot < 60; slot++) chain.advance();

/** The accounts of a mint with a balance, the largest first. */
function accountsOf(of: string): readonly { readonly at: string; readonly owner: string; readonly amount: bigint }[] {
  return [...chain.tokenAccountsOfMint(of)]
    .map(([at, { owner, data }]) => ({ at, ...decodeTokenAccount(owner, data)! }))
    .filter(({ amount }) => amount > 0n)
    .toSorted((a, b) => (a.amount < b.amount ? 1 : -1));
}

const mints = [...chain.accountsOwnedBy(token2022Program)].flatMap(
  ([, { data }]) => decodeTokenAccount(token2022Program, data)?.mint ?? [],
);
const mint = [...new Set(mints)].toSorted((a, b) => accountsOf(b).length - accountsOf(a).length)[0]!;
const truth = accountsOf(mint).slice(0, 20);

const answerOf = (addresses: readonly string[], slot = chain.slot): unknown => ({
  context: { slot },
  value: addresses.map((one) => ({ address: one, amount: '999999999999999999', decimals: 6 })),
});
const honest: List = () => answerOf(truth.map(({ at }) => at));
const refuses: List = () => {
  throw new RpcError('answer', -32_601, 'Method not found');
};

/** An endpoint of the gateway over nodes that answer with these lists. */
function open(...lists: readonly List[]): { ask(of?: string): Promise<Answer>; readonly calls: number } {
  const harness = new BookHarness(chain);
  let calls = 0;
  const endpoints = lists.map((list): Rpc => ({
    call: async (method, [of]) => {
      expect(method).toBe('getTokenLargestAccounts');
      calls++;
      return list(of as string);
    },
  }));
  const { reader, book, health, clock } = harness;
  const log = createLog({ level: 'silent', name: 'test' });
  const { handler } = holdersBinding({ endpoints, reader, book, health, clock, log, signal: new AbortController().signal });
  return {
    ask: async (of = mint) => {
      const outcome = await handler({ params: { mint: of } } as never);
      if (!('jsonBytes' in outcome)) throw new Error(JSON.stringify(outcome));
      const answer = JSON.parse(outcome.jsonBytes.toString()) as Answer;
      expect([...Value.Errors(tokenHoldersEndpoint.answer as TSchema, answer)]).toEqual([]);
      return answer;
    },
    get calls() {
      return calls;
    },
  };
}

const shown = ({ holders }: Answer) => holders?.map(({ owner, amount }) => [owner, amount]);
const expected = truth.map(({ owner, amount }) => [owner, `${amount}`]);

describe('the largest holders of a token', () => {
  it('are those of the chain, with their shares, and the curve is named as such', async () => {
    expect(truth.length).toBeGreaterThan(5);
    const answer = await open(honest).ask();
    expect(shown(answer)).toEqual(expected);
    const curve = bondingCurveAddress(mint);
    for (const { owner, kind, venue, sharePercent, amount } of answer.holders!) {
      expect([kind, venue]).toEqual(owner === curve ? ['curve', 'pump'] : ['wallet', null]);
      expect(sharePercent).toBeCloseTo((Number(amount) / Number(answer.supply)) * 100, 3);
    }
    expect(answer.holders!.some(({ kind }) => kind === 'curve')).toBe(true);
  });

  it('are read once for many callers', async () => {
    const opened = open(honest);
    await Promise.all(Array.from({ length: 100 }, async () => opened.ask()));
    await opened.ask();
    expect(opened.calls).toBe(1);
  });

  it('are unknown if no node lists them, which is remembered too', async () => {
    const opened = open(refuses, refuses, refuses);
    for (let turn = 0; turn < 3; turn++) expect(await opened.ask()).toMatchObject({ holders: null, slot: null });
    expect(opened.calls).toBe(3);
  });

  const others = accountsOf([...new Set(mints)].find((one) => one !== mint)!);
  it.each<[string, List]>([
    ['lists nothing', () => answerOf([])],
    ['lists accounts of another mint, wallets and nobody', () => answerOf([others[0]!.at, truth[1]!.owner, address('nobody'), mint])],
    ['lists one account several times', () => answerOf(Array.from({ length: 20 }, () => truth[3]!.at))],
    ['lists too many', () => answerOf(Array.from({ length: 21 }, (_, index) => address(`${index}`)))],
    ['reports a slot of the future', () => answerOf([truth[3]!.at], chain.slot + 1e9)],
    ['answers in another form', () => ({ context: { slot: chain.slot }, value: [{ address: 'x' }, null] })],
    ['refuses the method', refuses],
  ])('one of three nodes %s: this changes nothing', async (_what, liar) => {
    for (const lists of [
      [liar, honest, honest],
      [honest, liar, honest],
    ]) {
      expect(shown(await open(...lists).ask())).toEqual(expected);
    }
  });
});
