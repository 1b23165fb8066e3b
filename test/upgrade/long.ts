import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createChain, type SimChain } from '../simnet/sim-chain.ts';
import { startSimnet } from '../simnet/simnet.ts';
import { launchCoin, maker, trader } from '../support/chain/quoted-trades.ts';
import { installMissing } from '../support/product/install.ts';
import { startPostgres } from '../support/servers/postgres.ts';
import { startRedis } from '../support/servers/redis.ts';
import { installRelease, missingRelease, released } from './released.ts';
import { command, startGateway, type Finished, type Place, type Running, type Version } from './versions.ts';

/**
 * `pnpm test:upgrade`: two gateways on one store are upgraded from the last release to this version, one by one, and taken back, while
 * orders are placed and repeated at both. With each kind of store.
 */
const print = (text: string): void => void process.stdout.write(`${text}\n`);
const lamportsPerSol = 1_000_000_000n;
const slotMs = 150;
const answerWithinMs = 60_000;
const endWithinMs = 120_000;

interface Placed {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly form: 'json' | 'form';
  readonly idempotencyKey: string;
  /** What every gateway answers to this request. */
  readonly id: string;
}

/** One store, one chain, and two gateways. */
class Upgrade {
  readonly #place: Place;
  readonly #chain: SimChain;
  readonly #mint: string;
  readonly faults: string[] = [];
  #gateways: Running[] = [];
  #placed: Placed[] = [];
  #apiKey = '';
  #wallet = '';

  constructor(place: Place, chain: SimChain, mint: string) {
    [this.#place, this.#chain, this.#mint] = [place, chain, mint];
  }

  async #sluice(version: Version, ...args: readonly string[]): Promise<Finished> {
    const finished = await command(version, this.#place, ...args);
    if (finished.code !== 0) this.faults.push(`${version.name}: sluice ${args.join(' ')} ended with ${finished.code}: ${finished.stderr}`);
    return finished;
  }

  async prepare(version: Version): Promise<void> {
    const key = await this.#sluice(version, 'keys', 'create', '--plan', 'enterprise', '--json');
    const wallet = await this.#sluice(version, 'wallets', 'create', '--json');
    this.#apiKey = (JSON.parse(key.stdout) as { readonly key: string }).key;
    this.#wallet = (JSON.parse(wallet.stdout) as { readonly publicKey: string }).publicKey;
    this.#chain.airdrop(this.#wallet, 50n * lamportsPerSol);
  }

  /** Runs gateways of these versions. Those that run already go on. */
  async run(versions: readonly Version[]): Promise<void> {
    for (const [index, version] of versions.entries()) {
      const running = this.#gateways[index];
      if (running?.version === version) continue;
      await running?.stop();
      this.#gateways[index] = await startGateway(version, this.#place);
    }
    await this.#orders(versions.map(({ name }) => name).join(' and '));
  }

  /** Places an order of each form at each gateway, and repeats all requests so far at all of them. */
  async #orders(phase: string): Promise<void> {
    const mint = this.#mint;
    for (const gateway of this.#gateways) {
      const number = this.#placed.length;
      const lightning = { publicKey: this.#wallet, mint, amount: 0.01 + number / 10_000 };
      const portal = {
        publicKey: this.#wallet,
        mint,
        action: 'buy',
        amount: 0.02 + number / 10_000,
        denominatedInSol: 'true',
        slippage: 10,
      };
      await this.#placeOne(gateway, phase, { path: '/trade/buy', body: lightning, form: 'json' });
      await this.#placeOne(gateway, phase, { path: '/api/trade', body: portal, form: 'json' });
      await this.#placeOne(gateway, phase, { path: '/api/trade', body: { ...portal, amount: portal.amount + 0.005 }, form: 'form' });
    }
    for (const gateway of this.#gateways) {
      for (const one of this.#placed) {
        const again = await this.#ask(gateway, one);
        if (again.id !== one.id)
          this.faults.push(`${phase}: ${one.idempotencyKey} at ${gateway.version.name} has ${again.text} in place of ${one.id}`);
      }
    }
    print(`  ${phase}: ${this.#placed.length} orders, ${this.faults.length} faults`);
  }

  async #placeOne(gateway: Running, phase: string, request: Omit<Placed, 'id' | 'idempotencyKey'>): Promise<void> {
    const idempotencyKey = `${this.#placed.length}-${request.form}`;
    const { id, text } = await this.#ask(gateway, { ...request, idempotencyKey });
    if (id === null) this.faults.push(`${phase}: ${request.path} (${request.form}) at ${gateway.version.name}: ${text}`);
    else this.#placed.push({ ...request, idempotencyKey, id });
  }

  /** Repeats a request that may be repeated. The id is that of the order, or the signature where the answer has only that. */
  async #ask(
    { url }: Running,
    { path, body, form, idempotencyKey }: Omit<Placed, 'id'>,
  ): Promise<{ readonly id: string | null; readonly text: string }> {
    const headers = {
      authorization: `Bearer ${this.#apiKey}`,
      'idempotency-key': idempotencyKey,
      'content-type': form === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
    };
    const text = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, String(value)]));
    const content = form === 'json' ? JSON.stringify(body) : new URLSearchParams(text).toString();
    const untilMs = performance.now() + answerWithinMs;
    for (;;) {
      const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: content });
      const answer = await response.text();
      const retryable = response.status === 503 || response.status === 409;
      if (retryable && performance.now() < untilMs) {
        await delay(200);
        continue;
      }
      const { orderId, signature } = JSON.parse(answer) as { readonly orderId?: string; readonly signature?: string };
      return { id: response.status === 200 ? (signature ?? orderId ?? null) : null, text: `${response.status} ${answer}` };
    }
  }

  /** Halts with one version, at all gateways, and resumes. */
  async halt(version: Version): Promise<void> {
    await this.#sluice(version, 'trading', 'halt', '--reason', 'a drill');
    for (const gateway of this.#gateways) {
      const body = { publicKey: this.#wallet, mint: this.#mint, amount: 0.05 };
      const headers = { authorization: `Bearer ${this.#apiKey}`, 'content-type': 'application/json' };
      const response = await fetch(`${gateway.url}/trade/buy`, { method: 'POST', headers, body: JSON.stringify(body) });
      const answer = await response.text();
      if (!answer.includes('TRADING_HALTED')) this.faults.push(`halted by ${version.name}, ${gateway.version.name} answers ${answer}`);
    }
    await this.#sluice(version, 'trading', 'resume');
  }

  /** Waits for the ends of the orders, and compares them with the chain. */
  async end(): Promise<void> {
    const untilMs = performance.now() + endWithinMs;
    const landed = new Set<string>();
    const headers = { authorization: `Bearer ${this.#apiKey}` };
    let listed: readonly { readonly signature: string; readonly status: string }[] = [];
    do {
      const response = await fetch(`${this.#gateways[0]!.url}/trade/orders?limit=100`, { headers });
      listed = ((await response.json()) as { readonly orders: typeof listed }).orders;
      await delay(200);
    } while (listed.some(({ status }) => status !== 'finalized') && performance.now() < untilMs);
    for (const { signature, status } of listed) {
      if (status !== 'finalized') this.faults.push(`${signature} ended as ${status}`);
      if (this.#chain.transaction(signature)?.err === null) landed.add(signature);
    }
    if (listed.length !== this.#placed.length) this.faults.push(`${listed.length} orders are stored for ${this.#placed.length} requests`);
    if (landed.size !== listed.length) this.faults.push(`${landed.size} of ${listed.length} orders are on the chain`);
    for (const gateway of this.#gateways) await gateway.stop();
  }
}

async function upgrade(kind: 'SQLite' | 'PostgreSQL', before: Version, now: Version): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-upgrade-'));
  const redis = await startRedis();
  const postgres = kind === 'PostgreSQL' ? await startPostgres() : null;
  const funded = [maker, trader].map(({ publicKey: address }) => ({ address, lamports: 4_000_000n * lamportsPerSol, usdc: 10n ** 13n }));
  const chain = createChain({ seed: 'upgrade', market: false, funded, slotMs });
  const coin = launchCoin(chain);
  const node = await startSimnet({ chain, autoStart: false });
  try {
    const passphraseFile = join(folder, 'passphrase');
    writeFileSync(passphraseFile, 'a passphrase of the upgrade\n', { mode: 0o600 });
    const env = {
      REDIS_URL: redis.url,
      SOLANA_RPC_URL: node.rpcUrl,
      SOLANA_WS_URL: node.wsUrl,
      DATA_DIR: join(folder, 'data'),
      KEYSTORE_PASSPHRASE_FILE: passphraseFile,
      TRADING: 'live',
      PORT: '0',
      ...(postgres !== null && { DATABASE_URL: await postgres.newDatabase() }),
    };
    chain.start();
    const run = new Upgrade({ folder, env }, chain, coin.mint);
    await run.prepare(before);
    await run.run([before, before]);
    await run.run([before, now]);
    await run.halt(before);
    await run.run([now, now]);
    await run.halt(before);
    await run.halt(now);
    await run.run([now, before]);
    await run.run([before, before]);
    await run.halt(now);
    await run.end();
    return run.faults;
  } finally {
    await node.close();
    chain.stop();
    await postgres?.stop();
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<boolean> {
  const missing = missingRelease();
  if (missing !== null) {
    print(`Skipped: ${missing}.`);
    return true;
  }
  for (const fault of await installMissing(print)) print(fault);
  print(`Installing ${released.version}.`);
  const before = { name: released.version, root: installRelease() };
  const now = { name: 'this version', root: join(dirname(fileURLToPath(import.meta.url)), '../..') };
  let isGood = true;
  try {
    for (const kind of ['SQLite', 'PostgreSQL'] as const) {
      print(`${kind}:`);
      const faults = await upgrade(kind, before, now);
      for (const fault of faults) print(`  ${fault}`);
      isGood &&= faults.length === 0;
    }
  } finally {
    rmSync(before.root, { recursive: true, force: true });
  }
  print(isGood ? 'passed' : 'failed');
  return isGood;
}

process.exitCode = (await main()) ? 0 : 1;
