import { launchCoin } from '../support/chain/quoted-trades.ts';
import { startSimnet, type Simnet } from '../simnet/simnet.ts';
import { StreamClient } from '../support/clients/stream-client.ts';
import { startTradingWorld, type TradingGateway, type TradingWorld } from '../support/chain/trading-world.ts';
import { until } from '../support/gateway.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';

/** The gateway receives the node's PubSub messages this late, two to four slots. The stream reports an order's block at once. */
const lagsMs = [300, 600, 900];
let world: TradingWorld;
let late: Simnet;
let gateway: TradingGateway;
let stream: StreamClient;
beforeEach(async () => {
  world = await startTradingWorld({ ingest: true, slotMs: 400 });
  late = await startSimnet({ chain: world.chain, autoStart: false });
  gateway = await world.gateway({ config: { rpc: { httpUrls: [world.node.url], wsUrls: [late.wsUrl] } } });
  stream = await new StreamClient(`ws://${gateway.host}/api/data`, { authorization: `Bearer ${world.operatorKey}` }).open();
  await stream.ask({ op: 'subscribe', channel: 'orders' });
});
afterEach(async () => {
  stream.close();
  await late.close();
  await world.close();
});

async function landed(orderId: string): Promise<void> {
  await until(`${orderId} to land`, () => {
    const reply = stream.messages.findLast(({ data }) => data?.['orderId'] === orderId)?.data;
    if (reply?.['status'] === 'failed') throw new Error(JSON.stringify(reply));
    return ['processed', 'confirmed', 'finalized'].includes(String(reply?.['status']));
  });
}

it('everything that was just bought can be sold at once: the sale waits for the state that has it', async () => {
  const publicKey = await world.wallet();
  await gateway.ready(publicKey, launchCoin(world.chain).mint);
  const answers: unknown[] = [];
  for (const lagMs of lagsMs) {
    late.control.lag({ ms: lagMs });
    for (let round = 0; round < 3; round++) {
      const { mint } = launchCoin(world.chain);
      const bought = await gateway.ask('/trade/buy', { publicKey, mint, amount: 0.1, slippage: 20 });
      expect(bought.status, JSON.stringify(bought.body)).toBe(200);
      await landed(String(bought.body['orderId']));
      const sold = await gateway.ask('/trade/sell', { publicKey, mint, amount: '100%', slippage: 20 });
      answers.push(sold.status === 200 ? 200 : sold.body);
    }
  }
  expect(answers).toEqual(lagsMs.flatMap(() => [200, 200, 200]));
});
