import { once } from 'node:events';
import { decimalText } from '@sluice/shared/solana/encoding/amounts.ts';
import { isAddress } from '@sluice/shared/solana/encoding/base58.ts';
import { lamportsPerSol, solDecimals } from '@sluice/shared/solana/well-known.ts';
import { createLog } from '@sluice/shared/runtime/log/log.ts';
import { startSimnet, type Simnet } from '@sluice/simnet/simnet.ts';
import { action, CommandError, flag, inQuotes, loadConfig, option, readInteger, UsageError } from '../command-line/command.ts';
import type { Command } from '../command-line/command.ts';
import { airdrop, atUsualPort, defaultAirdropSol, defaultRpcUrl, maxAirdropSol, simnetPort } from '../start/local-node.ts';
import { closeOnStop, Closers } from '../start/lifecycle.ts';
import { print, printJson } from '../command-line/terminal.ts';

const run = action({
  about: 'Run a simulated Solana chain that serves JSON-RPC and PubSub.',
  options: {
    host: option('ADDRESS', 'address to listen on. Default: 127.0.0.1'),
    port: option('N', `port of JSON-RPC; 0 chooses a free port. Default: ${simnetPort}, or a free port if it is in use`),
    seed: option('N', 'the same seed gives the same market. Default: 1'),
    'trades-per-second': option('N', '0 to 10000. Default: 8'),
    'no-market': flag('make blocks, but no trades'),
  },
  examples: ['simnet --trades-per-second 50'],
  async run({ host = '127.0.0.1', ...values }) {
    const given = values.port === undefined ? null : readInteger('--port', values.port, 0, 65_535);
    const seed = readInteger('--seed', values.seed ?? '1', 0, 2 ** 32 - 1);
    const rate = values['trades-per-second'];
    const tradesPerSecond = rate === undefined ? undefined : readInteger('--trades-per-second', rate, 0, 10_000);
    if (values['no-market'] && tradesPerSecond !== undefined)
      throw new UsageError('--no-market and --trades-per-second cannot be combined');
    const market = values['no-market'] ? false : tradesPerSecond === undefined ? undefined : { tradesPerSecond };

    const log = createLog({ level: loadConfig().logLevel, name: 'simnet' });
    const closers = new Closers();
    const signal = closeOnStop(log, closers);
    const startAt = (port: number): Promise<Simnet> =>
      startSimnet({ host, port, seed, log, signal, ...(market === undefined ? {} : { market }) });
    const simnet = await (given === null ? atUsualPort(startAt) : startAt(given)).catch((error: unknown) => {
      throw new CommandError(`The simulated chain cannot listen on ${host}:${given ?? simnetPort}: ${String(error)}`, { cause: error });
    });
    closers.add('simnet', () => simnet.close());
    if (values.json) printJson({ rpcUrl: simnet.rpcUrl, wsUrl: simnet.wsUrl, seed, simulated: true });
    else print(`A SIMULATED chain is running.\n\n  SOLANA_RPC_URL=${simnet.rpcUrl}\n  SOLANA_WS_URL=${simnet.wsUrl}\n`);
    // The signal handler usually ends the process first, once everything is closed.
    await once(signal, 'abort');
    return 0;
  },
});

const giveSol = action({
  about: 'Give simulated SOL to any wallet, and wait until the wallet has it.',
  args: { '<address>': 'the wallet, with any owner', '[SOL]': `whole SOL from 1 to ${maxAirdropSol}. Default: ${defaultAirdropSol}` },
  options: {
    rpc: option(
      'URL',
      `JSON-RPC of the simulated chain, as start prints it. Default: the first URL of SOLANA_RPC_URL, or ${defaultRpcUrl}`,
    ),
  },
  json: 'print {"address", "lamports", "signature", "balanceLamports"}',
  more: 'A program gets SOL by the JSON-RPC method requestAirdrop, for example with requestAirdrop of web3.js.',
  examples: ['simnet airdrop 5ZWj7a1f8tWkjBESHKgrLmXshuXxqeY9SYcfbshpAqPG 10'],
  async run(values, [address = '', sol = String(defaultAirdropSol)]) {
    if (!isAddress(address)) throw new UsageError(`${inQuotes(address)} is not an address`);
    const lamports = BigInt(readInteger('SOL', sol, 1, maxAirdropSol)) * lamportsPerSol;
    const rpcUrl = values.rpc ?? loadConfig().rpc?.httpUrls[0] ?? defaultRpcUrl;
    if (!URL.canParse(rpcUrl) || !/^https?:$/.test(new URL(rpcUrl).protocol))
      throw new UsageError(`--rpc takes a URL like ${defaultRpcUrl}`);
    const { signature, balanceLamports } = await airdrop(rpcUrl, address, lamports);
    return {
      json: { address, lamports: String(lamports), signature, balanceLamports: String(balanceLamports) },
      text: `${address} has received ${sol} simulated SOL. It has ${decimalText(balanceLamports, solDecimals)} SOL.`,
    };
  },
});

export const command: Command = {
  about: 'Run a simulated Solana chain, or use one that runs.',
  own: run,
  actions: { airdrop: giveSol },
  more: 'The command prints the values of SOLANA_RPC_URL and SOLANA_WS_URL for this chain, and runs until Ctrl-C.',
};
