import { setTimeout as pause } from 'node:timers/promises';
import { TriggerClient, type TriggerView } from '../../support/clients/trigger-client.ts';
import { until } from '../../support/gateway.ts';
import { randomFrom } from '../crash-run.ts';
import { laneCount, type CrashWorld } from '../crash-world.ts';
import type { GatewayProcess, Victim } from '../gateway-process.ts';
import { settled } from '../truth.ts';
import { moments, type MomentName } from './moments.ts';
import { openScene, type Scene } from './scene.ts';
import { judgeScenes, type TriggerJudgement } from './triggers-truth.ts';

/**
 * `holder`: one process of the gateway that trades, or both; another gateway takes over. `frozen`: it stops for longer than its lease, and
 * continues as if it still traded. `all`: nothing runs for a while, and the price rises then.
 */
export type Death = Victim | 'frozen' | 'all';

export interface TriggerKill {
  readonly moment: MomentName;
  readonly death: Death;
}

export interface TriggerCrashReport extends TriggerJudgement {
  readonly kills: number;
  readonly moments: Readonly<Partial<Record<MomentName, number>>>;
  readonly deaths: Readonly<Partial<Record<Death, number>>>;
}

/** Scenes that are not over yet. */
const maxOpen = 4;
const endWithinMs = 300_000;
const askEveryMs = 300;
/** Longer than a lease. */
const frozenMs = 3_000;
const roleWithinMs = 180_000;
const ended: ReadonlySet<string> = new Set(['fired', 'cancelled', 'expired', 'failed']);

/** Kills in sequence, each around the firings of a scene of its own, and compares what came of all scenes with the chain. */
export async function runTriggerCrashes(
  world: CrashWorld,
  kills: readonly TriggerKill[],
  seed: number,
  print: (text: string) => void,
): Promise<TriggerCrashReport> {
  const client = new TriggerClient({ apiKey: world.apiKey, urls: () => world.urls(0) });
  const random = randomFrom(seed);
  const scenes: Scene[] = [];
  const open = new Set<Promise<void>>();
  const faults: string[] = [];
  const [byMoment, byDeath]: [Partial<Record<MomentName, number>>, Partial<Record<Death, number>>] = [{}, {}];
  for (const [at, kill] of kills.entries()) {
    await Promise.all(Array.from({ length: laneCount }, (_, lane) => world.gateway(lane)));
    while (open.size >= maxOpen) await Promise.race(open);
    const scene = await openScene(world, client, () => Date.now());
    scenes.push(scene);
    const beganMs = performance.now();
    await carryOut(world, kill, scene, random);
    [byMoment[kill.moment], byDeath[kill.death]] = [(byMoment[kill.moment] ?? 0) + 1, (byDeath[kill.death] ?? 0) + 1];
    print(`kill ${at + 1} of ${kills.length}: ${kill.death} at ${kill.moment}, after ${Math.round(performance.now() - beganMs)} ms`);
    const finished: Promise<void> = finish(scene, client)
      .catch((error: unknown) => void faults.push(`kill ${at + 1} (${kill.death} at ${kill.moment}): ${String(error)}`))
      .then(() => void open.delete(finished));
    open.add(finished);
  }
  await Promise.all(open);
  await settled(world);
  const judgement = await judgeScenes(world, scenes);
  return { ...judgement, faults: [...faults, ...judgement.faults], kills: kills.length, moments: byMoment, deaths: byDeath };
}

/** The gateway that holds the trading role, by its own metrics. */
async function holderOf(world: CrashWorld): Promise<GatewayProcess> {
  return await until(
    'one gateway to hold the trading role',
    async () => {
      const gateways = await Promise.all(Array.from({ length: laneCount }, (_, lane) => world.gateway(lane)));
      const texts = await Promise.all(gateways.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
      const holders = gateways.filter((_, lane) => /^sluice_gateway_trading_role 1$/m.test(texts[lane]!));
      return holders.length === 1 && holders[0];
    },
    roleWithinMs,
  );
}

async function carryOut(world: CrashWorld, { moment, death }: TriggerKill, scene: Scene, random: () => number): Promise<void> {
  const holder = await holderOf(world);
  const release = await moments[moment]({ world, scene, random });
  if (death === 'frozen') {
    holder.freeze();
    await pause(frozenMs);
    holder.thaw();
  } else if (death === 'all') {
    for (let lane = 0; lane < laneCount; lane++) await (await world.gateway(lane)).kill('both');
    if (scene.armed.every(({ triggerId }) => triggerId !== null) && scene.rises === 0) scene.rise();
  } else await holder.kill(death);
  await release();
  // Its start takes long. What needs a gateway waits for it.
  for (let lane = 0; lane < laneCount; lane++) void world.gateway(lane).catch(() => undefined);
}

/** Continues the scene after the kill, and waits for its end. Rejects with what has not ended. */
async function finish(scene: Scene, client: TriggerClient): Promise<void> {
  await scene.arm();
  if (scene.rises === 0) scene.rise();
  const first = scene.armed.filter(({ ending }) => ending === 'fired').map(({ triggerId }) => triggerId);
  await untilEnded('the first rise', scene, ({ triggerId }) => first.includes(triggerId));
  if (scene.rises === 1) scene.rise();
  await untilEnded('the second rise', scene, ({ parentId }) => parentId !== null);
  await untilEnded('the expiry', scene, ({ triggerId }) =>
    scene.armed.some((one) => one.triggerId === triggerId && one.ending === 'expired'),
  );
  await client.cancel(`?mint=${scene.coin.mint}`);
}

async function untilEnded(what: string, scene: Scene, counts: (view: TriggerView) => boolean): Promise<void> {
  const endMs = performance.now() + endWithinMs;
  for (; ; await pause(askEveryMs)) {
    const open = (await scene.views()).filter((view) => counts(view) && !ended.has(view.status));
    if (open.length === 0) return;
    if (performance.now() > endMs) throw new Error(`${what}: forgotten ${JSON.stringify(open)}`);
  }
}
