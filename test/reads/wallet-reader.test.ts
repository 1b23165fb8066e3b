import { describe, expect, it } from 'vitest';
import { readWallet } from '@sluice/gateway/reads/wallets/wallet-reader.ts';
import { encodeBase58 } from '@sluice/shared/solana/encoding/base58.ts';
import { addressBytes } from '@sluice/shared/solana/addresses/pda.ts';
import { token2022Program, tokenProgram } from '@sluice/shared/solana/well-known.ts';
import type { Rpc } from '@sluice/shared/solana/rpc/rpc.ts';
import { addressOf } from '../support/events/stream-events.ts';

const wallet = addressOf(1);
const mint = addressOf(2);

interface Item {
  pubkey: unknown;
  account: { owner: unknown; lamports: unknown; data: unknown; executable: unknown };
}

function tokenAccount(
  n: number,
  amount: bigint,
  { state = 1, owner = wallet, of = mint, program = tokenProgram, length = 165 } = {},
): Item {
  const data = Buffer.alloc(length);
  data.set(addressBytes(of), 0);
  data.set(addressBytes(owner), 32);
  data.writeBigUInt64LE(amount, 64);
  data[108] = state;
  if (length > 165) data[165] = 2;
  return {
    pubkey: addressOf(1_000 + n),
    account: { owner: program, lamports: 2_039_280, data: [data.toString('base64'), 'base64'], executable: false },
  };
}

/** Nodes that are asked one after the other until an answer is accepted. */
function nodes(...answers: { balance?: unknown; token?: unknown; token2022?: unknown }[]): Rpc {
  return {
    call: async (method, params, _signal, accept) => {
      const programId = (params[1] as { programId?: string }).programId;
      const results = answers.map(({ balance = { context: { slot: 7 }, value: 5 }, token = list([]), token2022 = list([]) }) =>
        method === 'getBalance' ? balance : programId === tokenProgram ? token : token2022,
      );
      for (const answer of results) if (await accept!(answer)) return answer;
      return results[0];
    },
  };
}

const list = (value: unknown, slot = 9) => ({ context: { slot }, value });
const read = (rpc: Rpc, oldest = 0) => readWallet(rpc, wallet, { oldest, newest: 1_000 }, new AbortController().signal);

describe('a wallet', () => {
  it('is summed by mint over both programs, and frozen and empty accounts are reported', async () => {
    const other = addressOf(3);
    const token = list([tokenAccount(1, 5n), tokenAccount(2, 7n, { state: 2 }), tokenAccount(3, 0n)], 4);
    const token2022 = list([tokenAccount(4, 2n ** 64n - 1n, { of: other, program: token2022Program, length: 170 })]);
    expect(await read(nodes({ token, token2022 }))).toEqual({
      slot: 4,
      lamports: 5n,
      emptyAccounts: 1,
      held: [
        { mint, tokenProgram, amount: 12n, frozenAmount: 7n, accounts: 2 },
        { mint: other, tokenProgram: token2022Program, amount: 2n ** 64n - 1n, frozenAmount: 0n, accounts: 1 },
      ],
    });
  });

  it('is not accepted from a node that returns other accounts, and then read from the next', async () => {
    const good = tokenAccount(1, 5n);
    const account = (change: Partial<Item['account']>): Item => ({ ...good, account: { ...good.account, ...change } });
    const lies: Record<string, unknown> = {
      'no object': null,
      'no list': list({}),
      'no context': { value: [] },
      'an impossible slot': list([], 1_001),
      'another owner': list([tokenAccount(1, 5n, { owner: addressOf(9) })]),
      'another program': list([tokenAccount(1, 5n, { program: token2022Program })]),
      'an unknown program': list([account({ owner: encodeBase58(Buffer.alloc(32, 1)) })]),
      'an account twice': list([good, good]),
      'an invalid address': list([{ ...good, pubkey: 'me' }]),
      'not initialized': list([tokenAccount(1, 5n, { state: 0 })]),
      'cut short': list([tokenAccount(1, 5n, { length: 164 })]),
      'a mint': list([tokenAccount(1, 5n, { length: 82 + 40 })]),
      'another encoding': list([account({ data: ['5', 'base58'] })]),
      'parsed data': list([account({ data: { parsed: {} } })]),
    };
    for (const [what, token] of Object.entries(lies)) {
      expect(await read(nodes({ token })), what).toBeNull();
      expect((await read(nodes({ token }, { token: list([good]) })))?.held, what).toHaveLength(1);
    }
    for (const balance of [null, list(-1), list('5'), list(1.5), { value: 5 }]) expect(await read(nodes({ balance }))).toBeNull();
  });
});
